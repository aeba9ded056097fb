// tests/jit/free_ranges_test.cc: first fit, merging, and a random walk against a plain bitmap.
#include "jit/free_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

namespace rafter::jit {
namespace {

TEST(FreeRanges, TakesFromTheFrontAndRefusesWhatDoesNotFit) {
  FreeRanges ranges(100);
  EXPECT_EQ(ranges.Take(40), 0u);
  EXPECT_EQ(ranges.Take(40), 40u);
  EXPECT_EQ(ranges.Take(21), FreeRanges::kNoOffset);
  EXPECT_EQ(ranges.Take(20), 80u);
  EXPECT_EQ(ranges.free_bytes(), 0u);
  EXPECT_EQ(ranges.largest_bytes(), 0u);
  EXPECT_EQ(ranges.Take(1), FreeRanges::kNoOffset);
}

TEST(FreeRanges, MergesInEveryOrder) {
  std::vector<size_t> order = {0, 10, 20, 30};
  do {
    FreeRanges ranges(40);
    for (int i = 0; i < 4; ++i) ASSERT_NE(ranges.Take(10), FreeRanges::kNoOffset);
    for (const size_t offset : order) ranges.Give(offset, 10);
    EXPECT_EQ(ranges.range_count(), 1u);
    EXPECT_EQ(ranges.largest_bytes(), 40u);
    EXPECT_EQ(ranges.Take(40), 0u);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(FreeRanges, RandomWalkNeverOverlapsAndKeepsCount) {
  constexpr size_t kBytes = 512;
  FreeRanges ranges(kBytes);
  std::vector<bool> used(kBytes, false);
  std::vector<std::pair<size_t, size_t>> pieces;
  std::mt19937 random(1);
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 || pieces.empty()) {
      const size_t bytes = 1 + random() % 40;
      const bool fits = bytes <= ranges.largest_bytes();
      const size_t offset = ranges.Take(bytes);
      ASSERT_EQ(offset != FreeRanges::kNoOffset, fits);
      if (!fits) continue;
      for (size_t i = offset; i < offset + bytes; ++i) {
        ASSERT_FALSE(used[i]);
        used[i] = true;
      }
      pieces.emplace_back(offset, bytes);
    } else {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const auto [offset, bytes] = pieces.back();
      pieces.pop_back();
      ranges.Give(offset, bytes);
      std::fill(used.begin() + offset, used.begin() + offset + bytes, false);
    }
    size_t largest = 0, run = 0, runs = 0;
    for (const bool taken : used) {
      run = taken ? 0 : run + 1;
      runs += run == 1;
      largest = std::max(largest, run);
    }
    ASSERT_EQ(ranges.largest_bytes(), largest);
    ASSERT_EQ(ranges.range_count(), runs);
    ASSERT_EQ(ranges.free_bytes(),
              static_cast<size_t>(std::count(used.begin(), used.end(), false)));
  }
}

}  // namespace
}  // namespace rafter::jit
