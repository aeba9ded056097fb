// tests/kernels/conv/problem_test.cc: what descriptions are refused with which words, derived
// sizes, taps.
#include "kernels/conv/problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random_tensor.h"

namespace rafter {
namespace {

using testing::Random;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

ConvDesc Plain() {
  return {
      .n = 2, .groups = 2, .ic = 8, .oc = 12, .in = {9, 11}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
}

PostOp OfKind(int kind) {
  PostOp op;
  op.kind = static_cast<PostOpKind>(kind);
  return op;
}

// The message of the error after `change`; empty when the description is accepted.
std::string Refusal(const std::function<void(ConvDesc&)>& change) {
  ConvDesc desc = Plain();
  change(desc);
  const auto problem = Validate(desc);
  if (problem.ok()) return {};
  EXPECT_EQ(problem.status().code(), StatusCode::kInvalidArgument);
  return std::string(problem.status().message());
}

#define EXPECT_REFUSED(change, words)                                                      \
  do {                                                                                     \
    const std::string message = Refusal([](ConvDesc& d) { change; });                      \
    EXPECT_NE(message.find(words), std::string::npos) << #change << " gives: " << message; \
  } while (false)
#define EXPECT_ACCEPTED(change) EXPECT_EQ(Refusal([](ConvDesc& d) { change; }), "") << #change

TEST(Validate, DerivesSizes) {
  const auto problem = Validate(Plain());
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->ic_g, 4);
  EXPECT_EQ(problem->oc_g, 6);
  EXPECT_EQ(problem->oh, 9);
  EXPECT_EQ(problem->ow, 11);
  EXPECT_EQ(problem->src, (Strides{.n = 9 * 11 * 8, .c = 1, .h = 11 * 8, .w = 8}));
  EXPECT_EQ(problem->dst, (Strides{.n = 9 * 11 * 12, .c = 1, .h = 11 * 12, .w = 12}));
}

TEST(Validate, OutputSizes) {
  struct Row {
    Size2 in, kernel, stride, dilation;
    Padding pad;
    Size2 out;
  };
  const Row rows[] = {
      // SAME_UPPER at stride 2 is ceil(in / stride).
      {{7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {4, 3}},
      // Pads of rows only.
      {{7, 5}, {3, 3}, {2, 2}, {1, 1}, {1, 0, 1, 0}, {4, 2}},
      // TensorFlow's SAME puts the odd pixel at the end.
      {{6, 6}, {3, 3}, {2, 2}, {1, 1}, {0, 0, 1, 1}, {3, 3}},
      // 1x1 at stride 2 needs no padding although the window is smaller than the stride.
      {{5, 5}, {1, 1}, {2, 2}, {1, 1}, {}, {3, 3}},
      // Right padding wider than the left, kernel narrower than the stride.
      {{32, 64}, {2, 2}, {2, 1}, {1, 1}, {0, 0, 0, 1}, {16, 64}},
      {{32, 64}, {2, 4}, {2, 1}, {1, 1}, {0, 1, 0, 2}, {16, 64}},
      // A single pixel and only padding around it.
      {{1, 1}, {3, 3}, {2, 2}, {1, 1}, {1, 1, 1, 1}, {1, 1}},
      {{1, 1}, {125, 1}, {2, 1}, {1, 1}, {63, 0, 63, 0}, {2, 1}},
      {{1000, 1000}, {3, 3}, {1, 1}, {128, 128}, {128, 128, 128, 128}, {1000, 1000}},
      // Hopping over most of the image.
      {{100, 100}, {3, 3}, {40, 40}, {1, 1}, {}, {3, 3}},
  };
  for (const Row& row : rows) {
    const auto problem = Validate({.ic = 1,
                                   .oc = 1,
                                   .in = row.in,
                                   .kernel = row.kernel,
                                   .stride = row.stride,
                                   .dilation = row.dilation,
                                   .pad = row.pad});
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    EXPECT_EQ((Size2{problem->oh, problem->ow}), row.out) << row.in.h << "x" << row.in.w;
  }
}

TEST(Validate, ZeroImagesAreAccepted) {
  EXPECT_ACCEPTED(d.n = 0);
  const auto problem = Validate({.n = 0, .ic = 16, .oc = 8, .in = {8, 8}});
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->oh, 8);
}

TEST(Validate, RefusesSizes) {
  EXPECT_REFUSED(d.n = -1, "n: -1 is negative, allowed: 0 and above");
  EXPECT_REFUSED(d.groups = 0, "groups: 0 is too small, allowed: 1 and above");
  EXPECT_REFUSED(d.groups = -2, "groups: -2");
  EXPECT_REFUSED(d.ic = 0, "ic: 0");
  EXPECT_REFUSED(d.oc = -4, "oc: -4");
  EXPECT_REFUSED(d.in.h = 0, "in.h: 0");
  EXPECT_REFUSED(d.in.w = -1, "in.w: -1");
  EXPECT_REFUSED(d.kernel.h = 0, "kernel.h: 0");
  EXPECT_REFUSED(d.kernel.w = -3, "kernel.w: -3");
  EXPECT_REFUSED(d.stride.h = 0, "stride.h: 0");
  EXPECT_REFUSED(d.stride.w = -1, "stride.w: -1");
  EXPECT_REFUSED(d.dilation.h = 0, "dilation.h (1 = dense): 0");
  EXPECT_REFUSED(d.dilation.w = -1, "dilation.w (1 = dense): -1");
  EXPECT_REFUSED(d.pad.top = -1, "pad.top: -1 is negative, allowed: 0 and above");
  EXPECT_REFUSED(d.pad.left = -1, "pad.left: -1");
  EXPECT_REFUSED(d.pad.bottom = -1, "pad.bottom: -1");
  EXPECT_REFUSED(d.pad.right = -1, "pad.right: -1");
}

TEST(Validate, RefusesGroups) {
  EXPECT_REFUSED(d.ic = 7, "ic: 7 is not divisible by groups = 2");
  EXPECT_REFUSED(d.oc = 5, "oc: 5 is not divisible by groups = 2");
}

TEST(Validate, RefusesUnknownEnums) {
  EXPECT_REFUSED(d.type = static_cast<DataType>(9), "type: 9 is unknown");
  EXPECT_REFUSED(d.src.layout = static_cast<Layout>(4), "src.layout: 4 is unknown");
  EXPECT_REFUSED(d.dst.layout = static_cast<Layout>(-1), "dst.layout: -1 is unknown");
}

TEST(Validate, RefusesKernelsBeyondThePaddedInput) {
  EXPECT_REFUSED((d.in = {3, 3}, d.kernel = {5, 5}, d.pad = {}),
                 "kernel.h: 5 with dilation.h = 1 covers 5, more than the padded input of 3");
  EXPECT_REFUSED((d.dilation.w = 7), "kernel.w: 3 with dilation.w = 7 covers 15");
  EXPECT_REFUSED((d.dilation.h = kHuge), "kernel.h: 3 times dilation.h");
  EXPECT_ACCEPTED((d.in = {3, 3}, d.kernel = {5, 5}));
}

TEST(Validate, RefusesWhatOverflows) {
  EXPECT_REFUSED(d.pad.top = kHuge, "in.h: 9 plus its padding is beyond 64 bits");
  EXPECT_REFUSED((d.in.h = int64_t{1} << 58), "src: ");
  EXPECT_REFUSED((d.n = int64_t{1} << 55), "src: ");
  EXPECT_REFUSED((d.oc = int64_t{1} << 57), "weights: ");
  EXPECT_REFUSED((d.ic = kHuge - 1), "weights: ");
  EXPECT_REFUSED((d.groups = 1, d.ic = kHuge / 4, d.oc = 1, d.kernel = {1, 1}), "weights: ");
  EXPECT_REFUSED((d.pad.bottom = kHuge / 4), "dst: ");
  EXPECT_REFUSED((d.kernel.w = kHuge), "kernel.w: ");
  // Numbers of a fuzzer's report: large, but nothing overflows.
  EXPECT_ACCEPTED((d.stride = {498444555, 498444555}, d.pad.top = 1610637938));
}

TEST(Validate, OneDimensionalHugeDilation) {
  // dilation 2^31 on a row of 10 is refused, not wrapped to a negative number.
  const auto problem = Validate({.n = 10,
                                 .ic = 10,
                                 .oc = 2,
                                 .in = {1, 9},
                                 .kernel = {1, 9},
                                 .dilation = {1, int64_t{1} << 31},
                                 .pad = {0, 4, 0, 4}});
  ASSERT_FALSE(problem.ok());
  EXPECT_NE(problem.status().message().find("kernel.w: 9"), std::string::npos);
}

TEST(Validate, AcceptsSlices) {
  // 256 of 768 channels of a concatenation.
  EXPECT_ACCEPTED((d.dst.strides = Strides{.n = 9 * 11 * 768, .c = 1, .h = 11 * 768, .w = 768}));
  // Rows and columns in exchanged order do not overlap either.
  EXPECT_ACCEPTED((d.src.strides = Strides{.n = 9 * 11 * 8, .c = 1, .h = 8, .w = 9 * 8}));
  EXPECT_ACCEPTED((d.src.layout = Layout::kNchw,
                   d.src.strides = Strides{.n = 8000, .c = 1000, .h = 100, .w = 1}));
  EXPECT_ACCEPTED((d.dst.layout = Layout::kNchw8c,
                   d.dst.strides = Strides{.n = 16000, .c = 8000, .h = 8 * 11, .w = 8}));
}

TEST(Validate, DimensionsOfOneElementMayHaveAnyStride) {
  ConvDesc desc{.n = 1, .ic = 1, .oc = 4, .in = {1, 6}};
  desc.src.strides = Strides{.n = -5, .c = 0, .h = kHuge, .w = 1};
  const auto problem = Validate(desc);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  // They are replaced by dense ones, so that no later product overflows.
  EXPECT_EQ(problem->src, (Strides{.n = 6, .c = 1, .h = 6, .w = 1}));
}

TEST(Validate, RefusesStrides) {
  const auto src = [](Layout layout, Strides strides) {
    return Refusal([&](ConvDesc& d) { d.src = {layout, strides}; });
  };
  EXPECT_EQ(src(Layout::kNhwc, {.n = 9 * 11 * 8, .c = 2, .h = 11 * 8, .w = 8}),
            "src.strides.c: 2 is not allowed in NHWC: 1 (channels are contiguous)");
  EXPECT_EQ(src(Layout::kNchw, {.n = 9000, .c = 1000, .h = 100, .w = 2}),
            "src.strides.w: 2 is not allowed in NCHW: 1 (columns are contiguous)");
  EXPECT_EQ(src(Layout::kNhwc, {.n = 9 * 11 * 8, .c = 1, .h = 11 * 8, .w = 7}),
            "src.strides.w: 7 makes elements overlap, allowed: 8 and above");
  EXPECT_EQ(src(Layout::kNhwc, {.n = 9 * 11 * 8, .c = 1, .h = 11 * 8 - 1, .w = 8}),
            "src.strides.h: 87 makes elements overlap, allowed: 88 and above");
  EXPECT_EQ(src(Layout::kNhwc, {.n = 0, .c = 1, .h = 11 * 8, .w = 8}),
            "src.strides.n: 0 is too small, allowed: 1 and above");
  EXPECT_EQ(src(Layout::kNhwc, {.n = 9 * 11 * 8, .c = 1, .h = -88, .w = 8}),
            "src.strides.h: -88 is too small, allowed: 1 and above");
  EXPECT_EQ(src(Layout::kNchw16c, {.n = 9 * 11 * 16, .c = 1, .h = 11 * 16, .w = 8}),
            "src.strides.w: 8 makes elements overlap, allowed: 16 and above");
  EXPECT_EQ(src(Layout::kNhwc, {.n = kHuge / 4, .c = 1, .h = 11 * 8, .w = 8}),
            "src.strides.n: 2305843009213693951 puts the last element beyond 64-bit byte offsets");
  EXPECT_NE(src(Layout::kNhwc, {.n = 792, .c = 1, .h = kHuge - 3, .w = 8}), "");
}

TEST(Validate, RefusesPostOps) {
  EXPECT_REFUSED(d.post_ops = PostOps(9), "post_ops: 9 operations, allowed: up to 8");
  EXPECT_ACCEPTED(d.post_ops = PostOps(8));
  EXPECT_REFUSED(d.post_ops = {OfKind(0)}, "post_ops[0].kind: 0 is unknown");
  EXPECT_REFUSED(d.post_ops = {OfKind(13)}, "post_ops[0].kind: 13");
  EXPECT_REFUSED((d.post_ops = {PostOp::Relu(), PostOp::Clip(2, 1)}), "post_ops[1].alpha: 2.0");
  EXPECT_REFUSED((d.post_ops = {PostOp::Clip(0, std::numeric_limits<float>::infinity())}),
                 "post_ops[0].beta: inf is not finite");
  EXPECT_REFUSED((d.post_ops = {PostOp::Clip(std::numeric_limits<float>::quiet_NaN(), 1)}),
                 "post_ops[0].alpha");
  EXPECT_REFUSED((d.post_ops = {PostOp::LeakyRelu(std::numeric_limits<float>::infinity())}),
                 "post_ops[0].alpha");
  EXPECT_REFUSED((d.post_ops = {PostOp::ChannelScale({1, 2, 3})}),
                 "post_ops[0].scale: 3 values, allowed: one per output channel, 12");
  EXPECT_ACCEPTED((d.post_ops = {PostOp::ChannelScale(std::vector<float>(12, 2))}));
  EXPECT_REFUSED((d.post_ops = {PostOp::ResidualAdd({.n = 1, .c = 1, .h = 11 * 12, .w = 12})}),
                 "post_ops[0].residual.strides.");
  EXPECT_ACCEPTED((d.post_ops = {PostOp::ResidualAdd({.n = 9999, .c = 1, .h = 11 * 99, .w = 99})}));
}

TEST(ResidualStrides, DefaultToTheDestination) {
  ConvDesc desc = Plain();
  desc.n = 1;
  desc.dst.strides = Strides{.n = 0, .c = 1, .h = 11 * 32, .w = 32};
  desc.post_ops = {PostOp::ResidualAdd(),
                   PostOp::ResidualAdd({.n = -1, .c = 1, .h = 11 * 64, .w = 64})};
  const auto problem = Validate(desc);
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(ResidualStrides(*problem, desc.post_ops[0]), problem->dst);
  EXPECT_EQ(ResidualStrides(*problem, desc.post_ops[1]),
            (Strides{.n = 9 * 11 * 12, .c = 1, .h = 11 * 64, .w = 64}));
}

TEST(DenseStrides, OfEveryLayout) {
  EXPECT_EQ(DenseStrides(Layout::kNhwc, 20, 5, 7), (Strides{.n = 700, .c = 1, .h = 140, .w = 20}));
  EXPECT_EQ(DenseStrides(Layout::kNchw, 20, 5, 7), (Strides{.n = 700, .c = 35, .h = 7, .w = 1}));
  EXPECT_EQ(DenseStrides(Layout::kNchw16c, 20, 5, 7),
            (Strides{.n = 1120, .c = 560, .h = 112, .w = 16}));
  EXPECT_EQ(DenseStrides(Layout::kNchw8c, 20, 5, 7),
            (Strides{.n = 840, .c = 280, .h = 56, .w = 8}));
  EXPECT_EQ(Offset(DenseStrides(Layout::kNchw16c, 20, 5, 7), Layout::kNchw16c, 1, 17, 2, 3),
            1120 + 560 + 1 + 2 * 112 + 3 * 16);
}

TEST(ValidTaps, AgreesWithASearch) {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    const int64_t in = random.Between(1, 12), kernel = random.Between(1, 7);
    const int64_t stride = random.Between(1, 5), dilation = random.Between(1, 5);
    const int64_t pad = random.Between(0, 20), out = random.Between(0, 12);
    TapRange want;
    for (int64_t tap = kernel - 1; tap >= 0; --tap) {
      const int64_t position = out * stride - pad + tap * dilation;
      if (position < 0 || position >= in) continue;
      if (want.end == 0) want.end = tap + 1;
      want.begin = tap;
    }
    EXPECT_EQ(ValidTaps(out, in, kernel, stride, dilation, pad), want)
        << out << " " << in << " " << kernel << " " << stride << " " << dilation << " " << pad;
  }
}

TEST(ValidTaps, HugeNumbers) {
  EXPECT_EQ(ValidTaps(0, kHuge, kHuge, 1, 1, 0), (TapRange{0, kHuge}));
  EXPECT_EQ(ValidTaps(0, 1, kHuge, 1, 1, kHuge), (TapRange{0, 0}));
  EXPECT_EQ(ValidTaps(0, 10, 5, 1, kHuge, 5), (TapRange{}));
  EXPECT_EQ(ValidTaps(kHuge, 10, 5, kHuge, 1, 5), (TapRange{}));
}

}  // namespace
}  // namespace rafter
