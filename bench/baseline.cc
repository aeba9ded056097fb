// bench/baseline.cc: the list of libraries to compare with.
#include "bench/baseline.h"

#include <algorithm>

#include "bench/baseline_onednn.h"
#include "bench/baseline_self.h"

namespace rafter::bench {

const char* BaselineLayoutName(BaselineLayout layout) noexcept {
  switch (layout) {
    case BaselineLayout::kSame:
      return "same";
    case BaselineLayout::kAny:
      return "any";
    case BaselineLayout::kNchw16c:
      return "NCHW16c";
  }
  return "unknown";
}

std::vector<std::string> AvailableBaselines() {
  std::vector<std::string> names;
  if (OneDnnBuiltIn()) names.push_back("onednn");
  names.push_back("self");
  return names;
}

std::string AllowedBaselines() {
  std::string allowed;
  for (const std::string& name : AvailableBaselines()) allowed += name + ", ";
  return allowed + "self:FACTOR with a factor from 1 to 100; two algorithms of rafter are two runs for rafter compare";
}

bool IsBaseline(std::string_view name) {
  const std::vector<std::string> available = AvailableBaselines();
  return SelfSlowdown(name) || std::find(available.begin(), available.end(), name) != available.end();
}

Result<std::unique_ptr<Baseline>> MakeBaseline(std::string_view name, Isa isa) {
  if (name == "onednn") return MakeOneDnnBaseline(isa);
  if (const std::optional<double> slowdown = SelfSlowdown(name)) return MakeSelfBaseline(*slowdown);
  return Status::InvalidArgument("baseline: '" + std::string(name) + "' is unknown; allowed: " + AllowedBaselines());
}

}  // namespace rafter::bench
