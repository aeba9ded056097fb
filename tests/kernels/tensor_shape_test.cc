// Strides, spans, and the exact test for shared memory against a brute-force one.
#include "kernels/tensor_shape.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_tensor.h"

namespace rafter {
namespace {

std::set<int64_t> ElementsOf(const TensorPlace& p, const float* base) {
  std::set<int64_t> elements;
  const int64_t lanes = BlocksOf(p.layout, p.shape.c) * ChannelBlock(p.layout);
  for (int64_t n = 0; n < p.shape.n; ++n) {
    for (int64_t c = 0; c < lanes; ++c) {
      for (int64_t h = 0; h < p.shape.h; ++h) {
        for (int64_t w = 0; w < p.shape.w; ++w) {
          elements.insert(p.data - base + Offset(p.strides, p.layout, n, c, h, w));
        }
      }
    }
  }
  return elements;
}

Overlap BruteForce(const TensorPlace& a, const TensorPlace& b, const float* base) {
  const std::set<int64_t> in_a = ElementsOf(a, base), in_b = ElementsOf(b, base);
  for (const int64_t element : in_a) {
    if (in_b.count(element) != 0) {
      return a.data == b.data && a.shape == b.shape && a.strides == b.strides ? Overlap::kSame : Overlap::kPartial;
    }
  }
  return Overlap::kNone;
}

// Two windows of one big tensor: the cases of slices that interleave.
TEST(TensorShape, OverlapOfSlicesIsExact) {
  static float base[1 << 14];
  testing::Random random(7);
  int none = 0, partial = 0, same = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Layout layout = static_cast<Layout>(random.Between(0, 3));
    const int64_t block = ChannelBlock(layout);
    const TensorShape whole{2, 3 * block, random.Between(1, 4), random.Between(1, 5)};
    const Strides strides = DenseStrides(layout, whole.c, whole.h, whole.w);
    const auto window = [&] {
      const int64_t n = random.Between(0, 1), c = random.Between(0, 2) * block, h = random.Between(0, whole.h - 1),
                    w = random.Between(0, whole.w - 1);
      const TensorShape shape{random.Between(1, 2 - n), random.Between(1, whole.c - c),
                              random.Between(1, whole.h - h), random.Between(1, whole.w - w)};
      return TensorPlace{base + Offset(strides, layout, n, c, h, w), layout,
                         WithDenseSingles(layout, strides, shape), shape};
    };
    const TensorPlace a = window(), b = random.Between(0, 9) == 0 ? a : window();
    const Overlap got = OverlapOf(a, b);
    ASSERT_EQ(got, BruteForce(a, b, base)) << trial;
    ASSERT_EQ(got, OverlapOf(b, a)) << trial;
    none += got == Overlap::kNone, partial += got == Overlap::kPartial, same += got == Overlap::kSame;
  }
  EXPECT_GT(none, 500);
  EXPECT_GT(partial, 500);
  EXPECT_GT(same, 100);
}

TEST(TensorShape, OtherLayoutsInOneRangeArePartial) {
  float data[64] = {};
  const TensorShape shape{1, 4, 2, 2};
  const TensorPlace nhwc{data, Layout::kNhwc, DenseStrides(Layout::kNhwc, 4, 2, 2), shape};
  const TensorPlace nchw{data, Layout::kNchw, DenseStrides(Layout::kNchw, 4, 2, 2), shape};
  EXPECT_EQ(OverlapOf(nhwc, nchw), Overlap::kPartial);
  TensorPlace behind = nchw;
  behind.data = data + 16;
  EXPECT_EQ(OverlapOf(nhwc, behind), Overlap::kNone);
  behind.data = data + 15;
  EXPECT_EQ(OverlapOf(nhwc, behind), Overlap::kPartial);
  TensorPlace empty = nhwc;
  empty.shape.n = 0;
  EXPECT_EQ(OverlapOf(nhwc, empty), Overlap::kNone);
  EXPECT_EQ(SpanOf(empty), 0);
  EXPECT_EQ(SpanOf(nhwc), 16);
}

}  // namespace
}  // namespace rafter
