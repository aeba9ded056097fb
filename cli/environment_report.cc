// cli/environment_report.cc: see environment_report.h.
#include "cli/environment_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "bench/baseline.h"
#include "jit/executable_memory.h"
#include "jit/isa.h"
#include "rafter/version.h"
#include "roofline/machine_json.h"
#include "runtime/topology.h"

namespace rafter::cli {

std::vector<BaselineInfo> ReadBaselines() {
  std::vector<BaselineInfo> all;
  for (const std::string& name : bench::AvailableBaselines()) {
    const auto baseline = bench::MakeBaseline(name, DetectedIsa());
    if (baseline.ok()) {
      all.push_back({(*baseline)->name(), (*baseline)->version(), (*baseline)->too_old(), ""});
    } else {
      all.push_back({name, "", false, std::string(baseline.status().message())});
    }
  }
  return all;
}

std::string MaxIsaWarning() {
  const std::string_view text = jit::UnknownMaxIsaText();
  if (text.empty()) return {};
  return fmt::format(
      "RAFTER_MAX_ISA: '{}' is not understood and caps nothing; allowed: none, avx2, avx512", text);
}

nlohmann::ordered_json EnvironmentReport(const roofline::Environment& environment,
                                         const roofline::Roofs& roofs,
                                         const std::vector<BaselineInfo>& baselines) {
  nlohmann::ordered_json json = roofline::EnvironmentToJson(environment);
  nlohmann::ordered_json& own = json["rafter"];
  own["version"] = Version();
  own["isa_detected"] = IsaName(DetectedIsa());
  own["isa_used"] = IsaName(EffectiveIsa());
  own["isa_warning"] = MaxIsaWarning();
  own["executable_memory"] = jit::ExecutableMemoryAllowed();
  own["default_threads"] = DefaultThreadCount();
  own["compiler"] = __VERSION__;
#ifdef NDEBUG
  own["build"] = "release";
#else
  own["build"] = "debug";
#endif
  json["baselines"] = nlohmann::ordered_json::array();
  for (const BaselineInfo& baseline : baselines) {
    json["baselines"].push_back({{"name", baseline.name},
                                 {"version", baseline.version},
                                 {"too_old", baseline.too_old},
                                 {"error", baseline.error}});
  }
  json["roofs"] = roofline::RoofsToJson(roofs);
  return json;
}

void AddPeakSeries(const std::vector<PeakSeries>& series, nlohmann::ordered_json& environment) {
  nlohmann::ordered_json& list = environment["roofs"]["peaks_beside_cases"];
  list = nlohmann::ordered_json::array();
  for (const PeakSeries& one : series) {
    const auto [low, high] = std::minmax_element(one.gflops.begin(), one.gflops.end());
    list.push_back({{"isa", IsaName(one.isa)},
                    {"threads", one.threads},
                    {"min_gflops", *low},
                    {"max_gflops", *high},
                    {"gflops", one.gflops}});
  }
}

void AddBandwidths(const std::vector<roofline::BandwidthCurve>& bandwidths,
                   nlohmann::ordered_json& environment) {
  nlohmann::ordered_json& list = environment["roofs"]["bandwidths_beside_cases"];
  list = nlohmann::ordered_json::array();
  for (const roofline::BandwidthCurve& one : bandwidths) {
    list.push_back({{"isa", IsaName(one.isa)},
                    {"threads", one.threads},
                    {"mix", roofline::MixName(one.mix)},
                    {"non_temporal", one.non_temporal},
                    {"footprint_bytes", one.points.front().footprint_bytes},
                    {"gb_per_s", one.points.front().gb_per_s}});
  }
}

}  // namespace rafter::cli
