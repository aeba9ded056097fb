// Tests of bench/neighbours on the text of /proc/stat, and on this machine.
#include "bench/neighbours.h"

#include <gtest/gtest.h>

#include <array>

namespace rafter::bench {
namespace {

TEST(BusyTicks, AddsTheAllowedCpus) {
  const std::string text =
      "cpu  1000 0 0 9000 0 0 0 0 0 0\n"
      "cpu0 10 1 2 500 7 3 4 50 0 0\n"
      "cpu1 100 0 0 500 0 0 0 0 0 0\n"
      "cpu10 7 0 0 0 0 0 0 0 0 0\n"
      "intr 12345 0 0\n";
  EXPECT_EQ(BusyTicks(text, std::array{0}), 20) << "user, nice, system, irq, softirq: no idle, wait or stolen time";
  EXPECT_EQ(BusyTicks(text, std::array{0, 1}), 120);
  EXPECT_EQ(BusyTicks(text, std::array{10}), 7);
  EXPECT_EQ(BusyTicks(text, std::array{3}), -1);
  EXPECT_EQ(BusyTicks("", std::array{0}), -1);
}

TEST(BusyCpusBetween, LeavesOutOwnTime) {
  EXPECT_DOUBLE_EQ(BusyCpusBetween({10, 5, 100}, {13, 6, 102}), 1.0 - 0.015 / 2);
  EXPECT_DOUBLE_EQ(BusyCpusBetween({10, 5, 100}, {11, 7, 102}), 0) << "the clocks tick in different steps";
  EXPECT_EQ(BusyCpusBetween({-1, 5, 100}, {13, 6, 102}), -1);
  EXPECT_EQ(BusyCpusBetween({10, 5, 100}, {10, 5, 100.01}), -1) << "too short to tell";
}

TEST(ReadCpuTimes, Rises) {
  const CpuTimes first = ReadCpuTimes();
  EXPECT_GT(first.wall, 0);
  EXPECT_GE(first.own, 0);
  EXPECT_GE(ReadCpuTimes().wall, first.wall);
}

}  // namespace
}  // namespace rafter::bench
