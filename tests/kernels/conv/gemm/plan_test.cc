// The matrix product from end to end against the reference: every tile, tail, pass and block, and who is refused.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/random_desc.h"
#include "tests/support/scoped_machine.h"

namespace rafter::testing {
namespace {

ConvDesc Desc(int64_t ic, int64_t oc, Size2 in, int64_t kernel = 1) {
  ConvDesc desc;
  desc.ic = ic, desc.oc = oc, desc.in = in, desc.kernel = {kernel, kernel};
  desc.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  return desc;
}

ConvTester Gemm(const ConvDesc& desc) { return ConvTester(desc).Algorithm("gemm"); }

TEST(Gemm, EveryNumberOfPixelsAndChannels) {
  ForEachIsa([](Isa) {
    for (int64_t pixels = 1; pixels <= 100; ++pixels) {
      ASSERT_TRUE(Gemm(Desc(5, 1 + pixels % 29, {1, pixels})).Run()) << "pixels " << pixels;
    }
    for (int64_t oc = 1; oc <= 60; ++oc) {
      for (const int64_t pixels : {7, 12, 21, 49}) {
        ASSERT_TRUE(Gemm(Desc(3, oc, {1, pixels})).Run()) << "oc " << oc << " pixels " << pixels;
      }
    }
  });
}

// More k than a pass: parked sums; more channels than a block.
TEST(Gemm, SeveralPassesAndBlocks) {
  ForEachIsa([](Isa) {
    for (const int64_t ic : {190, 210, 700, 1100}) {
      for (const int64_t oc : {5, 300}) {
        for (const int64_t width : {3, 15}) {
          ConvDesc desc = Desc(ic, oc, {5, width});
          for (const int threads : {1, 3}) {
            ASSERT_TRUE(Gemm(desc).Threads(threads).Run()) << "ic " << ic << " oc " << oc << " width " << width;
          }
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(Gemm(desc).ResidualInPlace().Run()) << "ic " << ic << " oc " << oc << " width " << width;
        }
      }
    }
    ASSERT_TRUE(Gemm(Desc(40, 30, {9, 11}, 3)).Run());
  });
}

// 1x1 with strides, and rows with gaps: pixels are picked from the planes.
TEST(Gemm, PickedPixels) {
  ForEachIsa([](Isa) {
    for (const int64_t stride : {1, 2, 3}) {
      for (const int64_t width : {1, 7, 13, 14, 30, 56}) {
        for (const int64_t ic : {3, 530}) {
          ConvDesc desc = Desc(ic, 10, {9, width});
          desc.stride = {2, stride};
          ASSERT_TRUE(Gemm(desc).Threads(1 + width % 3).Run()) << "stride " << stride << " width " << width;
        }
      }
    }
    ConvDesc desc = Desc(6, 10, {9, 20});
    desc.src.strides = Strides{6 * 9 * 24, 9 * 24, 24, 1};
    EXPECT_TRUE(Gemm(desc).Run());
  });
}

// Weights beyond L3 are used block by block, and panels that were read in place are used again.
TEST(Gemm, WeightsBeyondTheLastCache) {
  const ScopedCaches caches({.l2 = 32 << 10, .l3 = 64 << 10});
  ForEachIsa([](Isa) {
    for (const int64_t pixels : {5, 49, 130}) {
      for (const int threads : {1, 2}) {
        EXPECT_TRUE(Gemm(Desc(600, 90, {1, pixels})).Threads(threads).Run()) << "pixels " << pixels;
      }
    }
  });
}

// Inputs and outputs beyond their share of L3: segments are staged. All kinds of last segments and tiles, images and
// groups behind each other, slices, residuals.
TEST(Gemm, StagedSegments) {
  const ScopedCaches caches({.l2 = 256 << 10, .l3 = 256 << 10});
  ForEachIsa([](Isa) {
    int oc = 1;
    for (const Size2 in : {Size2{48, 50}, Size2{13, 185}, Size2{49, 49}, Size2{1, 2055}, Size2{55, 59}}) {
      for (const int threads : {1, 2}) {
        oc = oc % 13 + 1;
        const ConvDesc desc = Desc(17 + oc, oc, in);
        const Result<Conv> conv = Conv::Create(desc, {.threads = threads, .algorithm = "gemm"});
        ASSERT_NE(conv->Explain().find("; staged"), std::string::npos);
        ASSERT_TRUE(Gemm(desc).Threads(threads).Run()) << in.h << "x" << in.w << ", oc " << oc;
      }
    }
    ConvDesc desc = Desc(24, 14, {50, 53});
    desc.n = 3, desc.groups = 2;
    desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
    ASSERT_TRUE(Gemm(desc).Threads(2).Run());
    ASSERT_TRUE(Gemm(desc).ResidualInPlace().Run());
    desc.src.strides = Strides{30 * 2700, 2700, 53, 1};
    desc.dst.strides = Strides{16 * 2656, 2656, 53, 1};
    ASSERT_TRUE(Gemm(desc).Run());
  });
}

// Strides, dilations, paddings, groups, post-ops, slices; infinite weights beside padding, too.
TEST(Gemm, RandomProblems) {
  for (const DataKind data : {DataKind::kInteger, DataKind::kSpecials}) {
    ForEachIsa([&](Isa) {
      Random random(7);
      int run = 0;
      for (int i = 0; i < 400; ++i) {
        RandomDescLimits limits;
        limits.layouts = {Layout::kNchw};
        limits.exact_post_ops = true;
        limits.max_channels_g = 24, limits.max_image = 30, limits.max_kernel = 5, limits.max_stride = 4;
        const ConvDesc desc = RandomDesc(random, limits);
        ConvOptions options;
        options.algorithm = "gemm";
        if (Conv::Create(desc, options).status().code() == StatusCode::kUnsupported) continue;  // gaps between rows
        ++run;
        ASSERT_TRUE(Gemm(desc).Data(data).Seed(static_cast<uint64_t>(i)).Threads(1 + i % 4).Run()) << "case " << i;
      }
      EXPECT_GT(run, 100);
    });
  }
}

TEST(Gemm, RefusesWhatItCannot) {
  ForEachIsa([](Isa) {
    ConvOptions options;
    options.algorithm = "gemm";
    const auto refusal = [&](const ConvDesc& desc) {
      const Result<Conv> conv = Conv::Create(desc, options);
      return conv.ok() ? std::string() : std::string(conv.status().message());
    };
    ConvDesc desc = Desc(8, 8, {6, 6});
    desc.src.layout = desc.dst.layout = Layout::kNhwc;
    EXPECT_NE(refusal(desc).find("src is not NCHW"), std::string::npos);
    desc = Desc(8, 8, {6, 6});
    desc.dst.strides = Strides{8 * 6 * 10, 6 * 10, 10, 1};
    EXPECT_NE(refusal(desc).find("gaps between their rows"), std::string::npos);
  });
}

}  // namespace
}  // namespace rafter::testing
