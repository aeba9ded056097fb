// tests/kernels/conv/via_nhwc_test.cc: copies of the pixels that a 1x1 kernel with a stride uses, in all layouts.
// Copies to another layout are also in the sweep.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::testing {
namespace {

TEST(ViaNhwc, OfAStridedPointwiseKernelOnlyUsedPixelsAreCopied) {
  ForEachIsa([](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
      for (const Size2 stride : {Size2{2, 2}, {1, 3}, {2, 1}, {5, 2}}) {
        for (const int64_t ic : {1, 17, 70, 130}) {
          ConvDesc desc;
          desc.n = 2, desc.ic = ic, desc.oc = 21, desc.in = {9, 14}, desc.stride = stride;
          desc.src.layout = desc.dst.layout = layout;
          for (const int threads : {1, 3}) {
            ConvTester tester(desc);
            ASSERT_TRUE(tester.Algorithm("pointwise+reorder").Threads(threads).Run());
            EXPECT_EQ(tester.algorithm(), "pointwise+reorder");
          }
        }
      }
    }
  });
}

TEST(ViaNhwc, UsedPixelsOfASliceAreCopied) {
  ForEachIsa([](Isa) {
    ConvDesc desc;
    desc.ic = 40, desc.oc = 24, desc.in = {7, 9}, desc.stride = {2, 2};
    desc.src = {Layout::kNhwc, Strides{7 * 640, 1, 640, 64}};  // 40 of 64 channels, 9 of 10 columns
    ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise+reorder").Threads(2).Run());
  });
}

// One pixel of NCHW is one of NHWC; images, groups, slices and residuals behind each other, and where only one side is
// a pixel.
TEST(ViaNhwc, ImagesOfOnePixelAreNotCopied) {
  ForEachIsa([](Isa) {
    for (const int64_t ic : {3, 40, 130}) {
      for (const int64_t oc : {1, 5, 34}) {
        ConvDesc desc;
        desc.n = 3, desc.ic = ic * 2, desc.oc = oc * 2, desc.groups = 2, desc.in = {1, 1};
        desc.src.layout = desc.dst.layout = Layout::kNchw;
        const Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "direct+reorder"});
        ASSERT_TRUE(conv.ok());
        EXPECT_NE(conv->Explain().find("the same memory"), std::string::npos);
        desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Threads(2).Run());
        ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise+reorder").ResidualInPlace().Run());
        desc.src.strides = Strides{ic * 2 + 5, 1, 1, 1};
        desc.dst.strides = Strides{oc * 2 + 9, 1, 1, 1};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
        desc.src.strides = Strides{ic * 4, 2, 1, 1};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
        desc.src.strides = desc.dst.strides = std::nullopt, desc.post_ops = {};
        desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
        desc.pad = {2, 2, 2, 2};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
        desc.in = {3, 3}, desc.pad = {};
        ASSERT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
      }
    }
  });
}

TEST(ViaNhwc, NothingToCopyIsRefused) {
  ConvDesc desc;
  desc.ic = 16, desc.oc = 16, desc.in = {5, 5};
  ConvOptions options;
  options.algorithm = "pointwise+reorder";
  EXPECT_EQ(Conv::Create(desc, options).status().code(), StatusCode::kUnsupported);
}

// One tensor is NCHW, the other one is copied to or from NCHW scratch: images, groups, odd channels, planes that lie a
// line further apart, residuals, slices.
TEST(ViaNhwc, KernelsOfNchwServeOneForeignTensor) {
  ForEachIsa([](Isa) {
    for (const Layout other : {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw8c}) {
      for (const bool foreign_src : {false, true}) {
        for (const Size2 kernel : {Size2{1, 1}, {3, 2}}) {
          ConvDesc desc;
          desc.n = 2, desc.ic = 34, desc.oc = 22, desc.groups = 2, desc.in = {16, 16}, desc.kernel = kernel;
          if (kernel.h > 1) desc.pad = {1, 0, 1, 1}, desc.stride = {1, 2};
          desc.src.layout = foreign_src ? other : Layout::kNchw;
          desc.dst.layout = foreign_src ? Layout::kNchw : other;
          for (const char* algorithm : {"gemm+reorder", "widthwise+reorder"}) {
            ConvTester tester(desc);
            ASSERT_TRUE(tester.Algorithm(algorithm).Threads(2).Run()) << algorithm;
            EXPECT_EQ(tester.algorithm(), algorithm);
          }
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(ConvTester(desc).Algorithm("gemm+reorder").Run());
          ASSERT_TRUE(ConvTester(desc).Algorithm("widthwise+reorder").ResidualInPlace().Run());
        }
      }
    }
  });
}

TEST(ViaNhwc, NchwScratchIsForMixedLayoutsOnly) {
  ConvDesc desc;
  desc.ic = 8, desc.oc = 8, desc.in = {9, 9};
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    desc.src.layout = desc.dst.layout = layout;
    EXPECT_FALSE(Conv::Create(desc, {.algorithm = "gemm+reorder"}).ok());
  }
}

// 1x1, 64 to 256 channels into NCHW: copying the source is cheaper than copying four times as much behind the sums.
TEST(ViaNhwc, TheSmallerTensorIsCopied) {
  ForEachIsa([](Isa isa) {
    if (isa == Isa::kNone) return;
    ConvDesc desc;
    desc.ic = 64, desc.oc = 256, desc.in = {56, 56};
    desc.src.layout = Layout::kNhwc, desc.dst.layout = Layout::kNchw;
    const Result<Conv> conv = Conv::Create(desc, {.threads = 1});
    ASSERT_TRUE(conv.ok());
    EXPECT_EQ(std::string(conv->algorithm()), "gemm+reorder");
  });
}

}  // namespace
}  // namespace rafter::testing
