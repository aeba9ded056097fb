// tests/kernels/c_interface_test.cc: the C interface does what the C++ interface does, and refuses
// misuse with a text instead of crashing.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rafter/rafter.h"
#include "rafter/rafter_c.h"

namespace rafter {
namespace {

rafter_conv_desc SmallDesc() {
  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.n = 2;
  desc.ic = 5;
  desc.oc = 19;
  desc.in_h = 7;
  desc.in_w = 9;
  desc.kernel_h = desc.kernel_w = 3;
  desc.stride_w = 2;
  desc.pad_top = desc.pad_left = desc.pad_bottom = 1;
  return desc;
}

std::vector<float> Numbers(size_t count) {
  std::vector<float> numbers(count);
  for (size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 7 % 5) - 2;
  return numbers;
}

class CInterfaceTest : public ::testing::Test {
 protected:
  void TearDown() override {
    rafter_packed_weights_destroy(weights_);
    rafter_conv_destroy(conv_);
  }
  void CreateAndPack(const rafter_conv_desc& desc) {
    ASSERT_EQ(rafter_conv_create(&desc, nullptr, &conv_), RAFTER_OK) << rafter_last_error();
    const std::vector<float> oihw = Numbers(static_cast<size_t>(desc.oc * desc.ic * 9));
    ASSERT_EQ(rafter_pack_weights(conv_, oihw.data(), nullptr, 0, &weights_), RAFTER_OK);
  }
  std::vector<float> Run(const rafter_run_options* options, rafter_status expected = RAFTER_OK) {
    const std::vector<float> src = Numbers(2 * 7 * 9 * 5);
    std::vector<float> dst(2 * 7 * 4 * 19, -1000.0f);
    EXPECT_EQ(rafter_conv_run(conv_, src.data(), weights_, dst.data(), options), expected)
        << rafter_last_error();
    return dst;
  }

