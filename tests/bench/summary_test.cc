// Tests of bench/summary.
#include "bench/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

TEST(Summary, CountsAndMeans) {
  const Summary summary = SummarizeCases(MakeCases());
  EXPECT_EQ(summary.efficiency.cases, 2);
  EXPECT_NEAR(summary.efficiency.geomean, 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(summary.efficiency.min, 0.4);
  EXPECT_NEAR(summary.efficiency.p10, 0.45, 1e-12);
  EXPECT_EQ(summary.small.cases, 2);
  EXPECT_EQ(summary.small.within, 1);  // 1.0 <= 1.5 * 0.5 + 0.3 < 2.0
  ASSERT_TRUE(summary.speedup_same && summary.speedup_best);
  EXPECT_EQ(summary.speedup_same->wins, 1);
  EXPECT_EQ(summary.speedup_same->ties, 0) << "AMBIGUOUS is no tie";
  EXPECT_EQ(summary.speedup_same->losses, 1);
  EXPECT_EQ(summary.speedup_same->ambiguous, 1);
  EXPECT_EQ(summary.speedup_best->ties, 1);
  EXPECT_EQ(summary.speedup_best->ambiguous, 0);
  EXPECT_DOUBLE_EQ(summary.speedup_best->min, 0.8);
  EXPECT_NEAR(summary.speedup_best->geomean, std::sqrt(0.8), 1e-12);
  EXPECT_EQ(summary.lowest_efficiency, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(summary.lowest_speedup, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(summary.failed, 1);
  EXPECT_FALSE(SummarizeCases({}).speedup_same.has_value());
}

}  // namespace
}  // namespace rafter::bench
