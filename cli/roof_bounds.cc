// cli/roof_bounds.cc: see roof_bounds.h.
#include "cli/roof_bounds.h"

#include <algorithm>

#include "rafter/threads.h"
#include "roofline/model.h"
#include "roofline/peaks.h"

namespace rafter::cli {
namespace {

constexpr double kProbeUs = 700;
// A probe far below the day's peak met a disturbance, not another clock: it is repeated this often.
constexpr double kSuspicious = 0.85;
constexpr int kRepetitions = 4;

}  // namespace

void RoofBounds::RefreshPeak(Isa isa, int threads) {
  isa = RoofIsa(isa);
  const roofline::FmaPeak* stored = roofline::FindPeak(machine_.roofs, isa, threads);
  if (stored == nullptr) return;
  auto found = probes_.find(isa);
  if (found == probes_.end()) {
    Result<roofline::FmaProbe> made = roofline::FmaProbe::Create(isa);
    found = probes_.emplace(isa, std::nullopt).first;
    if (made.ok()) found->second = *std::move(made);
  }
  if (!found->second) return;
  double peak = 0;
  for (int i = 0; i < kRepetitions && peak < kSuspicious * stored->gflops; ++i) {
    peak = std::max(peak, found->second->Measure(*OpenMpThreads(), threads, kProbeUs));
  }
  if (peak > 0) peaks_[{isa, threads}].push_back(peak);
}

bench::BoundResult RoofBounds::Bound(const ConvCost& cost, Isa isa, int threads) {
  isa = RoofIsa(isa);
  const auto fresh = peaks_.find({isa, threads});
  const double peak = fresh == peaks_.end() ? 0 : fresh->second.back();
  const Result<roofline::Bound> bound =
      roofline::BoundOf(machine_, isa, threads, roofline::WorkOf(cost), peak);
  if (!bound.ok()) return {};
  return {bound->bound_us, roofline::BindingName(bound->binding)};
}

std::vector<PeakSeries> RoofBounds::series() const {
  std::vector<PeakSeries> all;
  for (const auto& [key, gflops] : peaks_) all.push_back({key.first, key.second, gflops});
  return all;
}

}  // namespace rafter::cli
