// Tests of roofline/page_probe.
#include "roofline/page_probe.h"

#include <gtest/gtest.h>

namespace rafter::roofline {
namespace {

TEST(MeasureFirstTouch, BothTimesAreThere) {
  const PageCost cost = MeasureFirstTouch(1 << 20);
  EXPECT_EQ(cost.bytes, size_t{1} << 20);
  EXPECT_GT(cost.fresh_us, 0);
  EXPECT_GT(cost.warm_us, 0);
}

TEST(MeasureFirstTouch, TooMuchIsNoCrash) { EXPECT_EQ(MeasureFirstTouch(size_t{1} << 60).bytes, 0u); }

}  // namespace
}  // namespace rafter::roofline
