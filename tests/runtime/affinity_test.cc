// tests/runtime/affinity_test.cc
#include "runtime/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <thread>

namespace rafter {
namespace {

TEST(Affinity, AllowedCpusAreTheMaskOfTheThread) {
  const std::vector<int> cpus = AllowedCpus();
  ASSERT_FALSE(cpus.empty());
  EXPECT_TRUE(std::is_sorted(cpus.begin(), cpus.end()));
  std::thread([&] {
    ASSERT_TRUE(PinThisThread(cpus.back()));
    EXPECT_EQ(AllowedCpus(), std::vector<int>{cpus.back()});
    EXPECT_EQ(sched_getcpu(), cpus.back());
  }).join();
  EXPECT_EQ(AllowedCpus(), cpus);  // only that thread was pinned
}

TEST(Affinity, RefusedPinningIsAnAnswer) {
  EXPECT_FALSE(PinThisThread(-1));
  EXPECT_FALSE(PinThisThread(1 << 19));
  EXPECT_FALSE(PinThisThread(1 << 30));
}

TEST(Affinity, TryingToPinLeavesTheMask) {
  const std::vector<int> before = AllowedCpus();
  (void)PinningWorks();  // either answer is fine: a container may forbid it
  EXPECT_EQ(AllowedCpus(), before);
}

TEST(Affinity, PinningOrderHasEachAllowedCpuOnce) {
  std::vector<int> order = PinningOrder();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, AllowedCpus());
}

TEST(Affinity, OneCpuPerCoreComesFirst) {
  // Four cores whose siblings are numbered 4 … 7.
  const std::vector<int> cpus{0, 1, 2, 3, 4, 5, 6, 7}, core_of{0, 1, 2, 3, 0, 1, 2, 3};
  EXPECT_EQ(OrderForPinning(cpus, core_of, 0), cpus);
  EXPECT_EQ(OrderForPinning(cpus, core_of, -1), cpus);
  // It starts at the caller's CPU and goes on from there.
  EXPECT_EQ(OrderForPinning(cpus, core_of, 2), (std::vector<int>{2, 3, 0, 1, 6, 7, 4, 5}));
  // A caller on a second sibling: its core's first CPU is the last resort of that core.
  const std::vector<int> from_sibling = OrderForPinning(cpus, core_of, 5);
  EXPECT_EQ(from_sibling.front(), 5);
  EXPECT_EQ(std::vector<int>(from_sibling.begin() + 1, from_sibling.begin() + 4),
            (std::vector<int>{2, 3, 0}));
}

TEST(Affinity, AdjacentSiblingsAndPartialMasks) {
  EXPECT_EQ(OrderForPinning({0, 1, 2, 3}, {0, 0, 2, 2}, 0), (std::vector<int>{0, 2, 1, 3}));
  EXPECT_EQ(OrderForPinning({1, 2, 3, 1500}, {0, 2, 2, 1500}, 3),
            (std::vector<int>{3, 1500, 1, 2}));
  EXPECT_EQ(OrderForPinning({7}, {3}, 0), std::vector<int>{7});
}

}  // namespace
}  // namespace rafter
