// bench/statistics.cc: order statistics and confidence intervals of samples.
#include "bench/statistics.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <random>

namespace rafter::bench {
namespace {

constexpr double kTail = 0.025;  // of a two-sided 95 % interval

// The median of values that may be reordered.
double MedianInPlace(std::vector<double>& values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 == 1) return upper;
  const double lower =
      *std::max_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle));
  return (lower + upper) / 2;
}

}  // namespace

double SortedQuantile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - std::floor(position));
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return SortedQuantile(values, q);
}

double Median(std::vector<double> values) { return MedianInPlace(values); }

Interval MedianInterval(std::span<const double> sorted) {
  const size_t count = sorted.size();
  if (count == 0) return {};
  if (count < 6) return {sorted.front(), sorted.back()};
  // The number of samples below the true median is binomial(count, 1/2). The interval between the
  // order statistics `rank` and `count - 1 - rank` (from 0) misses it with probability 2 *
  // cdf(rank).
  const boost::math::binomial below(static_cast<double>(count), 0.5);
  size_t rank = 0;
  if (count > 100) {
    const double normal =
        static_cast<double>(count) / 2 - 0.98 * std::sqrt(static_cast<double>(count));
    rank = static_cast<size_t>(std::max(0.0, std::floor(normal) - 1));
  } else {
    while (boost::math::cdf(below, static_cast<double>(rank + 1)) <= kTail) ++rank;
  }
  return {sorted[rank], sorted[count - 1 - rank]};
}

Interval BootstrapMedianInterval(std::span<const double> values, int resamples, uint64_t seed, double tail) {
  if (values.empty()) return {};
  std::mt19937_64 random(seed);
  std::vector<double> medians, resample(values.size());
  medians.reserve(static_cast<size_t>(resamples));
  for (int i = 0; i < resamples; ++i) {
    // Multiply-shift instead of a distribution: the same numbers with every standard library.
    for (double& value : resample) {
      const uint64_t index = ((random() >> 32) * static_cast<uint64_t>(values.size())) >> 32;
      value = values[index];
    }
    medians.push_back(MedianInPlace(resample));
  }
  std::sort(medians.begin(), medians.end());
  return {SortedQuantile(medians, tail), SortedQuantile(medians, 1 - tail)};
}

double GeometricMean(std::span<const double> values) {
  if (values.empty()) return 1;
  double sum = 0;
  for (double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

TimeStats Summarize(std::vector<double> samples) {
  TimeStats stats;
  if (samples.empty()) return stats;
  std::sort(samples.begin(), samples.end());
  stats.median = SortedQuantile(samples, 0.5);
  stats.min = samples.front();
  stats.p10 = SortedQuantile(samples, 0.1);
  stats.p90 = SortedQuantile(samples, 0.9);
  const Interval interval = MedianInterval(samples);
  stats.ci_low = interval.low;
  stats.ci_high = interval.high;
  stats.samples = static_cast<int64_t>(samples.size());
  return stats;
}

}  // namespace rafter::bench
