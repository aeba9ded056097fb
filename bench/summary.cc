// bench/summary.cc: geometric means, counts and worst cases.
#include "bench/summary.h"

#include <algorithm>

#include "bench/statistics.h"

namespace rafter::bench {
namespace {

constexpr double kSmallBoundUs = 1.0;  // below it fixed costs rule, not the roof
constexpr double kSmallFactor = 1.5, kSmallExtraUs = 0.3;
constexpr size_t kWorst = 5;

using Member = std::optional<VersusResult> CaseResult::*;

std::optional<SpeedupSummary> SummarizeSpeedup(std::span<const CaseResult> cases, Member member) {
  std::vector<double> speedups;
  SpeedupSummary summary;
  for (const CaseResult& result : cases) {
    const std::optional<VersusResult>& versus = result.*member;
    if (!result.error.empty() || !versus || !(versus->speedup > 0)) continue;
    speedups.push_back(versus->speedup);
    if (versus->verdict == "FASTER") {
      ++summary.wins;
    } else if (versus->verdict == "SLOWER") {
      ++summary.losses;
    } else if (versus->verdict == "SAME") {
      ++summary.ties;
    } else {
      ++summary.ambiguous;
    }
  }
  if (speedups.empty()) return std::nullopt;
  summary.geomean = GeometricMean(speedups);
  summary.min = *std::min_element(speedups.begin(), speedups.end());
  return summary;
}

// Indices of the kWorst lowest values of `score` among those where it is positive.
template <typename Score>
std::vector<size_t> Lowest(std::span<const CaseResult> cases, const Score& score) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].error.empty() && score(cases[i]) > 0) indices.push_back(i);
  }
  std::stable_sort(indices.begin(), indices.end(),
                   [&](size_t a, size_t b) { return score(cases[a]) < score(cases[b]); });
  if (indices.size() > kWorst) indices.resize(kWorst);
  return indices;
}

}  // namespace

Summary SummarizeCases(std::span<const CaseResult> cases) {
  Summary summary;
  std::vector<double> efficiencies;
  for (const CaseResult& result : cases) {
    if (result.error == kInterrupted) {
      ++summary.unfinished;
    } else if (!result.error.empty()) {
      ++summary.failed;
    } else if (result.bound_us >= kSmallBoundUs) {
      efficiencies.push_back(result.efficiency);
    } else if (result.bound_us > 0) {
      ++summary.small.cases;
      const double limit = kSmallFactor * result.bound_us + kSmallExtraUs;
      if (result.time.median <= limit) ++summary.small.within;
    }
  }
  if (!efficiencies.empty()) {
    std::sort(efficiencies.begin(), efficiencies.end());
    summary.efficiency.geomean = GeometricMean(efficiencies);
    summary.efficiency.p10 = SortedQuantile(efficiencies, 0.1);
    summary.efficiency.min = efficiencies.front();
    summary.efficiency.cases = static_cast<int>(efficiencies.size());
  }
  summary.speedup_same = SummarizeSpeedup(cases, &CaseResult::vs_same);
  summary.speedup_best = SummarizeSpeedup(cases, &CaseResult::vs_best);
  summary.lowest_efficiency = Lowest(cases, [](const CaseResult& result) {
    return result.bound_us >= kSmallBoundUs ? result.efficiency : 0.0;
  });
  summary.lowest_speedup = Lowest(cases, [](const CaseResult& result) {
    return result.vs_best ? result.vs_best->speedup : 0.0;
  });
  return summary;
}

}  // namespace rafter::bench
