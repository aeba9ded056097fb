// tests/kernels/conv/reference_test.cc: the oracle against numbers worked out by hand, and its plan
// against the oracle in every layout. Everything else is compared with this.
#include "kernels/conv/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "rafter/conv.h"
#include "rafter/threads.h"
#include "tests/support/conv_tester.h"
#include "tests/support/random_desc.h"

namespace rafter {
namespace {

using testing::ConvTester;
using testing::DataKind;
using testing::Random;
using testing::RandomDesc;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Runs the reference on dense data and returns dst.
std::vector<float> Reference(const ConvDesc& desc, const std::vector<float>& src,
                             const std::vector<float>& weights, const std::vector<float>& bias = {},
                             const std::vector<const float*>& residuals = {}) {
  const auto conv = Conv::Create(desc, {.threads = 1, .algorithm = "reference"});
  EXPECT_TRUE(conv.ok()) << conv.status().message();
  if (!conv.ok()) return {};
  const auto packed = conv->PackWeights(weights.data(), bias.empty() ? nullptr : bias.data());
  const Size2 out = conv->output_size();
  const int64_t block = ChannelBlock(desc.dst.layout);
  std::vector<float> dst(
      static_cast<size_t>(desc.n * (desc.oc + block - 1) / block * block * out.h * out.w), -777.0f);
  RunOptions options;
  options.residuals = residuals;
  const Status status = conv->Run(src.data(), *packed, dst.data(), options);
  EXPECT_TRUE(status.ok()) << status.message();
  return dst;
}

std::vector<float> Counting(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(Reference, ThreeByThreeByHand) {
  // Rows 123 / 456 / 789; a cross-correlation does not flip the kernel.
  const ConvDesc desc{.ic = 1, .oc = 1, .in = {3, 3}, .kernel = {2, 2}};
  EXPECT_EQ(Reference(desc, Counting(9), {1, 10, 100, 1000}),
            (std::vector<float>{5421, 6532, 8754, 9865}));
}

TEST(Reference, PaddingCountsAsZero) {
  const ConvDesc desc{.ic = 1, .oc = 1, .in = {2, 2}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  EXPECT_EQ(Reference(desc, {1, 2, 3, 4}, std::vector<float>(9, 1)),
            (std::vector<float>{10, 10, 10, 10}));
  ConvDesc uneven = desc;
  uneven.pad = {2, 0, 0, 1};  // top, left, bottom, right
  EXPECT_EQ(Reference(uneven, {1, 2, 3, 4}, std::vector<float>(9, 1)), (std::vector<float>{3, 10}));
}

TEST(Reference, StridesDilationGroups) {
  ConvDesc desc{.groups = 2,
                .ic = 2,
                .oc = 4,
                .in = {1, 5},
                .kernel = {1, 2},
                .stride = {1, 2},
                .dilation = {1, 2}};
  // NHWC: channel 0 holds 1 3 5 7 9, channel 1 holds 2 4 6 8 10.
  EXPECT_EQ(Reference(desc, Counting(10), {1, 10, 2, 20, 3, 30, 4, 40}, {100, 200, 300, 400}),
            (std::vector<float>{151, 302, 300 + 186.0f, 400 + 248.0f,  // 1 + 50, 2 * that; 2 and 6
                                195, 390, 300 + 318.0f, 400 + 424.0f}));  // 5 and 9; 6 and 10
}

TEST(Reference, AllOnesGiveTheNumberOfTaps) {
  // 1x3x64x64 of ones by 5x5 of ones: 75 inside.
  const ConvDesc desc{.ic = 3, .oc = 8, .in = {64, 64}, .kernel = {5, 5}};
  for (const float value :
       Reference(desc, std::vector<float>(3 * 64 * 64, 1), std::vector<float>(8 * 75, 1))) {
    ASSERT_EQ(value, 75);
  }
}

TEST(Reference, OnlyPaddingGivesBiasThenPostOps) {
  // Kernel of 125 rows and stride 2 over a single pixel: out column c reads 2c - 63, never 0.
  ConvDesc desc{.ic = 2,
                .oc = 2,
                .in = {1, 1},
                .kernel = {1, 1},
                .stride = {1, 2},
                .pad = {0, 63, 0, 63},
                .post_ops = {PostOp::Relu()}};
  const auto dst = Reference(desc, {kNaN, kNaN}, {1, 1, 1, 1}, {5, -5});
  ASSERT_EQ(dst.size(), 128u);
  for (size_t i = 0; i < dst.size(); ++i) EXPECT_EQ(dst[i], i % 2 == 0 ? 5 : 0);
}

TEST(Reference, OneValidTap) {
  const ConvDesc desc{
      .ic = 1, .oc = 1, .in = {1, 1}, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1, 1, 1}};
  EXPECT_EQ(Reference(desc, {3}, Counting(9)), std::vector<float>{15});
}

TEST(Reference, NanComesFromRealTapsOnly) {
  // A causal row: two columns of padding in front, NaN in the first two inputs.
  const ConvDesc desc{.ic = 1, .oc = 1, .in = {1, 6}, .kernel = {1, 3}, .pad = {0, 2, 0, 0}};
  const auto dst = Reference(desc, {kNaN, kNaN, 1, 1, 1, 1}, {0, 0, 1});
  EXPECT_TRUE(std::isnan(dst[0]) && std::isnan(dst[1]) && std::isnan(dst[2]) && std::isnan(dst[3]));
  EXPECT_EQ(dst[4], 1);
  EXPECT_EQ(dst[5], 1);
}

TEST(Reference, LanesBehindTheLastChannelAreZeroAndNeverRead) {
  ConvDesc desc{
      .ic = 3, .oc = 2, .in = {1, 1}, .src = {Layout::kNchw8c, {}}, .dst = {Layout::kNchw16c, {}}};
  const std::vector<float> src{1, 2, 3, kNaN, kInf, kNaN, kNaN, kNaN};
  const auto dst = Reference(desc, src, {1, 1, 1, 1, 10, 100});
  ASSERT_EQ(dst.size(), 16u);
  EXPECT_EQ(dst[0], 6);
  EXPECT_EQ(dst[1], 321);
  for (size_t lane = 2; lane < 16; ++lane) EXPECT_EQ(dst[lane], 0);
}

TEST(ApplyPostOp, Formulas) {
  const auto apply = [](const PostOp& op, double x) { return reference::ApplyPostOp(op, x, 1, 7); };
  EXPECT_EQ(apply(PostOp::Relu(), -2), 0);
  EXPECT_EQ(apply(PostOp::Relu(), 3), 3);
  EXPECT_EQ(apply(PostOp::LeakyRelu(0.5f), -2), -1);
  EXPECT_EQ(apply(PostOp::Clip(0, 6), 8), 6);
  EXPECT_EQ(apply(PostOp::Clip(0, 6), -8), 0);
  EXPECT_EQ(apply(PostOp::HardSwish(), 3), 3);
  EXPECT_EQ(apply(PostOp::HardSwish(), -3), 0);
  EXPECT_DOUBLE_EQ(apply(PostOp::HardSwish(), 1), 2.0 / 3);
  EXPECT_NEAR(apply(PostOp::HardSigmoid(), 1), 0.7, 1e-7);
  EXPECT_EQ(apply(PostOp::HardSigmoid(), 10), 1);
  EXPECT_EQ(apply(PostOp::Sigmoid(), 0), 0.5);
  EXPECT_NEAR(apply(PostOp::Sigmoid(), 2), 0.8807970779778823, 1e-15);
  EXPECT_NEAR(apply(PostOp::Swish(), 2), 1.7615941559557646, 1e-15);
  EXPECT_NEAR(apply(PostOp::Swish(2), 1), 0.8807970779778823, 1e-15);
  EXPECT_NEAR(apply(PostOp::Tanh(), 0.5), 0.46211715726000973, 1e-15);
  EXPECT_NEAR(apply(PostOp::Gelu(), 1), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(apply(PostOp::Elu(2), -1), -1.2642411176571153, 1e-15);
  EXPECT_EQ(apply(PostOp::ResidualAdd(), 1), 8);
  EXPECT_EQ(apply(PostOp::ChannelScale({2, 3}), 5), 15);
}

TEST(ApplyPostOp, NanPassesThrough) {
  for (int kind = 1; kind <= 12; ++kind) {
    PostOp op;
    op.kind = static_cast<PostOpKind>(kind);
    op.beta = 6;
    op.scale = {1};
    EXPECT_TRUE(std::isnan(reference::ApplyPostOp(op, std::nan(""), 0, 1))) << PostOpName(op.kind);
  }
}

TEST(Reference, PostOpsRunInTheOrderGiven) {
  ConvDesc desc{.ic = 1, .oc = 1, .in = {1, 1}};
  const float residual = -4;
  desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
  EXPECT_EQ(Reference(desc, {3}, {1}, {}, {&residual}), std::vector<float>{0});
  desc.post_ops = {PostOp::Relu(), PostOp::ResidualAdd()};
  EXPECT_EQ(Reference(desc, {3}, {1}, {}, {&residual}), std::vector<float>{-1});
  desc.post_ops = PostOps(8, PostOp::ResidualAdd());
  EXPECT_EQ(Reference(desc, {3}, {1}, {}, std::vector<const float*>(8, &residual)),
            std::vector<float>{3 - 32});
}

// The plan in all its variety, between guard pages.
TEST(ReferencePlan, RandomProblems) {
  Random random(21);
  for (int i = 0; i < 250; ++i) {
    const DataKind kinds[] = {DataKind::kInteger, DataKind::kReal, DataKind::kSpecials};
    ASSERT_TRUE(ConvTester(RandomDesc(random))
                    .Algorithm("reference")
                    .Data(kinds[i % 3])
                    .Threads(static_cast<int>(random.Between(1, 8)))
                    .Seed(static_cast<uint64_t>(i))
                    .Bias(i % 4 != 0)
                    .Run())
        << "case " << i;
  }
}

TEST(ReferencePlan, SameBitsForAnyThreadCountAndSplit) {
  ConvDesc desc{.n = 3, .ic = 20, .oc = 7, .in = {9, 9}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};
  const auto run = [&](int threads, ParallelFor* pool) {
    ConvTester tester(desc);
    EXPECT_TRUE(
        tester.Algorithm("reference").Data(DataKind::kReal).Threads(threads).Pool(pool).Run());
    return tester.output();
  };
  const auto one = run(1, nullptr);
  for (int threads = 2; threads <= 8; ++threads) {
    EXPECT_TRUE(testing::SameBits(one, run(threads, nullptr))) << threads;
  }
  const auto workers = WorkerPool::Create({.threads = 4});
  ASSERT_TRUE(workers.ok());
  EXPECT_TRUE(testing::SameBits(one, run(4, workers->get())));
  EXPECT_TRUE(testing::SameBits(one, run(4, OpenMpThreads())));
}

TEST(ReferencePlan, ResidualInPlace) {
  EXPECT_TRUE(ConvTester({.n = 2,
                          .ic = 5,
                          .oc = 9,
                          .in = {6, 5},
                          .kernel = {3, 3},
                          .pad = {1, 1, 1, 1},
                          .dst = {Layout::kNchw8c, {}},
                          .post_ops = {PostOp::ResidualAdd(), PostOp::Relu()}})
                  .Algorithm("reference")
                  .ResidualInPlace()
                  .Threads(3)
                  .Run());
}

}  // namespace
}  // namespace rafter
