// Costs of element-wise chains, pooling and softmax.
#include "kernels/cost/operator_cost.h"

#include <gtest/gtest.h>

namespace rafter {
namespace {

TEST(OperatorCost, ChainsCountEachTensorOnce) {
  EltwiseDesc desc{.n = 2, .c = 3, .h = 5, .w = 7};
  desc.ops = {EltwiseOp::ChannelLinear({1, 2, 3}, {1, 2, 3}), EltwiseOp::Add(),
              EltwiseOp::Mul({.one_h = true, .one_w = true}), EltwiseOp::Relu()};
  const Result<OperatorCost> cost = CostOf(desc);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->src_bytes, 4 * 210);
  EXPECT_EQ(cost->dst_bytes, 4 * 210);
  EXPECT_EQ(cost->operand_bytes, 4 * (6 + 210 + 6));
  EXPECT_EQ(cost->bytes, 4 * (3 * 210 + 12));
  EXPECT_EQ(cost->flops, 210 * (2 + 1 + 1 + 1));
  const BoundTerms terms = BoundTermsOf(*cost);
  EXPECT_EQ(terms.flops, 0);
  EXPECT_EQ(terms.load_bytes, cost->src_bytes + cost->operand_bytes);
  EXPECT_EQ(terms.store_bytes, cost->dst_bytes);
}

TEST(OperatorCost, BlockedLayoutsOccupyTheirLanes) {
  EltwiseDesc desc{.c = 20, .h = 2, .w = 2, .ops = {EltwiseOp::Relu()}};
  desc.src.layout = desc.dst.layout = Layout::kNchw16c;
  const Result<OperatorCost> cost = CostOf(desc);
  ASSERT_TRUE(cost.ok());
  EXPECT_EQ(cost->bytes, 2 * 4 * 80);
  EXPECT_EQ(cost->footprint_bytes, 2 * 4 * 128);
}

TEST(OperatorCost, PoolingCountsTapsInsideTheImage) {
  PoolingDesc desc{.kind = PoolingKind::kAverage, .c = 2, .in = {4, 4}, .kernel = {3, 3}, .stride = {2, 2},
                   .pad = {1, 1, 1, 1}};
  const Result<OperatorCost> cost = CostOf(desc);
  ASSERT_TRUE(cost.ok());
  // Outputs 2x2 with 2x2, 2x3, 3x2 and 3x3 taps; one addition less than taps, one division.
  EXPECT_EQ(cost->flops, 2 * 25);
  EXPECT_EQ(cost->src_bytes, 4 * 32);
  EXPECT_EQ(cost->dst_bytes, 4 * 8);
  desc.kernel = {1, 1}, desc.pad = {}, desc.kind = PoolingKind::kMax;
  const Result<OperatorCost> sparse = CostOf(desc);
  ASSERT_TRUE(sparse.ok());
  EXPECT_EQ(sparse->flops, 0);
  EXPECT_EQ(sparse->src_bytes, 4 * 8);
  EXPECT_EQ(sparse->footprint_bytes, 4 * 40);
}

TEST(OperatorCost, BadDescriptionsAreRefused) {
  EXPECT_EQ(CostOf(EltwiseDesc{}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CostOf(PoolingDesc{}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(CostOf(SoftmaxDesc{}).status().code(), StatusCode::kInvalidArgument);
  const Result<OperatorCost> softmax = CostOf(SoftmaxDesc{.c = 10});
  ASSERT_TRUE(softmax.ok());
  EXPECT_EQ(softmax->bytes, 80);
}

}  // namespace
}  // namespace rafter
