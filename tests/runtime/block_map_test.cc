// tests/runtime/block_map_test.cc: the bookkeeping alone, on addresses that nobody maps.
#include "runtime/block_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace rafter {
namespace {

constexpr uintptr_t kBase = uintptr_t{1} << 40;

size_t FreeBytes(const BlockMap& map) {
  size_t bytes = 0;
  map.ForEachFree([&](BlockMap::Span span) { bytes += span.bytes; });
  return bytes;
}

TEST(BlockMap, EmptyMapGivesNothing) {
  BlockMap map(64);
  EXPECT_EQ(map.Take(64).begin, 0u);
  EXPECT_EQ(map.Find(kBase).begin, 0u);
  EXPECT_EQ(map.RemoveFreeArena(SIZE_MAX).begin, 0u);
  EXPECT_EQ(map.RemoveAnyArena().begin, 0u);
}

TEST(BlockMap, TakesFromTheLowEndAndJoinsAgain) {
  BlockMap map(64);
  ASSERT_TRUE(map.AddArena({kBase, 1024}));
  EXPECT_EQ(map.Take(64).begin, kBase);
  EXPECT_EQ(map.Take(128).begin, kBase + 64);
  EXPECT_EQ(map.Take(1024).begin, 0u);
  EXPECT_EQ(map.Find(kBase + 64).bytes, 128u);
  EXPECT_EQ(map.Find(kBase + 128).begin, 0u);  // inside a block
  map.Release(kBase);
  map.Release(kBase);                    // twice: ignored
  EXPECT_EQ(map.Take(64).begin, kBase);  // the smallest hole that fits
  map.Release(kBase);
  map.Release(kBase + 64);
  EXPECT_EQ(map.Take(1024).begin, kBase);
}

TEST(BlockMap, BestFit) {
  BlockMap map(64);
  ASSERT_TRUE(map.AddArena({kBase, 4096}));
  ASSERT_TRUE(map.AddArena({kBase * 2, 640}));
  ASSERT_TRUE(map.AddArena({kBase * 3, 704}));
  EXPECT_EQ(map.Take(640).begin, kBase * 2);
  EXPECT_EQ(map.Take(640).begin, kBase * 3);
  EXPECT_EQ(map.Take(640).begin, kBase);
}

TEST(BlockMap, RemovesOnlyFreeArenasBelowASize) {
  BlockMap map(4096);
  ASSERT_TRUE(map.AddArena({kBase, 8192}));
  ASSERT_TRUE(map.AddArena({kBase * 2, 65536}));
  const uintptr_t block = map.Take(4096).begin;
  EXPECT_EQ(block, kBase);
  EXPECT_EQ(map.RemoveFreeArena(65536).begin, 0u);
  EXPECT_EQ(map.RemoveFreeArena(65537).begin, kBase * 2);
  map.Release(block);
  EXPECT_EQ(map.RemoveFreeArena(SIZE_MAX).bytes, 8192u);
  EXPECT_EQ(map.Take(4096).begin, 0u);
}

TEST(BlockMap, RemovesAllArenasWithWholeSizes) {
  BlockMap map(64);
  ASSERT_TRUE(map.AddArena({kBase, 4096}));
  ASSERT_TRUE(map.AddArena({kBase * 2, 8192}));
  std::vector<uintptr_t> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(map.Take(320).begin);
  for (size_t i = 0; i < blocks.size(); i += 2) map.Release(blocks[i]);
  size_t bytes = 0;
  for (BlockMap::Span arena = map.RemoveAnyArena(); arena.begin != 0;
       arena = map.RemoveAnyArena()) {
    bytes += arena.bytes;
  }
  EXPECT_EQ(bytes, 4096u + 8192u);
}

TEST(BlockMap, RandomUseNeverOverlapsAndLosesNothing) {
  for (size_t granule : {size_t{64}, size_t{4096}}) {
    BlockMap map(granule);
    const size_t arena_bytes = granule * 5000;
    ASSERT_TRUE(map.AddArena({kBase, arena_bytes}));
    ASSERT_TRUE(map.AddArena({kBase * 2, arena_bytes}));
    std::mt19937 random(7);
    std::map<uintptr_t, size_t> taken;
    size_t taken_bytes = 0;
    for (int step = 0; step < 40'000; ++step) {
      if (random() % 16 < (step / 5000 % 2 == 0 ? 10u : 6u)) {
        const size_t bytes = granule * (1 + random() % (step % 50 == 0 ? 300 : 4));
        const BlockMap::Span block = map.Take(bytes);
        if (block.begin == 0) continue;
        ASSERT_EQ(block.bytes, bytes);
        const auto after = taken.lower_bound(block.begin);
        ASSERT_TRUE(after == taken.end() || block.begin + bytes <= after->first);
        ASSERT_TRUE(after == taken.begin() ||
                    std::prev(after)->first + std::prev(after)->second <= block.begin);
        taken[block.begin] = bytes;
        taken_bytes += bytes;
      } else if (!taken.empty()) {
        auto victim = taken.lower_bound(kBase * (1 + random() % 2) + random() % arena_bytes);
        if (victim == taken.end()) victim = taken.begin();
        map.Release(victim->first);
        taken_bytes -= victim->second;
        taken.erase(victim);
      }
      if (step % 1000 == 0) {
        ASSERT_EQ(FreeBytes(map), 2 * arena_bytes - taken_bytes);
      }
    }
    for (const auto& [begin, bytes] : taken) map.Release(begin);
    EXPECT_EQ(map.Take(arena_bytes).bytes, arena_bytes);  // all joined again
    EXPECT_EQ(map.Take(arena_bytes).bytes, arena_bytes);
  }
}

}  // namespace
}  // namespace rafter
