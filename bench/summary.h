// bench/summary.h: many cases in a few numbers.
#ifndef RAFTER_BENCH_SUMMARY_H_
#define RAFTER_BENCH_SUMMARY_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "bench/case_result.h"

namespace rafter::bench {

// Of the cases whose bound is at least 1 us.
struct EfficiencySummary {
  double geomean = 0, p10 = 0, min = 0;
  int cases = 0;
};

// Of the cases below: `within` counts those that take at most 1.5 * bound + 0.3 us.
struct SmallSummary {
  int cases = 0, within = 0;
};

// Wins, ties and losses are the verdicts FASTER, SAME and SLOWER; where the samples cannot tell, the case is ambiguous.
struct SpeedupSummary {
  double geomean = 0, min = 0;
  int wins = 0, ties = 0, losses = 0, ambiguous = 0;
};

struct Summary {
  EfficiencySummary efficiency;
  SmallSummary small;
  std::optional<SpeedupSummary> speedup_same, speedup_best;  // absent without comparisons
  // Indices of up to five cases, worst first; not part of the JSON.
  std::vector<size_t> lowest_efficiency, lowest_speedup;
  int failed = 0;      // cases with an error
  int unfinished = 0;  // cases that an interruption left
};

Summary SummarizeCases(std::span<const CaseResult> cases);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_SUMMARY_H_
