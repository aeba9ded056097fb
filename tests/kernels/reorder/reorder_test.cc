// Reorders to NHWC and back against plain loops, between guard pages.
#include "kernels/reorder/reorder.h"

#include <gtest/gtest.h>

#include "kernels/conv/problem.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/random_tensor.h"

namespace rafter::reorder {
namespace {

using testing::Guard;
using testing::GuardedBuffer;
using testing::TensorView;

void CheckRoundTrip(Layout layout, const Shape& shape, int64_t more_pixel, Guard guard) {
  const Strides strides = DenseStrides(layout, shape.c, shape.h, shape.w);
  const int64_t pixel = shape.c + more_pixel;
  const Strides nhwc{shape.h * shape.w * pixel, 1, shape.w * pixel, pixel};
  const TensorView view{layout, strides, shape.n, shape.c, shape.h, shape.w};
  const TensorView dense{Layout::kNhwc, nhwc, shape.n, shape.c, shape.h, shape.w};
  GuardedBuffer tensor(view.Span(), guard), scratch(dense.Span(), guard), back(view.Span(), guard);
  testing::FillTensor(view, tensor.data(), testing::DataKind::kReal, 3);
  Result<Reorder> reorder = Reorder::Make(shape, layout, strides, nhwc);
  ASSERT_TRUE(reorder.ok()) << reorder.status().message();
  for (int part = 0; part < 3; ++part) {
    reorder->ToNhwc(tensor.data(), scratch.data(), SplitRange(reorder->units(), 3, part));
  }
  testing::ForEachElement(dense, [&](int64_t n, int64_t c, int64_t h, int64_t w, int64_t offset) {
    ASSERT_EQ(scratch[offset], tensor[Offset(strides, layout, n, c, h, w)]);
  });
  for (int part = 0; part < 3; ++part) {
    reorder->FromNhwc(scratch.data(), back.data(), SplitRange(reorder->units(), 3, part));
  }
  testing::ForEachElement(view, [&](int64_t, int64_t, int64_t, int64_t, int64_t offset) {
    ASSERT_EQ(back[offset], tensor[offset]);
  });
  EXPECT_TRUE(scratch.SlackIntact());
  EXPECT_TRUE(back.SlackIntact());
}

TEST(Reorder, RoundTripsEveryTail) {
  if (testing::TestedIsas().empty()) GTEST_SKIP() << "needs AVX2";
  for (const Layout layout : {Layout::kNchw, Layout::kNchw8c, Layout::kNchw16c}) {
    for (const Guard guard : {Guard::kAtEnd, Guard::kAtStart}) {
      for (int64_t c = 1; c <= 18; ++c) {
        for (int64_t w = 1; w <= 17; ++w) CheckRoundTrip(layout, {2, c, 3, w}, c % 3, guard);
      }
      CheckRoundTrip(layout, {1, 133, 20, 30}, 0, guard);  // several pieces of pixels and channels
    }
  }
}

TEST(Reorder, MissingLanesOfTheLastBlockBecomeZero) {
  if (testing::TestedIsas().empty()) GTEST_SKIP() << "needs AVX2";
  const Shape shape{1, 11, 1, 4};
  const Strides strides = DenseStrides(Layout::kNchw8c, 11, 1, 4);
  const Strides nhwc = DenseStrides(Layout::kNhwc, 11, 1, 4);
  std::vector<float> src(44, 1.0f), dst(64, 5.0f);
  Result<Reorder> reorder = Reorder::Make(shape, Layout::kNchw8c, strides, nhwc);
  ASSERT_TRUE(reorder.ok());
  reorder->FromNhwc(src.data(), dst.data(), {0, reorder->units()});
  for (int64_t x = 0; x < 4; ++x) {
    for (int64_t lane = 0; lane < 8; ++lane) EXPECT_EQ(dst[32 + x * 8 + lane], lane < 3 ? 1.0f : 0.0f);
  }
}

}  // namespace
}  // namespace rafter::reorder