  rafter_conv* conv_ = nullptr;
  rafter_packed_weights* weights_ = nullptr;
};

TEST_F(CInterfaceTest, GivesTheResultOfTheCppInterface) {
  std::vector<float> scale(19, 0.5f);
  const rafter_post_op post_ops[] = {{RAFTER_CHANNEL_SCALE, 0, 0, scale.data(), {}},
                                     {RAFTER_RESIDUAL_ADD, 0, 0, nullptr, {}},
                                     {RAFTER_CLIP, -3, 6, nullptr, {}}};
  rafter_conv_desc desc = SmallDesc();
  desc.post_ops = post_ops;
  desc.num_post_ops = 3;
  CreateAndPack(desc);
  const std::vector<float> residual = Numbers(2 * 7 * 4 * 19);
  const float* const residuals[] = {residual.data()};
  rafter_run_options options = {};
  options.struct_bytes = sizeof options;
  options.residuals = residuals;
  options.num_residuals = 1;
  const std::vector<float> got = Run(&options);

  ConvDesc cpp{.n = 2, .ic = 5, .oc = 19, .in = {7, 9}, .kernel = {3, 3}, .stride = {1, 2}};
  cpp.pad = {1, 1, 1, 0};
  cpp.post_ops = {PostOp::ChannelScale(scale), PostOp::ResidualAdd(), PostOp::Clip(-3, 6)};
  const auto conv = Conv::Create(cpp);
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  const auto packed = conv.value().PackWeights(Numbers(19 * 5 * 9).data(), nullptr);
  ASSERT_TRUE(packed.ok());
  std::vector<float> want(got.size());
  ASSERT_TRUE(
      conv.value()
          .Run(Numbers(2 * 7 * 9 * 5).data(), *packed, want.data(), {.residuals = residuals})
          .ok());
  EXPECT_EQ(got, want);
}

TEST_F(CInterfaceTest, EveryKindOfThreadsGivesTheSame) {
  CreateAndPack(SmallDesc());
  const std::vector<float> want = Run(nullptr);

  rafter_worker_pool* workers = nullptr;
  ASSERT_EQ(rafter_worker_pool_create(2, 0, 20, &workers), RAFTER_OK) << rafter_last_error();
  rafter_run_options options = {};
  options.struct_bytes = sizeof options;
  options.workers = workers;
  EXPECT_EQ(Run(&options), want);
  rafter_worker_pool_destroy(workers);

  int calls = 0;
  rafter_parallel_for serial = {};
  serial.context = &calls;
  serial.concurrency = 3;
  serial.run = [](void* context, int64_t num_tasks, void (*task)(void*, int64_t),
                  void* task_context) {
    ++*static_cast<int*>(context);
    for (int64_t i = num_tasks - 1; i >= 0; --i) task(task_context, i);
  };
  options = {};
  options.struct_bytes = sizeof options;
  options.parallel_for = &serial;
  EXPECT_EQ(Run(&options), want);
  options.workers = reinterpret_cast<rafter_worker_pool*>(&calls);
  Run(&options, RAFTER_INVALID_ARGUMENT);
}

TEST_F(CInterfaceTest, ReportsFactsOfThePlan) {
  CreateAndPack(SmallDesc());
  int64_t height = 0, width = 0;
  rafter_conv_output_size(conv_, &height, &width);
  EXPECT_EQ(height, 7);
  EXPECT_EQ(width, 4);
  EXPECT_GE(rafter_conv_threads(conv_), 1);
  EXPECT_GT(std::strlen(rafter_conv_kernel_name(conv_)), 0u);
  EXPECT_LE(rafter_conv_isa(conv_), rafter_detected_isa());

  const size_t length = rafter_conv_explain(conv_, nullptr, 0);
  std::vector<char> text(length + 1, 'x');
  EXPECT_EQ(rafter_conv_explain(conv_, text.data(), text.size()), length);
  EXPECT_NE(std::string(text.data()).find(rafter_conv_algorithm(conv_)), std::string::npos);
  char three[3] = {'x', 'x', 'x'};
  EXPECT_EQ(rafter_conv_explain(conv_, three, sizeof three), length);
  EXPECT_EQ(three[2], '\0');
}

TEST_F(CInterfaceTest, PackedWeightsSurviveStorage) {
  CreateAndPack(SmallDesc());
  const std::vector<float> want = Run(nullptr);
  size_t bytes = 0;
  const void* data = rafter_packed_weights_bytes(weights_, &bytes);
  std::vector<uint8_t> stored(bytes);
  std::memcpy(stored.data(), data, bytes);
  rafter_packed_weights_destroy(weights_);
  weights_ = nullptr;
  ASSERT_EQ(rafter_packed_weights_from_bytes(stored.data(), bytes, &weights_), RAFTER_OK);
  EXPECT_EQ(Run(nullptr), want);
  stored[bytes / 2] ^= 1;
  rafter_packed_weights* damaged = nullptr;
  EXPECT_EQ(rafter_packed_weights_from_bytes(stored.data(), bytes, &damaged),
            RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(damaged, nullptr);
}

TEST_F(CInterfaceTest, CostIsThatOfTheCppInterface) {
  const rafter_conv_desc desc = SmallDesc();
  rafter_conv_cost cost = {};
  cost.struct_bytes = sizeof cost;
  ASSERT_EQ(rafter_cost(&desc, &cost), RAFTER_OK);
  const auto want = CostOf({.n = 2,
                            .ic = 5,
                            .oc = 19,
                            .in = {7, 9},
                            .kernel = {3, 3},
                            .stride = {1, 2},
                            .dilation = {1, 1},
                            .pad = {1, 1, 1, 0}});
  ASSERT_TRUE(want.ok());
  EXPECT_EQ(cost.flops_valid, want.value().flops_valid);
  EXPECT_EQ(cost.bytes, want.value().bytes);
  EXPECT_EQ(cost.parameters, want.value().parameters);
  EXPECT_EQ(cost.intensity, want.value().intensity);
}

TEST_F(CInterfaceTest, MisuseIsRefusedWithAText) {
  rafter_conv_desc desc = SmallDesc();
  EXPECT_EQ(rafter_conv_create(nullptr, nullptr, &conv_), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_conv_create(&desc, nullptr, nullptr), RAFTER_INVALID_ARGUMENT);
  desc.groups = 2;
  EXPECT_EQ(rafter_conv_create(&desc, nullptr, &conv_), RAFTER_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rafter_last_error()).find("groups"), std::string::npos)
      << rafter_last_error();
  EXPECT_EQ(conv_, nullptr);

  desc = SmallDesc();
  desc.num_post_ops = 1;
  EXPECT_EQ(rafter_conv_create(&desc, nullptr, &conv_), RAFTER_INVALID_ARGUMENT);
  const rafter_post_op odd = {99, 0, 0, nullptr, {}};
  desc.post_ops = &odd;
  EXPECT_EQ(rafter_conv_create(&desc, nullptr, &conv_), RAFTER_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rafter_last_error()).find("99"), std::string::npos);
  const rafter_post_op no_scale = {RAFTER_CHANNEL_SCALE, 0, 0, nullptr, {}};
  desc.post_ops = &no_scale;
  EXPECT_EQ(rafter_conv_create(&desc, nullptr, &conv_), RAFTER_INVALID_ARGUMENT);

  rafter_conv_options options = {};
  options.struct_bytes = sizeof options;
  options.algorithm = "no such algorithm";
  desc = SmallDesc();
  EXPECT_NE(rafter_conv_create(&desc, &options, &conv_), RAFTER_OK);
  EXPECT_EQ(conv_, nullptr);
  EXPECT_EQ(rafter_conv_run(nullptr, nullptr, nullptr, nullptr, nullptr), RAFTER_INVALID_ARGUMENT);
  rafter_conv_destroy(nullptr);
  rafter_packed_weights_destroy(nullptr);
  rafter_worker_pool_destroy(nullptr);
}

}  // namespace
}  // namespace rafter
