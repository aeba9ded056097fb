// Tests of bench/statistics with synthetic samples.
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace rafter::bench {
namespace {

TEST(Statistics, QuantilesInterpolate) {
  const std::vector<double> sorted = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(SortedQuantile(sorted, 0), 1);
  EXPECT_DOUBLE_EQ(SortedQuantile(sorted, 1), 4);
  EXPECT_DOUBLE_EQ(SortedQuantile(sorted, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.1), 1.3);
  EXPECT_DOUBLE_EQ(Median({5}), 5);
  EXPECT_DOUBLE_EQ(Median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(Median({9, 1, 5, 3}), 4);
}

TEST(Statistics, SummaryOfNothingIsZero) {
  EXPECT_EQ(Summarize({}).samples, 0);
  EXPECT_DOUBLE_EQ(Summarize({}).median, 0);
  EXPECT_DOUBLE_EQ(GeometricMean({}), 1);
  const std::vector<double> values = {0.5, 2, 4, 0.25};
  EXPECT_DOUBLE_EQ(GeometricMean(values), 1);
}

TEST(Statistics, MedianIntervalIsExactForSmallSamples) {
  std::vector<double> sorted = {1, 2, 3, 4, 5};
  EXPECT_EQ(MedianInterval(sorted), (Interval{1, 5}));  // 5 values cannot give 95 %
  sorted.push_back(6);
  EXPECT_EQ(MedianInterval(sorted), (Interval{1, 6}));
  for (double value = 7; value <= 20; ++value) sorted.push_back(value);
  // The table value for n = 20: order statistics 6 and 15.
  EXPECT_EQ(MedianInterval(sorted), (Interval{6, 15}));
}

TEST(Statistics, IntervalsCoverTheMedian) {
  std::mt19937_64 random(3);
  std::exponential_distribution<double> tail(1.0);
  const double truth = std::log(2.0);
  for (size_t count : {20u, 150u}) {
    int covered_by_ranks = 0, covered_by_bootstrap = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(count);
      for (double& value : values) value = tail(random);
      std::sort(values.begin(), values.end());
      const Interval ranks = MedianInterval(values);
      const Interval bootstrap = BootstrapMedianInterval(values, 300, static_cast<uint64_t>(trial));
      covered_by_ranks += ranks.low <= truth && truth <= ranks.high;
      covered_by_bootstrap += bootstrap.low <= truth && truth <= bootstrap.high;
    }
    EXPECT_GE(covered_by_ranks, kTrials * 92 / 100) << count;
    EXPECT_GE(covered_by_bootstrap, kTrials * 90 / 100) << count;
  }
}

// One sample in ten is ten times too long: the median moves by less than half a percent.
TEST(Statistics, MedianWithstandsSpikes) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(100.0, 0.5);
  std::vector<double> samples(500);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = noise(random) * (i % 10 == 3 ? 10 : 1);
  }
  const TimeStats stats = Summarize(samples);
  EXPECT_NEAR(stats.median, 100, 0.5);
  EXPECT_LE(stats.ci_low, stats.median);
  EXPECT_GE(stats.ci_high, stats.median);
  EXPECT_LT(stats.ci_high - stats.ci_low, 0.5);
  EXPECT_LE(stats.min, stats.p10);
  EXPECT_LE(stats.p10, stats.median);
  EXPECT_LE(stats.median, stats.p90);
}

TEST(Statistics, BootstrapIsDeterministic) {
  const std::vector<double> values = {1, 5, 2, 8, 3, 9, 4};
  EXPECT_EQ(BootstrapMedianInterval(values, 200, 9), BootstrapMedianInterval(values, 200, 9));
  const std::vector<double> one = {2};
  EXPECT_EQ(BootstrapMedianInterval(one), (Interval{2, 2}));
}

}  // namespace
}  // namespace rafter::bench
