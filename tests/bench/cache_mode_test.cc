// Tests of bench/cache_mode: names, and that flushing flushes.
#include "bench/cache_mode.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::bench {
namespace {

TEST(CacheMode, NamesGoBothWays) {
  for (const CacheMode mode : {CacheMode::kHot, CacheMode::kColdWeights, CacheMode::kCold}) {
    EXPECT_EQ(ParseCacheMode(CacheModeName(mode)), mode);
  }
  EXPECT_FALSE(ParseCacheMode("warm"));
}

TEST(FlushFromCaches, LeavesTheDataAsTheyAre) {
  std::vector<float> values(1000, 3.5f);
  FlushFromCaches(std::as_bytes(std::span(values)).subspan(3, 2000));
  FlushFromCaches({});
  for (const float value : values) ASSERT_EQ(value, 3.5f);
}

TEST(CheckFlushing, SeesADifference) {
  const ColdCheck check = CheckFlushing(1 << 20);
  EXPECT_GT(check.cold_gb_per_s, 0);
  EXPECT_GT(check.hot_gb_per_s, 0);
  EXPECT_EQ(check.works, check.cold_gb_per_s <= 0.8 * check.hot_gb_per_s);
}

}  // namespace
}  // namespace rafter::bench
