// bench/calibration.cc: see calibration.h.
#include "bench/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "bench/baseline_self.h"

namespace rafter::bench {
namespace {

constexpr double kMostFloor = 0.10;

}  // namespace

double Calibration::noise_floor() const noexcept { return std::min(worst_deviation, kMostFloor); }

Calibration Calibrate(std::span<const SuiteCase> cases, const CaseOptions& options, int most, double budget_us) {
  std::vector<const SuiteCase*> usable;
  for (const SuiteCase& one : cases) {
    if (one.status.ok()) usable.push_back(&one);
  }
  Calibration calibration;
  const size_t count = std::min(usable.size(), static_cast<size_t>(std::max(most, 0)));
  const auto self = MakeSelfBaseline();
  CaseOptions own = options;
  own.creations = 1;
  own.least_noise_floor = 0;
  own.budget_us = budget_us / static_cast<double>(std::max<size_t>(count, 1));
  std::vector<double> deviations;
  for (size_t i = 0; i < count; ++i) {
    const SuiteCase& one = *usable[i * usable.size() / count];
    const CaseResult result = CaseRunner(own, nullptr, self.get()).Run(one);
    if (!result.error.empty() || !result.vs_same || !(result.vs_same->speedup > 0)) continue;
    ++calibration.cases;
    calibration.same += result.vs_same->verdict == "SAME";
    calibration.ambiguous += result.vs_same->verdict == "AMBIGUOUS";
    deviations.push_back(std::abs(std::log(result.vs_same->speedup)));
  }
  if (deviations.empty()) return calibration;
  calibration.worst_deviation = *std::max_element(deviations.begin(), deviations.end());
  calibration.median_deviation = Median(std::move(deviations));
  return calibration;
}

nlohmann::ordered_json ToJson(const Calibration& calibration) {
  return {{"cases", calibration.cases},
          {"same", calibration.same},
          {"ambiguous", calibration.ambiguous},
          {"median_deviation", calibration.median_deviation},
          {"worst_deviation", calibration.worst_deviation},
          {"noise_floor", calibration.noise_floor()}};
}

}  // namespace rafter::bench
