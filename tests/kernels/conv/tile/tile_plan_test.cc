// tests/kernels/conv/tile/tile_plan_test.cc: what only shows with small caches or large layers: outputs stored past
// the caches, weights in several passes. All else about plans is in the sweep.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/scoped_machine.h"

namespace rafter::testing {
namespace {

constexpr ScopedCaches::Sizes kNoL3{.l3 = 64};  // every output is too large for the caches

bool Streams(const ConvTester& tester) {
  return tester.kernel_name().find("_stream") != std::string::npos;
}

TEST(StreamedOutput, IsRightAndOnlyInNhwc) {
  const ScopedCaches caches(kNoL3);
  ForEachIsa([](Isa isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw8c}) {
      for (const int64_t oc : {16, 32, 48, 64, 144}) {
        ConvDesc desc;
        desc.n = 2, desc.ic = 5, desc.oc = oc, desc.in = {6, 13}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
        desc.src.layout = desc.dst.layout = layout;
        desc.post_ops = {PostOp::Relu(), PostOp::ResidualAdd()};
        for (const int threads : {1, 3}) {
          ConvTester tester(desc);
          ASSERT_TRUE(tester.Algorithm("direct").Threads(threads).Run());
          if (layout != Layout::kNhwc) EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
          if (layout == Layout::kNhwc && oc == 64) EXPECT_TRUE(Streams(tester)) << tester.kernel_name();
        }
      }
    }
    EXPECT_GE(isa, Isa::kAvx2);
  });
}

TEST(StreamedOutput, NotWherePixelsShareLines) {
  const ScopedCaches caches(kNoL3);
  ForEachIsa([](Isa) {
    for (const int64_t oc : {8, 17, 24, 40}) {
      ConvDesc desc;
      desc.ic = 20, desc.oc = oc, desc.in = {4, 9};
      ConvTester tester(desc);
      ASSERT_TRUE(tester.Algorithm("pointwise").Run());
      EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
    }
    // Whole lines, but rows of a slice that start inside of one.
    ConvDesc desc;
    desc.ic = 20, desc.oc = 64, desc.in = {4, 9};
    desc.dst.strides = Strides{4 * 9 * 72, 1, 9 * 72, 72};
    ConvTester tester(desc);
    ASSERT_TRUE(tester.Algorithm("pointwise").Run());
    EXPECT_FALSE(Streams(tester)) << tester.kernel_name();
  });
}

// Chunks of a row, of several rows, of parts of a row, of a last row alone; lines that chunks share.
TEST(StagedOutput, IsRightForAnyPixelAndChunk) {
  ForEachIsa([](Isa) {
    for (const int64_t l2 : {2 << 10, 16 << 10, 128 << 10}) {
      const ScopedCaches caches({.l2 = l2, .l3 = 64});
      for (const int64_t oc : {1, 7, 17, 24, 40, 100}) {
        ConvDesc desc;
        desc.n = 2, desc.ic = 3, desc.oc = oc, desc.in = {7, 37}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
        desc.post_ops = {PostOp::Relu(), PostOp::ResidualAdd()};
        for (const int threads : {1, 3}) {
          ConvTester tester(desc);
          ASSERT_TRUE(tester.Algorithm("direct").Threads(threads).Run()) << "oc " << oc << ", L2 " << l2;
          ASSERT_TRUE(tester.ResidualInPlace().Run()) << "oc " << oc << ", L2 " << l2;
        }
        desc.kernel = {1, 1}, desc.pad = {};
        ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise").Threads(2).Run()) << "oc " << oc << ", L2 " << l2;
        desc.ic = 3 * 7, desc.oc = oc * 7, desc.groups = 7;
        ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise").Threads(2).Run()) << "oc " << oc << ", L2 " << l2;
      }
    }
  });
}

// Inputs and residuals that are prefetched: dense pixels, slices with gaps, every rest of channels.
TEST(PrefetchedInputs, AreRightWithAndWithoutGaps) {
  const ScopedCaches caches({.l2 = 16 << 10});
  ForEachIsa([](Isa) {
    for (const int64_t ic : {64, 65, 67, 96, 130}) {
      for (const int64_t gap : {0, 1, 16}) {
        for (const int64_t oc : {8, 24, 100}) {
          ConvDesc desc;
          desc.n = 2, desc.ic = ic, desc.oc = oc, desc.in = {5, 47};
          desc.src.strides = Strides{5 * 47 * (ic + gap), 1, 47 * (ic + gap), ic + gap};
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu(), PostOp::ResidualAdd()};
          ConvTester tester(desc);
          ASSERT_TRUE(tester.Algorithm("pointwise").Threads(oc == 24 ? 3 : 1).Run()) << ic << " to " << oc;
          EXPECT_EQ(tester.kernel_name().find("_ahead") != std::string::npos, gap > 0 && ic * oc < 2000)
              << tester.kernel_name();
        }
      }
    }
  });
}

// Weights of a channel tile that exceed L2's share, and chunks of rows that follow each other with the same tile: each
// starts with the first pass again.
TEST(WeightsInPasses, ChunksOfOneChannelTile) {
  const ScopedCaches caches({.l2 = 16 << 10});
  ForEachIsa([](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw8c}) {
      for (const int64_t oc : {5, 16, 48, 100}) {
        ConvDesc desc;
        desc.ic = 130, desc.oc = oc, desc.in = {23, 17}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
        desc.src.layout = desc.dst.layout = layout;
        desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        for (const int threads : {1, 2, 3}) {
          ConvTester tester(desc);
          ASSERT_TRUE(tester.Algorithm("direct").Threads(threads).Run()) << "oc " << oc << ", threads " << threads;
          EXPECT_NE(tester.kernel_name().find("_passes"), std::string::npos) << tester.kernel_name();
        }
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
