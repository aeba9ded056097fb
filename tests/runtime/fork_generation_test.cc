// tests/runtime/fork_generation_test.cc
#include "runtime/fork_generation.h"

#include <gtest/gtest.h>

#include "tests/runtime/child_process.h"

namespace rafter {
namespace {

TEST(ForkGeneration, CountsForksOnTheWayHere) {
  EXPECT_EQ(ForkGeneration(), 0u);
  EXPECT_TRUE(HoldsInChild(
      [] { return ForkGeneration() == 1 && HoldsInChild([] { return ForkGeneration() == 2; }); }));
  EXPECT_EQ(ForkGeneration(), 0u);
}

}  // namespace
}  // namespace rafter
