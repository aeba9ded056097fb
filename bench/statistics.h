// bench/statistics.h: order statistics and confidence intervals of samples. Pure functions.
//
// Interference only ever makes a sample longer, so means are useless here; everything rests on
// medians.
#ifndef RAFTER_BENCH_STATISTICS_H_
#define RAFTER_BENCH_STATISTICS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rafter::bench {

struct Interval {
  double low = 0, high = 0;
  bool operator==(const Interval&) const = default;
};

// Linear interpolation between order statistics (type 7); q in [0, 1]. `sorted` rises and is not
// empty.
double SortedQuantile(std::span<const double> sorted, double q);
double Quantile(std::vector<double> values, double q);
double Median(std::vector<double> values);

// 95 % confidence interval of the median by order statistics: exact binomial ranks. With fewer than
// 6 values it is the whole range.
Interval MedianInterval(std::span<const double> sorted);

// Percentile bootstrap interval of the median over `resamples` resamplings, of 95 % unless `tail` (outside of it on
// each side) says something else; deterministic for a seed.
Interval BootstrapMedianInterval(std::span<const double> values, int resamples = 1000,
                                 uint64_t seed = 1, double tail = 0.025);

double GeometricMean(std::span<const double> values);  // all > 0; 1 when empty

// Times of one case, in microseconds per call.
struct TimeStats {
  double median = 0, min = 0, p10 = 0, p90 = 0;
  double ci_low = 0, ci_high = 0;  // 95 % interval of the median
  int64_t samples = 0;             // kept
  int64_t discarded = 0;           // thrown away on outside evidence of a disturbance
  int64_t inner = 0;               // calls per sample
  bool noisy = false;              // most samples were disturbed
  // What probes between the samples found of the machine (sampler.h); 0 = there were none.
  double roof_share = 0, core_share = 0;
};

// Statistics of samples in any order; zeros when empty.
TimeStats Summarize(std::vector<double> samples);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_STATISTICS_H_
