// Shapes in range that broke other libraries: each is computed, and right.
#include <gtest/gtest.h>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::testing {
namespace {

struct Axis {
  int64_t in, kernel, stride, dilation, pad_begin, pad_end;
};

ConvDesc Desc(int64_t n, int64_t groups, int64_t ic, int64_t oc, Axis h, Axis w) {
  ConvDesc desc;
  desc.n = n, desc.groups = groups, desc.ic = ic, desc.oc = oc;
  desc.in = {h.in, w.in}, desc.kernel = {h.kernel, w.kernel}, desc.stride = {h.stride, w.stride};
  desc.dilation = {h.dilation, w.dilation};
  desc.pad = {h.pad_begin, w.pad_begin, h.pad_end, w.pad_end};
  return desc;
}

// In every layout, on every instruction set, for several thread counts.
void Check(ConvDesc desc) {
  ForEachIsa([&](Isa) {
    for (const Layout layout :
         {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
      for (int threads : {1, 2, 5}) {
        desc.src.layout = desc.dst.layout = layout;
        ASSERT_TRUE(ConvTester(desc).Threads(threads).Run());
        desc.post_ops = {PostOp::Relu(), PostOp::HardSigmoid(0.5f, 0.25f)};
        ASSERT_TRUE(ConvTester(desc).Threads(threads).Run());
        if (layout == Layout::kNchw) {
          ASSERT_TRUE(ConvTester(desc).Algorithm("widthwise").Threads(threads).Run());
          ASSERT_TRUE(ConvTester(desc).Algorithm("gemm").Threads(threads).Run());
        }
        desc.post_ops.clear();
      }
    }
  });
}

TEST(HostileShapes, EveryTapInThePadding) {
  // Stride 2 and an odd padding: the only input pixel lies between the taps of every output.
  Check(Desc(3, 1, 64, 1, {1, 125, 2, 1, 63, 63}, {64, 1, 2, 1, 63, 63}));
  // Whole rows and columns of outputs beyond the image.
  Check(Desc(1, 1, 8, 8, {4, 3, 1, 1, 9, 9}, {4, 3, 1, 1, 9, 9}));
  // Dilation wider than the image: the middle tap only.
  Check(Desc(1, 1, 16, 16, {10, 3, 1, 12, 12, 12}, {10, 3, 1, 12, 12, 12}));
  Check(Desc(1, 1, 24, 24, {20, 3, 1, 128, 128, 128}, {20, 3, 1, 128, 128, 128}));
}

TEST(HostileShapes, PaddingAtLeastTheImage) {
  for (const int64_t pad : {1, 2, 3, 4, 5, 6, 7}) {
    Check(Desc(1, 1, 16, 16, {10, 5, 1, 1, pad, pad}, {10, 5, 1, 1, pad, pad}));
  }
  for (const int64_t in : {1, 3, 5}) {
    for (const int64_t kernel : {1, 3, 5, 7}) {
      const int64_t pad = 6;
      Check(Desc(1, 1, 5, 9, {in, kernel, 1, 1, pad, pad}, {in, kernel, 1, 1, pad, pad}));
    }
  }
}

// Tiles in the padding must not be listed before they are found to be too many.
TEST(HostileShapes, EndlessPaddingIsPlannedAtOnce) {
  for (const int64_t groups : {1, 8}) {
    for (const Padding& pad : {Padding{1, int64_t{1} << 40, 1, 1}, {1, 1, 1, int64_t{1} << 40}}) {
      ConvDesc desc;
      desc.groups = groups, desc.ic = desc.oc = 8, desc.in = {8, 8}, desc.kernel = {3, 3}, desc.pad = pad;
      EXPECT_TRUE(Conv::Create(desc, {.threads = 1}).ok()) << groups;  // minutes, were it not
    }
  }
}

TEST(HostileShapes, EndlessKernelsArePlannedAtOnce) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw8c}) {
    for (const int64_t groups : {1, 8}) {
      for (const bool wide : {false, true}) {
        constexpr int64_t kSize = 400'000'000;  // minutes and gigabytes, were it not
        ConvDesc desc;
        desc.groups = groups, desc.ic = desc.oc = 8, desc.in = {8, 8};
        desc.kernel = wide ? Size2{1, kSize} : Size2{kSize, 1};
        (wide ? desc.pad.right : desc.pad.bottom) = kSize;
        desc.src.layout = layout, desc.dst.layout = Layout::kNchw;
        EXPECT_TRUE(Conv::Create(desc, {.threads = 1}).ok()) << LayoutName(layout) << " " << groups << " " << wide;
      }
    }
  }
}

