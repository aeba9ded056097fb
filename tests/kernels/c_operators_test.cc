// Element-wise chains, pooling and softmax through the C interface.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rafter/rafter_c.h"

namespace {

TEST(COperators, EltwiseRunsAChainWithAnOperand) {
  const std::vector<float> scale = {1, 2, 3}, shift = {0, 1, 2};
  const rafter_eltwise_op ops[] = {
      {.kind = RAFTER_ELTWISE_CHANNEL_LINEAR, .alpha = 0, .beta = 0, .scale = scale.data(), .shift = shift.data(),
       .one_n = 0, .one_c = 0, .one_h = 0, .one_w = 0, .operand_strides = {}},
      {.kind = RAFTER_ELTWISE_ADD, .alpha = 0, .beta = 0, .scale = nullptr, .shift = nullptr,
       .one_n = 0, .one_c = 1, .one_h = 0, .one_w = 0, .operand_strides = {}}};
  rafter_eltwise_desc desc{};
  desc.struct_bytes = sizeof desc, desc.op_bytes = sizeof ops[0];
  desc.n = 1, desc.c = 3, desc.h = 1, desc.w = 2;
  desc.num_ops = 2, desc.ops = ops;
  rafter_eltwise* op = nullptr;
  ASSERT_EQ(rafter_eltwise_create(&desc, 1, &op), RAFTER_OK) << rafter_last_error();
  const std::vector<float> x = {1, 1, 1, 2, 2, 2}, other = {10, 20};
  std::vector<float> y(6);
  const float* operand = other.data();
  ASSERT_EQ(rafter_eltwise_run(op, x.data(), y.data(), &operand, 1, nullptr), RAFTER_OK) << rafter_last_error();
  EXPECT_EQ(y, (std::vector<float>{11, 13, 15, 22, 25, 28}));
  EXPECT_EQ(rafter_eltwise_run(op, x.data(), y.data(), nullptr, 0, nullptr), RAFTER_INVALID_ARGUMENT);
  rafter_eltwise_destroy(op);
  desc.num_ops = 0;
  EXPECT_EQ(rafter_eltwise_create(&desc, 1, &op), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(op, nullptr);
  EXPECT_NE(std::string(rafter_last_error()).find("num_ops: 0"), std::string::npos);
}

TEST(COperators, PoolingAndSoftmax) {
  rafter_pooling_desc desc{};
  desc.struct_bytes = sizeof desc;
  desc.kind = RAFTER_POOLING_AVERAGE;
  desc.n = desc.c = desc.in_h = desc.kernel_h = desc.stride_h = desc.dilation_h = desc.dilation_w = 1;
  desc.in_w = 5, desc.kernel_w = desc.stride_w = 2, desc.ceil_mode = 1;
  rafter_pooling* pooling = nullptr;
  ASSERT_EQ(rafter_pooling_create(&desc, 1, &pooling), RAFTER_OK) << rafter_last_error();
  int64_t height = 0, width = 0;
  rafter_pooling_output_size(pooling, &height, &width);
  EXPECT_EQ(height, 1);
  ASSERT_EQ(width, 3);
  const std::vector<float> x = {1, 2, 3, 4, 5};
  std::vector<float> y(3);
  ASSERT_EQ(rafter_pooling_run(pooling, x.data(), y.data(), nullptr), RAFTER_OK) << rafter_last_error();
  EXPECT_EQ(y, (std::vector<float>{1.5f, 3.5f, 5.0f}));
  rafter_pooling_destroy(pooling);
  desc.kernel_h = 3;
  EXPECT_EQ(rafter_pooling_create(&desc, 1, &pooling), RAFTER_INVALID_ARGUMENT);

  rafter_softmax_desc row{};
  row.struct_bytes = sizeof row;
  row.n = row.h = row.w = 1, row.c = 4;
  rafter_softmax* softmax = nullptr;
  ASSERT_EQ(rafter_softmax_create(&row, 1, &softmax), RAFTER_OK) << rafter_last_error();
  std::vector<float> values(4, 3.0f);
  ASSERT_EQ(rafter_softmax_run(softmax, values.data(), values.data(), nullptr), RAFTER_OK) << rafter_last_error();
  for (const float value : values) EXPECT_FLOAT_EQ(value, 0.25f);
  EXPECT_EQ(rafter_softmax_run(softmax, nullptr, values.data(), nullptr), RAFTER_INVALID_ARGUMENT);
  rafter_softmax_destroy(softmax);
  rafter_softmax_destroy(nullptr);
}

}  // namespace
