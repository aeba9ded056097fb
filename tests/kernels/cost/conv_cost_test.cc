// tests/kernels/cost/conv_cost_test.cc: the closed forms against loops over everything, and known
// figures.
#include "kernels/cost/conv_cost.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "tests/support/random_desc.h"

namespace rafter {
namespace {

using testing::Random;
using testing::RandomDesc;
using testing::RandomDescLimits;

AxisCounts CountBySearch(const AxisShape& axis) {
  AxisCounts counts;
  std::set<int64_t> taps, inputs;
  for (int64_t out = 0; out < axis.out; ++out) {
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      const int64_t in = out * axis.stride + tap * axis.dilation - axis.pad_begin;
      if (in < 0 || in >= axis.in) continue;
      counts.pairs += 1;
      taps.insert(tap);
      inputs.insert(in);
    }
  }
  counts.taps_used = static_cast<int64_t>(taps.size());
  counts.inputs_used = static_cast<int64_t>(inputs.size());
  return counts;
}

TEST(CountAxis, AgreesWithASearch) {
  Random random(3);
  for (int i = 0; i < 30000; ++i) {
    AxisShape axis;
    axis.in = random.Between(1, 30);
    axis.kernel = random.Between(1, 12);
    axis.stride = random.Between(1, 9);
    axis.dilation = random.Between(1, 9);
    axis.pad_begin = random.Between(0, 25);
    const int64_t room =
        axis.in + axis.pad_begin + random.Between(0, 25) - axis.dilation * (axis.kernel - 1) - 1;
    if (room < 0) continue;
    axis.out = room / axis.stride + 1;
    const AxisCounts got = CountAxis(axis), want = CountBySearch(axis);
    ASSERT_EQ(got.pairs, want.pairs) << i;
    ASSERT_EQ(got.taps_used, want.taps_used) << i;
    ASSERT_EQ(got.inputs_used, want.inputs_used) << i;
  }
}

// Loops over all outputs and taps in two dimensions at once.
ConvCost CostBySearch(const ConvProblem& problem) {
  const ConvDesc& desc = problem.desc;
  ConvCost cost;
  std::set<int64_t> pixels, taps;
  for (int64_t oh = 0; oh < problem.oh; ++oh) {
    for (int64_t ow = 0; ow < problem.ow; ++ow) {
      for (int64_t kh = 0; kh < desc.kernel.h; ++kh) {
        for (int64_t kw = 0; kw < desc.kernel.w; ++kw) {
          const int64_t ih = oh * desc.stride.h - desc.pad.top + kh * desc.dilation.h;
          const int64_t iw = ow * desc.stride.w - desc.pad.left + kw * desc.dilation.w;
          if (ih < 0 || ih >= desc.in.h || iw < 0 || iw >= desc.in.w) continue;
          cost.macs_valid += static_cast<double>(desc.n * desc.oc * problem.ic_g);
          pixels.insert(ih * desc.in.w + iw);
          taps.insert(kh * desc.kernel.w + kw);
        }
      }
    }
  }
  cost.flops_valid = 2 * cost.macs_valid;
  cost.src_bytes = 4.0 * static_cast<double>(desc.n * desc.ic) * static_cast<double>(pixels.size());
  cost.weights_bytes =
      4.0 * (static_cast<double>(desc.oc * problem.ic_g) * static_cast<double>(taps.size()) +
             (desc.bias ? static_cast<double>(desc.oc) : 0));
  return cost;
}

TEST(CostOf, AgreesWithASearch) {
  Random random(11);
  RandomDescLimits limits;
  limits.max_image = 20;
  for (int i = 0; i < 300; ++i) {
    const ConvDesc desc = RandomDesc(random, limits);
    const auto problem = Validate(desc);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    const auto got = CostOf(desc);
    ASSERT_TRUE(got.ok());
    const ConvCost want = CostBySearch(*problem);
    ASSERT_EQ(got->flops_valid, want.flops_valid) << i;
    ASSERT_EQ(got->macs_valid, want.macs_valid) << i;
    ASSERT_EQ(got->src_bytes, want.src_bytes) << i;
    ASSERT_EQ(got->weights_bytes, want.weights_bytes) << i;
    const auto outputs = static_cast<double>(desc.n * desc.oc * problem->oh * problem->ow);
    ASSERT_EQ(got->dst_bytes, 4 * outputs);
    ASSERT_EQ(got->flops_extra,
              outputs * (static_cast<double>(desc.post_ops.size()) + (desc.bias ? 1 : 0)));
    ASSERT_EQ(got->bytes,
              got->src_bytes + got->weights_bytes + got->dst_bytes + got->residual_bytes);
    ASSERT_GE(got->footprint_bytes, got->bytes);
  }
}

TEST(CostOf, KnownLayer) {
  // 64 channels of 56x56 by 3x3: the figures that papers print are nominal.
  const auto cost = CostOf({.ic = 64,
                            .oc = 64,
                            .in = {56, 56},
                            .kernel = {3, 3},
                            .pad = {1, 1, 1, 1},
                            .bias = true,
                            .post_ops = {PostOp::ResidualAdd(), PostOp::Relu()}});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->flops_nominal, 2.0 * 64 * 64 * 9 * 56 * 56);
  EXPECT_EQ(cost->flops_valid, 2.0 * 64 * 64 * (3 * 56 - 2) * (3 * 56 - 2));
  EXPECT_EQ(cost->flops_extra, 3.0 * 64 * 56 * 56);
  EXPECT_EQ(cost->parameters, 64 * 64 * 9 + 64);
  EXPECT_EQ(cost->src_bytes, 4.0 * 64 * 56 * 56);
  EXPECT_EQ(cost->residual_bytes, 4.0 * 64 * 56 * 56);
  EXPECT_EQ(cost->bytes, 4.0 * (3 * 64 * 56 * 56 + 64 * 64 * 9 + 64));
  EXPECT_EQ(cost->footprint_bytes, cost->bytes);
  EXPECT_DOUBLE_EQ(cost->intensity, cost->flops_valid / cost->bytes);
}