TEST(HostileShapes, StrideBeyondTheKernel) {
  Check(Desc(1, 1, 20, 20, {11, 1, 3, 1, 0, 0}, {11, 1, 3, 1, 0, 0}));
  Check(Desc(2, 1, 16, 30, {9, 2, 5, 1, 0, 0}, {9, 2, 4, 1, 1, 0}));
  Check(Desc(1, 1, 128, 40, {1, 3, 2, 1, 1, 1}, {1, 3, 2, 1, 1, 1}));  // one valid tap
}

TEST(HostileShapes, AsymmetricPaddingAndStrides) {
  Check(Desc(1, 1, 3, 8, {6, 3, 2, 1, 0, 1}, {6, 3, 2, 1, 0, 1}));  // SAME of TensorFlow
  Check(Desc(1, 1, 16, 16, {16, 3, 1, 1, 1, 0}, {16, 3, 1, 1, 0, 0}));
  Check(Desc(2, 1, 32, 32, {41, 10, 2, 1, 0, 0}, {29, 5, 1, 1, 0, 0}));
  Check(Desc(1, 1, 1, 1, {32, 2, 2, 1, 0, 0}, {64, 4, 1, 1, 1, 2}));
  Check(Desc(1, 1, 7, 3, {7, 5, 1, 1, 2, 2}, {5, 3, 2, 1, 4, 0}));
}

TEST(HostileShapes, OddChannelsAndGroups) {
  for (const int64_t ic : {19, 23, 29}) {
    for (const int64_t oc : {13, 31, 33, 65}) {
      Check(Desc(1, 1, ic, oc, {7, 3, 1, 1, 1, 1}, {13, 3, 1, 1, 1, 1}));
    }
  }
  Check(Desc(1, 4, 20, 20, {5, 3, 1, 1, 1, 1}, {5, 3, 1, 1, 1, 1}));
  Check(Desc(1, 67, 67 * 3, 67 * 2, {9, 2, 2, 1, 1, 1}, {12, 1, 13, 1, 14, 14}));
  Check(Desc(1, 32, 32, 32, {1, 1, 1, 1, 0, 0}, {32, 3, 1, 1, 1, 1}));       // depthwise, one row
  Check(Desc(1, 16, 48, 48, {1, 1, 1, 1, 0, 0}, {40, 128, 1, 1, 64, 64}));   // a long 1-D kernel
}

TEST(HostileShapes, OneDimensionalInEitherDirection) {
  Check(Desc(1, 1, 40, 40, {1, 1, 1, 1, 0, 0}, {300, 5, 1, 1, 2, 2}));
  Check(Desc(1, 1, 40, 40, {300, 5, 1, 1, 2, 2}, {1, 1, 1, 1, 0, 0}));
  Check(Desc(1, 1, 1, 20, {1, 1, 1, 1, 0, 0}, {4000, 251, 5, 1, 0, 0}));
  Check(Desc(1, 1, 4, 6, {1, 1, 1, 1, 0, 0}, {1000, 17, 1, 40, 300, 340}));
}

TEST(HostileShapes, ManyStretches) {  // rows that are cut into several stretches, with edges in several of them
  Check(Desc(1, 1, 3, 5, {2, 1, 1, 1, 0, 0}, {700, 3, 1, 200, 200, 200}));
  Check(Desc(2, 1, 9, 17, {1, 1, 1, 1, 0, 0}, {997, 1, 1, 1, 0, 0}));
}

TEST(HostileShapes, NoImagesIsNoWork) {
  ConvDesc desc = Desc(0, 1, 16, 8, {8, 3, 1, 1, 1, 1}, {8, 3, 1, 1, 1, 1});
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
    desc.src.layout = desc.dst.layout = layout;
    Result<Conv> conv = Conv::Create(desc);
    ASSERT_TRUE(conv.ok()) << conv.status().message();
    std::vector<float> weights(16 * 8 * 9, 1.0f);
    Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
    ASSERT_TRUE(packed.ok());
    float nothing = 0;
    EXPECT_TRUE(conv->Run(&nothing, *packed, &nothing).ok());
  }
}

}  // namespace
}  // namespace rafter::testing
