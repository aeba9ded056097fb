// Tests of roofline/wall_clock.h and of the scope that switches denormals off.
#include "roofline/wall_clock.h"

#include <gtest/gtest.h>

#include <limits>

#include "roofline/flush_to_zero.h"

namespace rafter::roofline {
namespace {

TEST(NowNs, NeverGoesBack) {
  int64_t last = NowNs();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = NowNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST(TimerCostNs, IsPositiveAndBelowAMillisecond) {
  EXPECT_GT(TimerCostNs(), 0);
  EXPECT_LT(TimerCostNs(), 1e6);
}

TEST(ScopedFlushToZero, FlushesInsideAndRestores) {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = 0.5f;
  const unsigned before = _mm_getcsr() & ~0x3Fu;  // without the sticky flags
  EXPECT_GT(smallest * half, 0);
  {
    const ScopedFlushToZero flush;
    EXPECT_EQ(smallest * half, 0);
  }
  EXPECT_GT(smallest * half, 0);
  EXPECT_EQ(_mm_getcsr() & ~0x3Fu, before);
}

}  // namespace
}  // namespace rafter::roofline
