// tests/kernels/c_structs_test.cc: whatever a C caller leaves in its structs, the answer is a status whose text names
// the field. Structs and arrays end at guard pages: a read beyond what the caller has dies here.
#include "kernels/c_structs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "rafter/rafter_c.h"
#include "tests/support/guarded_buffer.h"

namespace rafter {
namespace {

using testing::GuardedBuffer;

// A struct or an array of them whose last byte is the last one that may be touched.
template <typename Struct>
class AtGuard {
 public:
  explicit AtGuard(size_t count = 1) : buffer_(sizeof(Struct) * count / sizeof(float)) {
    static_assert(sizeof(Struct) % sizeof(float) == 0);
    std::memset(buffer_.data(), 0, sizeof(Struct) * count);
  }
  Struct& operator[](size_t i) { return reinterpret_cast<Struct*>(buffer_.data())[i]; }
  Struct* operator->() { return &(*this)[0]; }
  Struct* get() { return &(*this)[0]; }

 private:
  GuardedBuffer buffer_;
};

AtGuard<rafter_conv_desc> Conv() {
  AtGuard<rafter_conv_desc> desc;
  rafter_conv_desc_init(desc.get());
  desc->ic = 3, desc->oc = 5, desc->in_h = desc->in_w = 6, desc->kernel_h = desc->kernel_w = 3;
  return desc;
}

// The status is a refusal and its text contains `field`.
::testing::AssertionResult Refused(rafter_status status, const std::string& field) {
  if (status != RAFTER_INVALID_ARGUMENT && status != RAFTER_UNSUPPORTED) {
    return ::testing::AssertionFailure() << "status " << status << " for " << field;
  }
  const std::string text = rafter_last_error();
  if (text.find(field) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "'" << text << "' does not name " << field;
}

rafter_status Create(const rafter_conv_desc* desc, const rafter_conv_options* options = nullptr) {
  rafter_conv* conv = nullptr;
  const rafter_status status = rafter_conv_create(desc, options, &conv);
  EXPECT_EQ(conv != nullptr, status == RAFTER_OK);
  rafter_conv_destroy(conv);
  return status;
}

constexpr size_t kWrongSizes[] = {0, 1, 7, 8, 4097, size_t{1} << 32, SIZE_MAX / 2, SIZE_MAX};

TEST(CStructs, WrongSizesAreRefused) {
  for (const size_t bytes : kWrongSizes) {
    auto desc = Conv();
    desc->struct_bytes = bytes;
    EXPECT_TRUE(Refused(Create(desc.get()), "desc.struct_bytes"));
    AtGuard<rafter_conv_cost> cost;
    cost->struct_bytes = bytes;
    auto right = Conv();
    EXPECT_TRUE(Refused(rafter_cost(right.get(), cost.get()), "cost.struct_bytes"));
    AtGuard<rafter_conv_options> options;
    options->struct_bytes = bytes;
    EXPECT_TRUE(Refused(Create(right.get(), options.get()), "options.struct_bytes"));
    AtGuard<rafter_reorder_desc> reorder;
    reorder->struct_bytes = bytes;
    rafter_reorder* made = nullptr;
    EXPECT_TRUE(Refused(rafter_reorder_create(reorder.get(), 1, &made), "desc.struct_bytes"));
    AtGuard<rafter_softmax_desc> softmax;
    softmax->struct_bytes = bytes;
    rafter_softmax* op = nullptr;
    EXPECT_TRUE(Refused(rafter_softmax_create(softmax.get(), 1, &op), "desc.struct_bytes"));
  }
  rafter_conv_desc_init_sized(nullptr, 8, 8);
  AtGuard<rafter_conv_desc> desc;
  rafter_conv_desc_init_sized(desc.get(), SIZE_MAX, SIZE_MAX);  // dies where the size is believed
  EXPECT_TRUE(Refused(Create(desc.get()), "desc.struct_bytes"));
}

TEST(CStructs, LongerStructsMustBeZeroBehindWhatIsKnown) {
  AtGuard<rafter_conv_desc> two(2);
  rafter_conv_desc_init(two.get());
  two->ic = two->oc = two->in_w = 4;
  two->struct_bytes = 2 * sizeof(rafter_conv_desc);
  EXPECT_EQ(Create(two.get()), RAFTER_OK) << rafter_last_error();
  two[1].post_op_bytes = 1;
  EXPECT_EQ(Create(two.get()), RAFTER_UNSUPPORTED);
  EXPECT_TRUE(Refused(Create(two.get()), "desc.struct_bytes"));
}

TEST(CStructs, PostOps) {
  AtGuard<rafter_post_op> ops(2);
  ops[0].kind = ops[1].kind = RAFTER_RELU;
  auto desc = Conv();
  desc->post_ops = ops.get();
  desc->num_post_ops = 2;
  EXPECT_EQ(Create(desc.get()), RAFTER_OK) << rafter_last_error();
  for (const size_t bytes : kWrongSizes) {
    desc->post_op_bytes = bytes;
    EXPECT_TRUE(Refused(Create(desc.get()), "post_op_bytes"));
  }
  desc->post_op_bytes = sizeof(rafter_post_op);
  for (const int32_t count : {-1, INT32_MIN, INT32_MAX, 1000}) {
    desc->num_post_ops = count;
    EXPECT_TRUE(Refused(Create(desc.get()), "num_post_ops"));
  }
  desc->num_post_ops = 2;
  for (const int32_t kind : {0, -1, 13, INT32_MAX}) {
    ops[1].kind = kind;
    EXPECT_TRUE(Refused(Create(desc.get()), "post_ops[1].kind"));
  }
  ops[1].kind = RAFTER_CHANNEL_SCALE;
  EXPECT_TRUE(Refused(Create(desc.get()), "post_ops[1].scale"));
  GuardedBuffer scale(5);
  ops[1].scale = scale.data();
  EXPECT_EQ(Create(desc.get()), RAFTER_OK) << rafter_last_error();
  desc->ic = 0;  // what is invalid without post-ops is refused before oc factors are read
  desc->oc = int64_t{1} << 30;
  EXPECT_TRUE(Refused(Create(desc.get()), "ic"));
  desc->post_ops = nullptr;
  desc->ic = 3, desc->oc = 5;
  EXPECT_TRUE(Refused(Create(desc.get()), "post_ops: NULL"));
}

TEST(CStructs, FlagsAreZeroOrOne) {
  for (const int32_t value : {-1, 2, 256, INT32_MIN, INT32_MAX}) {
    auto desc = Conv();
    desc->bias = value;
    EXPECT_TRUE(Refused(Create(desc.get()), "bias: " + std::to_string(value)));
    desc->bias = 1;
    AtGuard<rafter_conv_options> options;
    options->struct_bytes = sizeof(rafter_conv_options);
    options->strict = value;
    EXPECT_TRUE(Refused(Create(desc.get(), options.get()), "strict"));
    options->strict = 0, options->plan = value;
    EXPECT_TRUE(Refused(Create(desc.get(), options.get()), "plan"));
    rafter_worker_pool* pool = nullptr;
    EXPECT_TRUE(Refused(rafter_worker_pool_create(1, value, 0, &pool), "pin"));
    AtGuard<rafter_pooling_desc> pooling;
    pooling->struct_bytes = sizeof(rafter_pooling_desc);
    pooling->kind = RAFTER_POOLING_MAX;
    pooling->ceil_mode = value;
    rafter_pooling* op = nullptr;
    EXPECT_TRUE(Refused(rafter_pooling_create(pooling.get(), 1, &op), "ceil_mode"));
    pooling->ceil_mode = 0, pooling->count_include_pad = value;
    EXPECT_TRUE(Refused(rafter_pooling_create(pooling.get(), 1, &op), "count_include_pad"));
  }
}

TEST(CStructs, EltwiseAndConcatArrays) {
  AtGuard<rafter_eltwise_op> ops(1);
  ops[0].kind = RAFTER_ELTWISE_ADD;
  AtGuard<rafter_eltwise_desc> desc;
  *desc.get() = {.struct_bytes = sizeof(rafter_eltwise_desc), .n = 1, .c = 4, .h = 2, .w = 2, .src = {}, .dst = {},
                 .num_ops = 1, .ops = ops.get(), .op_bytes = sizeof(rafter_eltwise_op)};
  rafter_eltwise* op = nullptr;
  ASSERT_EQ(rafter_eltwise_create(desc.get(), 1, &op), RAFTER_OK) << rafter_last_error();
  rafter_eltwise_destroy(op);
  for (int32_t rafter_eltwise_op::*flag :
       {&rafter_eltwise_op::one_n, &rafter_eltwise_op::one_c, &rafter_eltwise_op::one_h, &rafter_eltwise_op::one_w}) {
    ops[0].*flag = 3;
    EXPECT_TRUE(Refused(rafter_eltwise_create(desc.get(), 1, &op), "ops[0].one_"));
    ops[0].*flag = 0;
  }
  AtGuard<rafter_concat_input> inputs(1);
  inputs[0].size = 4;
  AtGuard<rafter_concat_desc> join;
  *join.get() = {.struct_bytes = sizeof(rafter_concat_desc), .axis = RAFTER_AXIS_C, .n = 1, .c = 4, .h = 2, .w = 2,
                 .inputs = inputs.get(), .num_inputs = 1, .input_bytes = sizeof(rafter_concat_input), .dst = {}};
  rafter_concat* concat = nullptr;
  ASSERT_EQ(rafter_concat_create(join.get(), 1, &concat), RAFTER_OK) << rafter_last_error();
  rafter_concat_destroy(concat);
  for (const size_t bytes : kWrongSizes) {
    desc->op_bytes = bytes;
    EXPECT_TRUE(Refused(rafter_eltwise_create(desc.get(), 1, &op), "op_bytes"));
    join->input_bytes = bytes;
    EXPECT_TRUE(Refused(rafter_concat_create(join.get(), 1, &concat), "input_bytes"));
  }
  join->num_inputs = SIZE_MAX;
  EXPECT_TRUE(Refused(rafter_concat_create(join.get(), 1, &concat), "num_inputs"));
}

TEST(CStructs, SizesThatMakeNoSense) {
  std::mt19937_64 random(7);
  constexpr int64_t kValues[] = {0, -1, INT64_MIN, INT64_MAX, int64_t{1} << 31, int64_t{1} << 62, 3, 1};
  const auto any = [&] { return kValues[random() % std::size(kValues)]; };
  for (int i = 0; i < 500; ++i) {
    auto desc = Conv();
    int64_t* fields = &desc->n;  // n … pad_right: 16 fields of the same type
    for (int changes = 0; changes < 1 + i % 3; ++changes) fields[random() % 16] = any();
    if (i % 5 == 0) desc->src.strides = {any(), any(), any(), any()};
    if (i % 7 == 0) desc->dst.layout = static_cast<int32_t>(any());
    const rafter_status status = Create(desc.get());
    if (status != RAFTER_OK) {
      EXPECT_NE(std::string(rafter_last_error()), "");
    }
  }
}

class CRun : public ::testing::Test {
 protected:
  void SetUp() override {
    auto desc = Conv();
    AtGuard<rafter_conv_options> options;
    *options.get() = {.struct_bytes = sizeof(rafter_conv_options), .threads = 1, .strict = 0,
                      .algorithm = "reference", .plan = RAFTER_PLAN_MODEL, .pool = nullptr};
    ASSERT_EQ(rafter_conv_create(desc.get(), options.get(), &conv_), RAFTER_OK) << rafter_last_error();
    const GuardedBuffer oihw(5 * 3 * 9);
    ASSERT_EQ(rafter_pack_weights(conv_, oihw.data(), nullptr, 0, &weights_), RAFTER_OK);
    run_->struct_bytes = sizeof(rafter_run_options);
  }
  void TearDown() override {
    rafter_packed_weights_destroy(weights_);
    rafter_conv_destroy(conv_);
  }
  rafter_status Run() { return rafter_conv_run(conv_, src_.data(), weights_, dst_.data(), run_.get()); }

  rafter_conv* conv_ = nullptr;
  rafter_packed_weights* weights_ = nullptr;
  GuardedBuffer src_{3 * 36}, dst_{5 * 16};
  AtGuard<rafter_run_options> run_;
};

TEST_F(CRun, NullsAndWrongCallsAreRefused) {
  ASSERT_EQ(Run(), RAFTER_OK) << rafter_last_error();
  EXPECT_TRUE(Refused(rafter_conv_run(nullptr, src_.data(), weights_, dst_.data(), nullptr), "conv"));
  EXPECT_TRUE(Refused(rafter_conv_run(conv_, nullptr, weights_, dst_.data(), nullptr), "src"));
  EXPECT_TRUE(Refused(rafter_conv_run(conv_, src_.data(), nullptr, dst_.data(), nullptr), "weights"));
  EXPECT_TRUE(Refused(rafter_conv_run(conv_, src_.data(), weights_, nullptr, nullptr), "dst"));
  run_->max_threads = -1;
  EXPECT_TRUE(Refused(Run(), "max_threads"));
  run_->max_threads = 0;
  run_->num_residuals = SIZE_MAX;
  EXPECT_TRUE(Refused(Run(), "residuals"));
  const float* residual = src_.data();
  run_->residuals = &residual;
  EXPECT_TRUE(Refused(Run(), "residuals"));
  run_->num_residuals = 0, run_->residuals = nullptr;
  const rafter_parallel_for no_threads = {nullptr, 0, [](void*, int64_t, void (*)(void*, int64_t), void*) {}};
  run_->parallel_for = &no_threads;
  EXPECT_TRUE(Refused(Run(), "parallel_for.concurrency"));
  rafter_packed_weights* packed = nullptr;
  EXPECT_TRUE(Refused(rafter_pack_weights(conv_, nullptr, nullptr, 0, &packed), "oihw"));
  EXPECT_TRUE(Refused(rafter_pack_weights(conv_, src_.data(), nullptr, 2, &packed), "flush_denormals"));
  EXPECT_TRUE(Refused(rafter_pack_weights(nullptr, src_.data(), nullptr, 0, &packed), "conv"));
}

TEST_F(CRun, ScratchThatIsNamedMustDo) {
  run_->scratch_bytes = 64;
  EXPECT_TRUE(Refused(Run(), "scratch: NULL"));
  GuardedBuffer scratch(16, testing::Guard::kAtStart);
  run_->scratch = scratch.data();
  run_->scratch_bytes = 0;
  if (rafter_conv_scratch_bytes(conv_) > 0) {
    EXPECT_TRUE(Refused(Run(), "scratch_bytes"));
  } else {
    EXPECT_EQ(Run(), RAFTER_OK) << "nothing is needed";
  }
  auto desc = Conv();
  desc->src.layout = desc->dst.layout = RAFTER_NCHW;
  desc->ic = desc->oc = 64;
  desc->in_h = desc->in_w = 16;
  AtGuard<rafter_conv_options> options;
  for (const char* algorithm : {"direct+reorder", "winograd_f4", "gemm"}) {
    *options.get() = {.struct_bytes = sizeof(rafter_conv_options), .threads = 1, .strict = 0, .algorithm = algorithm,
                      .plan = RAFTER_PLAN_MODEL, .pool = nullptr};
    rafter_conv* conv = nullptr;
    if (rafter_conv_create(desc.get(), options.get(), &conv) != RAFTER_OK) continue;
    if (rafter_conv_scratch_bytes(conv) > 0) {
      const GuardedBuffer src(64 * 256), oihw(64 * 64 * 9);
      GuardedBuffer dst(64 * 196);
      rafter_packed_weights* weights = nullptr;
      ASSERT_EQ(rafter_pack_weights(conv, oihw.data(), nullptr, 0, &weights), RAFTER_OK);
      for (const size_t bytes : {size_t{0}, size_t{1}, rafter_conv_scratch_bytes(conv) - 1}) {
        run_->scratch_bytes = bytes;
        EXPECT_TRUE(Refused(rafter_conv_run(conv, src.data(), weights, dst.data(), run_.get()), "scratch_bytes"));
      }
      rafter_packed_weights_destroy(weights);
    }
    rafter_conv_destroy(conv);
  }
}

TEST_F(CRun, BytesOfWeightsAndWisdom) {
  size_t bytes = 0;
  const auto* raw = static_cast<const std::byte*>(rafter_packed_weights_bytes(weights_, &bytes));
  rafter_packed_weights* back = nullptr;
  for (const size_t length : {size_t{0}, size_t{1}, bytes / 2, bytes - 1}) {
    GuardedBuffer copy((length + 3) / 4 + 1);
    auto* end = reinterpret_cast<std::byte*>(copy.data() + copy.size());
    std::memcpy(end - length, raw, length);
    EXPECT_EQ(rafter_packed_weights_from_bytes(end - length, length, &back), RAFTER_INVALID_ARGUMENT);
    EXPECT_EQ(back, nullptr);
  }
  GuardedBuffer copy(bytes / 4);
  std::memcpy(copy.data(), raw, bytes / 4 * 4);
  for (const size_t length : {SIZE_MAX, SIZE_MAX / 2, bytes + 64}) {  // more than there is
    EXPECT_EQ(rafter_packed_weights_from_bytes(copy.data(), length, &back), RAFTER_INVALID_ARGUMENT);
  }
  EXPECT_TRUE(Refused(rafter_wisdom_import("x", SIZE_MAX), "bytes"));
  EXPECT_TRUE(Refused(rafter_wisdom_import(nullptr, 0), "text"));
  EXPECT_TRUE(Refused(rafter_set_max_isa(3), "isa"));
  EXPECT_TRUE(Refused(rafter_set_max_isa(-1), "isa"));
}

}  // namespace
}  // namespace rafter
