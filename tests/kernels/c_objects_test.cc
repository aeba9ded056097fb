// tests/kernels/c_objects_test.cc: objects of the C interface: memory pools, arenas, what plans answer, and handles of
// another kind.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "rafter/rafter_c.h"

namespace {

rafter_conv* MakeConv(int64_t channels = 8, const rafter_conv_options* options = nullptr) {
  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.ic = desc.oc = channels, desc.in_h = desc.in_w = 6, desc.kernel_h = desc.kernel_w = 3;
  rafter_conv* conv = nullptr;
  EXPECT_EQ(rafter_conv_create(&desc, options, &conv), RAFTER_OK) << rafter_last_error();
  return conv;
}

rafter_softmax* MakeSoftmax() {
  rafter_softmax_desc desc{};
  desc.struct_bytes = sizeof desc;
  desc.n = desc.h = desc.w = 1, desc.c = 4;
  rafter_softmax* op = nullptr;
  EXPECT_EQ(rafter_softmax_create(&desc, 1, &op), RAFTER_OK) << rafter_last_error();
  return op;
}

rafter_memory_pool_stats StatsOf(const rafter_memory_pool* pool) {
  rafter_memory_pool_stats stats{};
  stats.struct_bytes = sizeof stats;
  EXPECT_EQ(rafter_memory_pool_get_stats(pool, &stats), RAFTER_OK) << rafter_last_error();
  return stats;
}

TEST(CPool, GivesBlocksAndCountsThem) {
  rafter_memory_pool* pool = nullptr;
  ASSERT_EQ(rafter_memory_pool_create(8 << 20, &pool), RAFTER_OK);
  void* block = rafter_memory_pool_allocate(pool, 1000);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u);
  EXPECT_GE(StatsOf(pool).in_use_bytes, 1000u);
  EXPECT_EQ(rafter_memory_pool_destroy(pool), RAFTER_INVALID_ARGUMENT) << "a block is in use";
  rafter_memory_pool_free(pool, block);
  rafter_memory_pool_free(pool, block);
  int foreign = 0;
  rafter_memory_pool_free(pool, &foreign);
  EXPECT_EQ(StatsOf(pool).rejected_frees, 2u);
  EXPECT_EQ(rafter_memory_pool_allocate(pool, size_t{1} << 30), nullptr) << "beyond the limit";
  EXPECT_EQ(rafter_memory_pool_allocate(pool, SIZE_MAX), nullptr);
  rafter_memory_pool_trim(pool);
  EXPECT_EQ(StatsOf(pool).in_use_bytes, 0u);
  EXPECT_EQ(rafter_memory_pool_destroy(pool), RAFTER_OK);
  EXPECT_EQ(rafter_memory_pool_destroy(nullptr), RAFTER_OK);
  EXPECT_EQ(rafter_memory_pool_create(0, nullptr), RAFTER_INVALID_ARGUMENT);
  void* shared = rafter_memory_pool_allocate(nullptr, 10);  // the library's own
  EXPECT_NE(shared, nullptr);
  rafter_memory_pool_free(nullptr, shared);
  EXPECT_EQ(rafter_memory_pool_get_stats(nullptr, nullptr), RAFTER_INVALID_ARGUMENT);
}

TEST(CPool, WeightsAndScratchComeFromIt) {
  rafter_memory_pool* pool = nullptr;
  ASSERT_EQ(rafter_memory_pool_create(0, &pool), RAFTER_OK);
  rafter_conv* conv = MakeConv();
  const std::vector<float> oihw(8 * 8 * 9, 1.0f), src(36 * 8, 1.0f);
  std::vector<float> dst(16 * 8);
  rafter_packed_weights* weights = nullptr;
  ASSERT_EQ(rafter_pack_weights_in(pool, conv, oihw.data(), nullptr, 0, &weights), RAFTER_OK) << rafter_last_error();
  EXPECT_GT(StatsOf(pool).in_use_bytes, 0u);
  rafter_run_options options{};
  options.struct_bytes = sizeof options;
  options.pool = pool;
  ASSERT_EQ(rafter_conv_run(conv, src.data(), weights, dst.data(), &options), RAFTER_OK) << rafter_last_error();
  EXPECT_EQ(dst, std::vector<float>(16 * 8, 72.0f));
  EXPECT_EQ(rafter_memory_pool_destroy(pool), RAFTER_INVALID_ARGUMENT) << "weights are in it";
  rafter_packed_weights_destroy(weights);
  rafter_conv_destroy(conv);
  EXPECT_EQ(rafter_memory_pool_destroy(pool), RAFTER_OK) << rafter_last_error();
}

