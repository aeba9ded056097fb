// Tests of roofline/clock_probe.h.
#include "roofline/clock_probe.h"

#include <gtest/gtest.h>

#include "jit/executable_memory.h"

namespace rafter::roofline {
namespace {

TEST(CombineClocks, IsTheMeanOfTwoThatAgree) {
  EXPECT_DOUBLE_EQ(CombineClocks(4.0, 4.02).ghz, 4.01);
  EXPECT_EQ(CombineClocks(4.0, 4.02).imul_ghz, 4.0);
  EXPECT_EQ(CombineClocks(4.0, 4.02).add_ghz, 4.02);
}

TEST(CombineClocks, IsUnknownWhenTheyDisagree) {
  EXPECT_EQ(CombineClocks(4.0, 4.2).ghz, 0);
  EXPECT_EQ(CombineClocks(4.0, 0).ghz, 0);
  EXPECT_EQ(CombineClocks(0, 0).ghz, 0);
}

TEST(MeasureClock, IsPlausible) {
  if (!jit::ExecutableMemoryAllowed()) GTEST_SKIP() << "no executable memory";
  const Result<ClockEstimate> clock = MeasureClock();
  ASSERT_TRUE(clock.ok()) << clock.status().message();
  // Wide: a busy machine may spoil a chain, and the estimate then says "unknown".
  EXPECT_GT(clock->imul_ghz + clock->add_ghz, 0.1);
  if (clock->ghz > 0) {
    EXPECT_GT(clock->ghz, 0.3);
    EXPECT_LT(clock->ghz, 10);
  }
}

}  // namespace
}  // namespace rafter::roofline
