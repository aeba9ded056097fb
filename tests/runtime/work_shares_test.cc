// tests/runtime/work_shares_test.cc: every item once, whoever is slow, and the same items in a calm run.
#include "runtime/work_shares.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace rafter {
namespace {

int64_t TakeAll(WorkShares& shares, int thread, std::vector<int>& taken) {
  int64_t count = 0;
  for (Range range = shares.Take(thread); range.begin < range.end; range = shares.Take(thread)) {
    for (int64_t i = range.begin; i < range.end; ++i, ++count) ++taken[static_cast<size_t>(i)];
  }
  return count;
}

TEST(WorkShares, OneThreadMayTakeEverything) {
  for (const int64_t items : {0, 1, 5, 64, 1000}) {
    for (const int threads : {1, 2, 7, 64, 100}) {
      for (const int who : {0, threads - 1}) {
        WorkShares shares(items, threads);
        std::vector<int> taken(static_cast<size_t>(items), 0);
        EXPECT_EQ(TakeAll(shares, who, taken), items);
        for (const int times : taken) EXPECT_EQ(times, 1);
        EXPECT_EQ(shares.Take(who).begin, shares.Take(who).end) << "stays empty";
      }
    }
  }
}

TEST(WorkShares, OwnShareFrontToBackThenOthersFromTheirEnds) {
  WorkShares shares(6, 2);
  EXPECT_EQ(shares.Take(0).begin, 0);
  EXPECT_EQ(shares.Take(1).begin, 3);
  EXPECT_EQ(shares.Take(0).begin, 1);
  EXPECT_EQ(shares.Take(0).begin, 2);
  EXPECT_EQ(shares.Take(0).begin, 5) << "from the end of the other's share";
  EXPECT_EQ(shares.Take(1).begin, 4);
  const Range none = shares.Take(1);
  EXPECT_EQ(none.begin, none.end);
}

TEST(WorkShares, MoreItemsThanNumbersAreBundled) {
  const int64_t items = (int64_t{1} << 33) + 5;
  WorkShares shares(items, 1);
  const Range first = shares.Take(0), second = shares.Take(0);
  EXPECT_EQ(first.begin, 0);
  EXPECT_GT(first.end, 1);
  EXPECT_EQ(second.begin, first.end);
  EXPECT_EQ(second.end, 2 * first.end);
}

TEST(WorkShares, ThreadsAtOnceTakeEachItemOnce) {
  constexpr int kThreads = 4;
  constexpr int64_t kItems = 20000;
  for (int round = 0; round < 20; ++round) {
    WorkShares shares(kItems, kThreads);
    std::vector<std::atomic<int>> taken(kItems);
    std::vector<std::thread> team;
    for (int t = 0; t < kThreads; ++t) {
      team.emplace_back([&, t] {
        if (t == round % kThreads) std::this_thread::sleep_for(std::chrono::microseconds(100));
        for (Range r = shares.Take(t); r.begin < r.end; r = shares.Take(t)) {
          for (int64_t i = r.begin; i < r.end; ++i) taken[static_cast<size_t>(i)].fetch_add(1);
        }
      });
    }
    for (std::thread& thread : team) thread.join();
    for (const std::atomic<int>& times : taken) ASSERT_EQ(times.load(), 1);
  }
}

}  // namespace
}  // namespace rafter
