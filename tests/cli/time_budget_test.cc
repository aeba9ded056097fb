// Tests of cli/time_budget.h.
#include "cli/time_budget.h"

#include <gtest/gtest.h>

namespace rafter::cli {
namespace {

TEST(TimeBudget, SharesEquallyWithoutOverhead) {
  TimeBudget budget({.total_us = 10e6}, 10);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(0), 1e6);
  budget.Report(1e6, 1e6);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(1e6), 1e6);
}

TEST(TimeBudget, OverheadsShrinkTheShares) {
  TimeBudget budget({.total_us = 10e6}, 10);
  budget.Report(1e6, 1.4e6);
  EXPECT_DOUBLE_EQ(budget.NextShareUs(1.4e6), 8.6e6 / 9 - 0.4e6);
}

TEST(TimeBudget, CasesThatEndEarlyServeTheOthers) {
  TimeBudget budget({.total_us = 10e6}, 10);
  budget.Report(1e6, 0.1e6);
  EXPECT_GT(budget.NextShareUs(0.1e6), 1.5e6);
}

TEST(TimeBudget, SharesHaveLimits) {
  const TimeBudgetOptions options{
      .total_us = 100e6, .largest_share_us = 4e6, .smallest_share_us = 20e3};
  EXPECT_DOUBLE_EQ(TimeBudget(options, 1).NextShareUs(0), 4e6);
  EXPECT_DOUBLE_EQ(TimeBudget(options, 1'000'000).NextShareUs(0), 20e3);
}

TEST(TimeBudget, OnlyAStrictOneEnds) {
  TimeBudgetOptions options{.total_us = 1e6};
  EXPECT_DOUBLE_EQ(TimeBudget(options, 3).NextShareUs(2e6), options.smallest_share_us);
  options.strict = true;
  EXPECT_DOUBLE_EQ(TimeBudget(options, 3).NextShareUs(0.999e6), options.smallest_share_us);
  EXPECT_DOUBLE_EQ(TimeBudget(options, 3).NextShareUs(1e6), 0);
}

}  // namespace
}  // namespace rafter::cli