TEST(CostOf, PointwiseWithStrideReadsAQuarter) {
  const auto cost = CostOf({.ic = 8, .oc = 4, .in = {10, 10}, .stride = {2, 2}});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->src_bytes, 4.0 * 8 * 25);
  EXPECT_EQ(cost->footprint_bytes, 4.0 * (8 * 100 + 32 + 4 * 25));
}

TEST(CostOf, TapsThatNeverHitCostNothing) {
  // Every tap lies in the padding: the coordinate is odd, the image has one pixel at 0.
  const auto cost = CostOf({.n = 100,
                            .ic = 64,
                            .oc = 64,
                            .in = {1, 1},
                            .kernel = {1, 1},
                            .stride = {1, 2},
                            .pad = {0, 63, 0, 63}});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->flops_valid, 0);
  EXPECT_EQ(cost->src_bytes, 0);
  EXPECT_EQ(cost->weights_bytes, 0);
  EXPECT_EQ(cost->flops_nominal, 2.0 * 100 * 64 * 64 * 64);
  EXPECT_EQ(cost->intensity, 0);
}

TEST(CostOf, BlockedLayoutsOccupyWholeBlocks) {
  const ConvDesc desc{
      .ic = 17, .oc = 3, .in = {4, 4}, .src = {Layout::kNchw16c, {}}, .dst = {Layout::kNchw8c, {}}};
  const auto cost = CostOf(desc);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->src_bytes, 4.0 * 17 * 16);
  EXPECT_EQ(cost->footprint_bytes, 4.0 * (32 * 16 + 8 * 16 + 17 * 3));
}

TEST(CostOf, NoImages) {
  const auto cost = CostOf({.n = 0, .ic = 4, .oc = 4, .in = {5, 5}});
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->flops_valid, 0);
  EXPECT_EQ(cost->bytes, 0);
  EXPECT_EQ(cost->parameters, 16);
}

TEST(CostOf, AnswersForAnySizeAtOnce) {
  // A kernel of 2^40 taps over a row of 2^41: 2^40 + 1 outputs, every pair valid.
  const int64_t kernel = int64_t{1} << 40;
  const auto cost = CostOf({.ic = 1, .oc = 1, .in = {1, 2 * kernel}, .kernel = {1, kernel}});
  ASSERT_TRUE(cost.ok());
  EXPECT_DOUBLE_EQ(cost->macs_valid, 0x1p40 * (0x1p40 + 1));
  EXPECT_EQ(cost->src_bytes, 4 * 0x1p41);
  EXPECT_EQ(cost->weights_bytes, 4 * 0x1p40);
  // Coprime stride and dilation of a billion.
  EXPECT_TRUE(CostOf({.ic = 1,
                      .oc = 1,
                      .in = {1, int64_t{1} << 50},
                      .kernel = {1, 1 << 20},
                      .stride = {1, 1000000007},
                      .dilation = {1, 998244353}})
                  .ok());
}

TEST(CostOf, RefusesWhatCreateRefuses) {
  const auto cost = CostOf({.ic = 3, .oc = 0, .in = {5, 5}});
  ASSERT_FALSE(cost.ok());
  EXPECT_EQ(cost.status().code(), StatusCode::kInvalidArgument);
}

TEST(BoundTermsOf, SplitsLoadsAndStores) {
  const auto cost = CostOf({.ic = 8, .oc = 4, .in = {10, 10}, .post_ops = {PostOp::ResidualAdd()}});
  ASSERT_TRUE(cost.ok());
  const BoundTerms terms = BoundTermsOf(*cost);
  EXPECT_EQ(terms.flops, cost->flops_valid);
  EXPECT_EQ(terms.load_bytes + terms.store_bytes, cost->bytes);
  EXPECT_EQ(terms.store_bytes, cost->dst_bytes);
  EXPECT_EQ(terms.footprint_bytes, cost->footprint_bytes);
}

}  // namespace
}  // namespace rafter
