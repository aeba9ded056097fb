// Tests of cli/time_budget.h.
#include "cli/time_budget.h"

#include <gtest/gtest.h>

namespace rafter::cli {
namespace {

TimeBudget Of(const TimeBudgetOptions& options, int cases) {
  TimeBudget budget(options);
  for (int i = 0; i < cases; ++i) budget.Expect(0);
  return budget;
}

TEST(TimeBudget, SharesEquallyWithoutOverhead) {
  TimeBudget budget = Of({.total_us = 10e6}, 10);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(0, 0), 1e6);
  budget.Report(1e6, 1e6, 0);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(1e6, 0), 1e6);
}

TEST(TimeBudget, LongCallsGetMore) {
  TimeBudget budget({.total_us = 10e6});
  for (const double call_us : {0, 100, 2000}) budget.Expect(call_us);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(0, 2000), 10e6 * 2200 / 2700 < 4e6 ? 10e6 * 2200 / 2700 : 4e6);
  const double small = budget.NextShareUs(0, 0);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(0, 100), 1.5 * small);
  budget.Report(small, small, 0);
  EXPECT_NEAR(budget.NextShareUs(small, 100), (10e6 - small) * 300 / 2500, 1);
}

TEST(TimeBudget, OverheadsShrinkTheShares) {
  TimeBudget budget = Of({.total_us = 10e6}, 10);
  budget.Report(1e6, 1.4e6, 0);
  EXPECT_NEAR(budget.NextShareUs(1.4e6, 0), 8.6e6 / 9 - 0.4e6, 1e-3);
}

TEST(TimeBudget, CasesThatEndEarlyServeTheOthers) {
  TimeBudget budget = Of({.total_us = 10e6}, 10);
  budget.Report(1e6, 0.1e6, 0);
  EXPECT_GT(budget.NextShareUs(0.1e6, 0), 1.5e6);
}

TEST(TimeBudget, SharesHaveLimits) {
  const TimeBudgetOptions options{
      .total_us = 100e6, .largest_share_us = 4e6, .smallest_share_us = 20e3};
  EXPECT_DOUBLE_EQ(Of(options, 1).NextShareUs(0, 0), 4e6);
  EXPECT_DOUBLE_EQ(Of(options, 1'000'000).NextShareUs(0, 0), 20e3);
}

TEST(TimeBudget, OnlyAStrictOneEnds) {
  TimeBudgetOptions options{.total_us = 1e6};
  EXPECT_DOUBLE_EQ(Of(options, 3).NextShareUs(2e6, 0), options.smallest_share_us);
  options.strict = true;
  EXPECT_DOUBLE_EQ(Of(options, 3).NextShareUs(0.999e6, 0), options.smallest_share_us);
  EXPECT_DOUBLE_EQ(Of(options, 3).NextShareUs(1e6, 0), 0);
}

}  // namespace
}  // namespace rafter::cli
