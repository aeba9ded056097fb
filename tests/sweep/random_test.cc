// Random problems of every kind against the reference. RAFTER_SWEEP_CASES and RAFTER_SWEEP_SEED in the
// environment choose how many and which.
#include <gtest/gtest.h>


#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/from_environment.h"
#include "tests/support/random_desc.h"

namespace rafter::testing {
namespace {

void Sweep(DataKind data, bool exact_post_ops, int64_t cases) {
  const int64_t seed = FromEnvironment("RAFTER_SWEEP_SEED", 1);
  ForEachIsa([&](Isa) {
    Random random(static_cast<uint64_t>(seed));
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", cases); ++i) {
      RandomDescLimits limits;
      limits.exact_post_ops = exact_post_ops;
      const ConvDesc desc = RandomDesc(random, limits);
      ASSERT_TRUE(ConvTester(desc)
                      .Data(data)
                      .Seed(static_cast<uint64_t>(seed + i))
                      .Threads(1 + static_cast<int>(i % 8))
                      .Run())
          << "case " << i;
    }
  });
}

TEST(Random, IntegersAreExact) { Sweep(DataKind::kInteger, true, 3000); }
TEST(Random, RealsWithinTheBoundOfTheirSum) { Sweep(DataKind::kReal, false, 1500); }
TEST(Random, NanInfinityAndDenormalsReachTheirOutputsOnly) { Sweep(DataKind::kSpecials, true, 1500); }

// The library's own choice, algorithms with a published error bound included.
TEST(Random, WhateverIsChosen) {
  ForEachIsa([](Isa) {
    Random random(23);
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 500); ++i) {
      RandomDescLimits limits;
      limits.max_channels_g = 48, limits.max_kernel = 3, limits.max_stride = 1, limits.max_image = 24;
      const ConvDesc desc = RandomDesc(random, limits);
      ASSERT_TRUE(ConvTester(desc).Transforms().Data(DataKind::kReal).Seed(static_cast<uint64_t>(i))
                      .Threads(1 + static_cast<int>(i % 8)).Run())
          << "case " << i;
    }
  });
}

// Whatever algorithm runs, it has read a residual before it writes to the same place.
TEST(Random, ResidualThatIsTheOutput) {
  ForEachIsa([](Isa) {
    Random random(31);
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 1000); ++i) {
      RandomDescLimits limits;
      limits.max_channels_g = 24, limits.max_image = 24, limits.max_kernel = 5;
      ConvDesc desc = RandomDesc(random, limits);
      desc.post_ops = {desc.dst.strides ? PostOp::ResidualAdd(*desc.dst.strides) : PostOp::ResidualAdd()};
      ASSERT_TRUE(ConvTester(desc).Transforms().Data(DataKind::kReal).ResidualInPlace()
                      .Seed(static_cast<uint64_t>(i)).Threads(1 + static_cast<int>(i % 4)).Run())
          << "case " << i;
    }
  });
}

// Longer rows and wider kernels than the sweep over all layouts has, in the layout that widthwise is for.
TEST(Random, Widthwise) {
  for (const DataKind data : {DataKind::kInteger, DataKind::kSpecials}) {
    ForEachIsa([&](Isa) {
      Random random(11);
      for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 500); ++i) {
        RandomDescLimits limits;
        limits.layouts = {Layout::kNchw};
        limits.exact_post_ops = true;
        limits.max_channels_g = 24, limits.max_image = 40, limits.max_kernel = 10, limits.max_stride = 4;
        const ConvDesc desc = RandomDesc(random, limits);
        ASSERT_TRUE(ConvTester(desc)
                        .Algorithm("widthwise")
                        .Data(data)
                        .Seed(static_cast<uint64_t>(i))
                        .Threads(1 + static_cast<int>(i % 8))
                        .Run())
            << "case " << i;
      }
    });
  }
}

// Post-op chains up to the longest, on few shapes.
TEST(Random, LongPostOpChains) {
  ForEachIsa([](Isa) {
    Random random(5);
    for (int i = 0; i < 300; ++i) {
      RandomDescLimits limits;
      limits.max_post_ops = kMaxPostOps;
      limits.max_image = 5, limits.max_channels_g = 20;
      const ConvDesc desc = RandomDesc(random, limits);
      ASSERT_TRUE(ConvTester(desc).Data(DataKind::kReal).Seed(static_cast<uint64_t>(i)).Run());
    }
  });
}

}  // namespace
}  // namespace rafter::testing