TEST(CPool, StructsFromBeforeItAreAccepted) {
  rafter_conv* conv = MakeConv();
  rafter_run_options old{};
  old.struct_bytes = offsetof(rafter_run_options, pool);
  old.pool = reinterpret_cast<rafter_memory_pool*>(1);  // not part of the old struct
  EXPECT_EQ(rafter_conv_run(conv, nullptr, nullptr, nullptr, &old), RAFTER_INVALID_ARGUMENT);
  const std::vector<float> oihw(8 * 8 * 9, 1.0f), src(36 * 8, 1.0f);
  std::vector<float> dst(16 * 8);
  rafter_packed_weights* weights = nullptr;
  ASSERT_EQ(rafter_pack_weights(conv, oihw.data(), nullptr, 0, &weights), RAFTER_OK);
  EXPECT_EQ(rafter_conv_run(conv, src.data(), weights, dst.data(), &old), RAFTER_OK) << rafter_last_error();
  rafter_packed_weights_destroy(weights);
  rafter_conv_destroy(conv);
}

TEST(CArena, PlacesActivations) {
  const std::array<rafter_activation, 3> activations = {{{1000, 0, 1}, {2000, 1, 2}, {900, 2, 2}}};
  std::array<size_t, 3> offsets{};
  size_t arena = 0, busiest = 0;
  ASSERT_EQ(rafter_plan_arena(activations.data(), 3, offsets.data(), &arena, &busiest), RAFTER_OK);
  EXPECT_EQ(offsets[0], offsets[2]) << "one takes the place of the other";
  EXPECT_GE(arena, 3000u);
  EXPECT_LE(busiest, arena);
  EXPECT_EQ(rafter_plan_arena(nullptr, 0, nullptr, &arena, nullptr), RAFTER_OK);
  EXPECT_EQ(arena, 0u);
  EXPECT_EQ(rafter_plan_arena(nullptr, 3, offsets.data(), &arena, nullptr), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_plan_arena(activations.data(), 3, nullptr, &arena, nullptr), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_plan_arena(activations.data(), 3, offsets.data(), nullptr, nullptr), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_plan_arena(activations.data(), SIZE_MAX, offsets.data(), &arena, nullptr),
            RAFTER_INVALID_ARGUMENT);
  const rafter_activation backwards = {10, 3, 1};
  EXPECT_EQ(rafter_plan_arena(&backwards, 1, offsets.data(), &arena, nullptr), RAFTER_INVALID_ARGUMENT);
}

TEST(CObjects, AnswerQuestions) {
  rafter_softmax* op = MakeSoftmax();
  EXPECT_NE(std::string(rafter_softmax_kernel_name(op)), "");
  EXPECT_EQ(rafter_softmax_threads(op), 1);
  EXPECT_EQ(rafter_softmax_isa(op), rafter_effective_isa());
  rafter_softmax_destroy(op);
  EXPECT_STREQ(rafter_pad_kernel_name(nullptr), "");
  EXPECT_EQ(rafter_eltwise_threads(nullptr), 0);
  EXPECT_EQ(rafter_reorder_isa(nullptr), RAFTER_ISA_NONE);
  EXPECT_EQ(rafter_concat_output_size(nullptr), 0);

  rafter_pad_desc desc{};
  desc.struct_bytes = sizeof desc;
  desc.n = desc.c = 1, desc.in_h = 3, desc.in_w = 4, desc.pad_top = 2, desc.pad_left = 1;
  rafter_pad* pad = nullptr;
  ASSERT_EQ(rafter_pad_create(&desc, 1, &pad), RAFTER_OK) << rafter_last_error();
  int64_t height = 0, width = 0;
  rafter_pad_output_size(pad, &height, &width);
  EXPECT_EQ(height, 5);
  EXPECT_EQ(width, 5);
  rafter_pad_destroy(pad);

  rafter_algorithm_work work{};
  work.struct_bytes = sizeof work;
  rafter_conv* conv = MakeConv();
  EXPECT_EQ(rafter_conv_work(conv, &work), RAFTER_OK);
  EXPECT_EQ(rafter_conv_work(conv, nullptr), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_conv_work(nullptr, &work), RAFTER_INVALID_ARGUMENT);
  work.struct_bytes = 3;
  EXPECT_EQ(rafter_conv_work(conv, &work), RAFTER_INVALID_ARGUMENT);
  rafter_conv_destroy(conv);
}

