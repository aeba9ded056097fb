// tests/kernels/conv/via_nhwc_test.cc: copies of the pixels that a 1x1 kernel with a stride uses, in all layouts.
// Copies to another layout are also in the sweep.
#include <gtest/gtest.h>

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

TEST(ViaNhwc, NothingToCopyIsRefused) {
  ConvDesc desc;
  desc.ic = 16, desc.oc = 16, desc.in = {5, 5};
  ConvOptions options;
  options.algorithm = "pointwise+reorder";
  EXPECT_EQ(Conv::Create(desc, options).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace rafter::testing