// Handles of another kind are told apart wherever they are passed.
TEST(CObjects, OfAnotherKindAreRefused) {
  rafter_softmax* softmax = MakeSoftmax();
  auto* conv = reinterpret_cast<rafter_conv*>(softmax);
  auto* weights = reinterpret_cast<rafter_packed_weights*>(softmax);
  auto* pool = reinterpret_cast<rafter_memory_pool*>(softmax);
  std::vector<float> x(1000);
  EXPECT_EQ(rafter_conv_run(conv, x.data(), weights, x.data(), nullptr), RAFTER_INVALID_ARGUMENT);
  EXPECT_NE(std::string(rafter_last_error()).find("conv: is no such object"), std::string::npos);
  EXPECT_EQ(rafter_conv_scratch_bytes(conv), 0u);
  EXPECT_STREQ(rafter_conv_algorithm(conv), "");
  EXPECT_EQ(rafter_conv_explain(conv, nullptr, 0), 0u);
  size_t bytes = 7;
  EXPECT_EQ(rafter_packed_weights_bytes(weights, &bytes), nullptr);
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(rafter_pack_weights(conv, x.data(), nullptr, 0, &weights), RAFTER_INVALID_ARGUMENT);
  EXPECT_EQ(rafter_memory_pool_allocate(pool, 10), nullptr);
  EXPECT_EQ(rafter_memory_pool_destroy(pool), RAFTER_INVALID_ARGUMENT);
  rafter_conv_options options{};
  options.struct_bytes = sizeof options;
  options.pool = pool;
  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.ic = desc.oc = desc.in_w = 1;
  rafter_conv* made = nullptr;
  EXPECT_EQ(rafter_conv_create(&desc, &options, &made), RAFTER_INVALID_ARGUMENT);
  rafter_operator_options with_workers{};
  with_workers.struct_bytes = sizeof with_workers;
  with_workers.workers = reinterpret_cast<rafter_worker_pool*>(softmax);
  EXPECT_EQ(rafter_softmax_run(softmax, x.data(), x.data(), &with_workers), RAFTER_INVALID_ARGUMENT);
  rafter_conv_destroy(conv);  // does nothing
  rafter_pad_destroy(reinterpret_cast<rafter_pad*>(softmax));
  EXPECT_EQ(rafter_softmax_run(softmax, x.data(), x.data(), nullptr), RAFTER_OK) << rafter_last_error();
  rafter_softmax_destroy(softmax);
  alignas(64) std::array<unsigned char, 256> garbage;
  garbage.fill(0xA5);
  EXPECT_EQ(rafter_conv_run(reinterpret_cast<rafter_conv*>(garbage.data()), x.data(), nullptr, x.data(), nullptr),
            RAFTER_INVALID_ARGUMENT);
  rafter_eltwise_destroy(reinterpret_cast<rafter_eltwise*>(garbage.data()));
}

// Any number fits into a layout.
TEST(CObjects, LayoutsThatDoNotExistAreRefused) {
  for (const int32_t layout : {-1, 4, 255, 256, 257, 1 << 16, INT32_MIN, INT32_MAX}) {
    rafter_conv_desc desc;
    rafter_conv_desc_init(&desc);
    desc.ic = desc.oc = desc.in_w = 8;
    desc.src.layout = layout;
    rafter_conv* conv = nullptr;
    EXPECT_EQ(rafter_conv_create(&desc, nullptr, &conv), RAFTER_INVALID_ARGUMENT) << layout;
    rafter_softmax_desc row{};
    row.struct_bytes = sizeof row;
    row.n = row.h = row.w = row.c = 8;
    row.src.layout = row.dst.layout = layout;
    rafter_softmax* softmax = nullptr;
    EXPECT_EQ(rafter_softmax_create(&row, 1, &softmax), RAFTER_INVALID_ARGUMENT) << layout;
    rafter_reorder_desc copy{};
    copy.struct_bytes = sizeof copy;
    copy.n = copy.h = copy.w = copy.c = 8;
    copy.dst.layout = layout;
    rafter_reorder* reorder = nullptr;
    EXPECT_EQ(rafter_reorder_create(&copy, 1, &reorder), RAFTER_INVALID_ARGUMENT) << layout;
  }
}

}  // namespace
