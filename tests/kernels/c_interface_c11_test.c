/* tests/kernels/c_interface_c11_test.c: the C interface as a C11 program sees it. Each check prints
   the line that failed; the exit code is the number of failures. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rafter/rafter_c.h"

static int failures = 0;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "line %d: %s (last error: %s)\n", __LINE__, #condition, \
              rafter_last_error());                                           \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

static int refused(rafter_status status, const char* words) {
  return status == RAFTER_INVALID_ARGUMENT && strstr(rafter_last_error(), words) != NULL;
}

/* 3 channels of 6x7 by 3x3 with padding 1. */
static rafter_conv_desc small_desc(void) {
  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.ic = 3;
  desc.oc = 5;
  desc.in_h = 6;
  desc.in_w = 7;
  desc.kernel_h = desc.kernel_w = 3;
  desc.pad_top = desc.pad_left = desc.pad_bottom = desc.pad_right = 1;
  return desc;
}

enum { kWeights = 5 * 27, kSrc = 42 * 3, kDst = 42 * 5 };
static float ones[kWeights + kSrc], bias[5] = {1, 2, 3, 4, 5};

static void test_names(void) {
  CHECK(strcmp(rafter_version(), "0.1.0") == 0);
  CHECK(rafter_last_error() != NULL);
  CHECK(rafter_effective_isa() <= rafter_detected_isa());
  CHECK(rafter_set_max_isa(RAFTER_ISA_NONE) == RAFTER_OK);
  CHECK(rafter_effective_isa() == RAFTER_ISA_NONE);
  CHECK(rafter_set_max_isa(RAFTER_ISA_AVX512) == RAFTER_OK);
  CHECK(refused(rafter_set_max_isa(7), "isa: 7 is unknown"));
}

static void test_create_refuses(void) {
  rafter_conv_desc desc = small_desc();
  rafter_conv* conv = (rafter_conv*)1;
  CHECK(refused(rafter_conv_create(NULL, NULL, &conv), "desc"));
  CHECK(conv == NULL);
  CHECK(refused(rafter_conv_create(&desc, NULL, NULL), "conv"));
  desc.groups = 2;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "ic: 3 is not divisible by groups = 2"));
  desc = small_desc();
  desc.src.layout = 9;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "src.layout: 9"));
  desc = small_desc();
  desc.num_post_ops = 1;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "post_ops: NULL"));
  desc.num_post_ops = 9;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "num_post_ops: 9"));
  rafter_post_op op = {.kind = 77};
  desc.num_post_ops = 1;
  desc.post_ops = &op;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "post_ops[0].kind: 77"));
  op.kind = RAFTER_CHANNEL_SCALE;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "scale: NULL"));

  desc = small_desc();
  rafter_conv_options options = {.struct_bytes = sizeof options, .algorithm = "fft"};
  CHECK(refused(rafter_conv_create(&desc, &options, &conv), "\"fft\" is unknown"));
  options.algorithm = NULL;
  options.threads = -3;
  CHECK(refused(rafter_conv_create(&desc, &options, &conv), "threads: -3"));
  CHECK(conv == NULL);
}

/* Callers with other versions of the header. */
static void test_struct_sizes(void) {
  struct {
    rafter_conv_desc desc;
    int64_t unknown;
  } newer;
  rafter_conv_desc_init_sized(&newer.desc, sizeof newer, sizeof(rafter_post_op));
  newer.desc.ic = newer.desc.oc = newer.desc.in_w = 4;
  rafter_conv* conv = NULL;
  CHECK(newer.unknown == 0);
  CHECK(rafter_conv_create(&newer.desc, NULL, &conv) == RAFTER_OK);
  rafter_conv_destroy(conv);
  newer.unknown = 1;
  CHECK(rafter_conv_create(&newer.desc, NULL, &conv) == RAFTER_UNSUPPORTED);

  rafter_conv_desc desc = small_desc();
  desc.struct_bytes = 8;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "desc.struct_bytes: 8"));
  desc = small_desc();
  rafter_conv_options options = {0};
  CHECK(refused(rafter_conv_create(&desc, &options, &conv), "options.struct_bytes: 0"));

  /* Elements of post_ops may be longer, too. */
  struct {
    rafter_post_op op;
    int64_t unknown;
  } ops[2] = {{.op = {.kind = RAFTER_RELU}}, {.op = {.kind = RAFTER_TANH}}};
  desc.post_ops = &ops[0].op;
  desc.num_post_ops = 2;
  desc.post_op_bytes = sizeof ops[0];
  char text[2000];
  CHECK(rafter_explain(&desc, NULL, text, sizeof text, NULL) == RAFTER_OK);
  CHECK(strstr(text, "post-ops: relu tanh\n") != NULL);
  desc.post_op_bytes = 4;
  CHECK(refused(rafter_conv_create(&desc, NULL, &conv), "post_op_bytes: 4"));
}

static int calls = 0;
static void run_inline(void* context, int64_t num_tasks, void (*task)(void*, int64_t),
                       void* task_context) {
  ++*(int*)context;
  for (int64_t i = 0; i < num_tasks; ++i) task(task_context, i);
}

/* A corner sees four taps of 3 channels, an inner pixel nine; the bias of channel c is c + 1. */
static int right(const float* dst) {
  for (int c = 0; c < 5; ++c) {
    if (dst[c] != 12 + bias[c] || dst[8 * 5 + c] != 27 + bias[c]) return 0;
  }
  return 1;
}

static void test_run(void) {
  rafter_conv_desc desc = small_desc();
  const rafter_conv_options two = {
      .struct_bytes = sizeof two, .threads = 2, .strict = 1, .algorithm = "reference"};
  rafter_conv* conv = NULL;
  rafter_packed_weights *weights = NULL, *loaded = NULL;
  float dst[kDst] = {0};
  CHECK(rafter_conv_create(&desc, &two, &conv) == RAFTER_OK);
  CHECK(rafter_pack_weights(conv, ones, bias, 0, &weights) == RAFTER_OK);
  CHECK(rafter_conv_run(conv, ones, weights, dst, NULL) == RAFTER_OK);
  CHECK(right(dst));

  int64_t h = 0, w = 0;
  rafter_conv_output_size(conv, &h, &w);
  CHECK(h == 6 && w == 7);
  CHECK(rafter_conv_threads(conv) == 2);
  CHECK(strcmp(rafter_conv_algorithm(conv), "reference") == 0);
  CHECK(strncmp(rafter_conv_kernel_name(conv), "reference_f32", 13) == 0);
  CHECK(rafter_conv_isa(conv) == RAFTER_ISA_NONE);

  /* Stored and loaded weights. */
  size_t bytes = 0;
  const void* stored = rafter_packed_weights_bytes(weights, &bytes);
  CHECK(rafter_packed_weights_from_bytes(stored, bytes, &loaded) == RAFTER_OK);
  memset(dst, 0, sizeof dst);
  CHECK(rafter_conv_run(conv, ones, loaded, dst, NULL) == RAFTER_OK);
  CHECK(right(dst));
  rafter_packed_weights_destroy(loaded);
  CHECK(refused(rafter_packed_weights_from_bytes(stored, bytes - 1, &loaded), "packed weights"));
  CHECK(refused(rafter_packed_weights_from_bytes(NULL, 5, &loaded), "data"));

  /* Threads of the caller, then rafter's workers. */
  const rafter_parallel_for pool = {.context = &calls, .concurrency = 4, .run = run_inline};
  rafter_run_options run = {.struct_bytes = sizeof run, .parallel_for = &pool};
  memset(dst, 0, sizeof dst);
  CHECK(rafter_conv_run(conv, ones, weights, dst, &run) == RAFTER_OK);
  CHECK(right(dst) && calls == 1);
  rafter_worker_pool* workers = NULL;
  CHECK(rafter_worker_pool_create(2, 0, 20, &workers) == RAFTER_OK);
  run.workers = workers;
  CHECK(refused(rafter_conv_run(conv, ones, weights, dst, &run), "workers and parallel_for"));
  run.parallel_for = NULL;
  memset(dst, 0, sizeof dst);
  CHECK(rafter_conv_run(conv, ones, weights, dst, &run) == RAFTER_OK);
  CHECK(right(dst));
  rafter_worker_pool_destroy(workers);
  CHECK(refused(rafter_worker_pool_create(-1, 0, 20, &workers), "threads"));
  CHECK(refused(rafter_worker_pool_create(1, 0, 5000, &workers), "spin_us"));

  rafter_packed_weights_destroy(weights);
  rafter_conv_destroy(conv);
}

static void test_run_refuses(void) {
  rafter_conv_desc desc = small_desc();
  const rafter_post_op residual = {.kind = RAFTER_RESIDUAL_ADD};
  desc.post_ops = &residual;
  desc.num_post_ops = 1;
  rafter_conv* conv = NULL;
  rafter_packed_weights* weights = NULL;
  float dst[kDst] = {0};
  CHECK(rafter_conv_create(&desc, NULL, &conv) == RAFTER_OK);
  CHECK(refused(rafter_pack_weights(conv, NULL, bias, 0, &weights), "oihw: is null"));
  CHECK(refused(rafter_pack_weights(NULL, ones, bias, 0, &weights), "conv: NULL"));
  CHECK(rafter_pack_weights(conv, ones, NULL, 1, &weights) == RAFTER_OK);
  CHECK(refused(rafter_conv_run(NULL, ones, weights, dst, NULL), "conv: NULL"));
  CHECK(refused(rafter_conv_run(conv, ones, NULL, dst, NULL), "weights: NULL"));
  CHECK(refused(rafter_conv_run(conv, NULL, weights, dst, NULL), "src: is null"));
  CHECK(refused(rafter_conv_run(conv, ones, weights, dst, NULL), "residuals: wrong number"));
  rafter_run_options run = {.struct_bytes = 3};
  CHECK(refused(rafter_conv_run(conv, ones, weights, dst, &run), "struct_bytes: 3"));
  run.struct_bytes = sizeof run;
  run.num_residuals = 1;
  CHECK(refused(rafter_conv_run(conv, ones, weights, dst, &run), "residuals: NULL"));
  const rafter_parallel_for broken = {.concurrency = 2};
  run.parallel_for = &broken;
  CHECK(refused(rafter_conv_run(conv, ones, weights, dst, &run), "parallel_for.run"));
  run.parallel_for = NULL;
  const float* in_place[] = {dst};
  run.residuals = in_place;
  for (int i = 0; i < kDst; ++i) dst[i] = 100;
  CHECK(rafter_conv_run(conv, ones, weights, dst, &run) == RAFTER_OK);
  CHECK(dst[0] == 112);
  rafter_packed_weights_destroy(weights);
  rafter_conv_destroy(conv);
}

static void test_text_and_cost(void) {
  rafter_conv_desc desc = small_desc();
  rafter_conv* conv = NULL;
  char text[4000], cut[9];
  size_t length = 0;
  CHECK(rafter_conv_create(&desc, NULL, &conv) == RAFTER_OK);
  CHECK(rafter_conv_explain(conv, text, sizeof text) == strlen(text));
  CHECK(strncmp(text, "problem: 1 image of 6x7", 23) == 0);
  CHECK(rafter_conv_explain(conv, NULL, 0) == strlen(text));
  CHECK(rafter_explain(&desc, NULL, cut, sizeof cut, &length) == RAFTER_OK);
  CHECK(strcmp(cut, "problem:") == 0 && length == strlen(text));
  desc.oc = 0;
  CHECK(refused(rafter_explain(&desc, NULL, cut, sizeof cut, &length), "oc: 0"));
  CHECK(cut[0] == '\0' && length == 0);
  rafter_conv_destroy(conv);

  desc = small_desc();
  rafter_conv_cost cost = {.struct_bytes = sizeof cost};
  CHECK(rafter_cost(&desc, &cost) == RAFTER_OK);
  CHECK(cost.flops_valid == 2.0 * 3 * 5 * (3 * 6 - 2) * (3 * 7 - 2));
  CHECK(cost.parameters == kWeights);
  cost.struct_bytes = 0;
  CHECK(refused(rafter_cost(&desc, &cost), "cost.struct_bytes"));
  CHECK(refused(rafter_cost(&desc, NULL), "cost: NULL"));
}

/* Planning by measurement, and its wisdom through a buffer of the caller's. */
static void test_wisdom(void) {
  static char text[1000], again[1000];
  size_t needed = 0;
  rafter_wisdom_forget();
  CHECK(rafter_wisdom_export(text, sizeof text, NULL) == RAFTER_OK);
  CHECK(strcmp(text, "rafter wisdom 1\n") == 0);

  rafter_conv_desc desc;
  rafter_conv_desc_init(&desc);
  desc.ic = desc.oc = 32;
  desc.in_h = desc.in_w = 9;
  rafter_conv_options options = {
      .struct_bytes = sizeof options, .threads = 1, .plan = RAFTER_PLAN_MEASURE};
  rafter_conv* conv = NULL;
  CHECK(rafter_conv_create(&desc, &options, &conv) == RAFTER_OK);
  CHECK(rafter_wisdom_export(NULL, 0, &needed) == RAFTER_OK);
  CHECK(needed <= sizeof text);
  CHECK(refused(rafter_wisdom_export(text, needed - 1, NULL), "is too small, allowed: "));
  CHECK(text[0] == '\0');
  CHECK(refused(rafter_wisdom_export(NULL, 5, NULL), "text: NULL"));
  CHECK(rafter_wisdom_export(text, needed, NULL) == RAFTER_OK);
  CHECK(strlen(text) == needed - 1);
  /* Without vector units there is no choice and nothing to be wise about. */
  if (rafter_effective_isa() != RAFTER_ISA_NONE) {
    CHECK(strstr(text, rafter_conv_algorithm(conv)) != NULL);
  }
  rafter_conv_destroy(conv);

  rafter_wisdom_forget();
  CHECK(rafter_wisdom_import(text, needed - 1) == RAFTER_OK);
  CHECK(rafter_wisdom_export(again, sizeof again, NULL) == RAFTER_OK);
  CHECK(strcmp(text, again) == 0);
  CHECK(refused(rafter_wisdom_import(text, needed), "wisdom, line "));
  CHECK(refused(rafter_wisdom_import("", 0), "wisdom, line 1: is missing"));
  CHECK(refused(rafter_wisdom_import(NULL, 0), "text: NULL"));
  rafter_wisdom_forget();

  options.plan = 2;
  CHECK(refused(rafter_conv_create(&desc, &options, &conv), "plan: 2 is unknown"));
  /* The struct of the first header ends in front of it. */
  options.struct_bytes = offsetof(rafter_conv_options, plan);
  CHECK(rafter_conv_create(&desc, &options, &conv) == RAFTER_OK);
  rafter_conv_destroy(conv);
}

static void test_null(void) {
  rafter_conv_desc_init((rafter_conv_desc*)NULL);
  rafter_conv_destroy(NULL);
  rafter_packed_weights_destroy(NULL);
  rafter_worker_pool_destroy(NULL);
  int64_t h = 5;
  rafter_conv_output_size(NULL, &h, NULL);
  CHECK(h == 0);
  CHECK(rafter_conv_scratch_bytes(NULL) == 0 && rafter_conv_threads(NULL) == 0);
  CHECK(strcmp(rafter_conv_algorithm(NULL), "") == 0);
  CHECK(rafter_conv_explain(NULL, NULL, 0) == 0);
  size_t bytes = 5;
  CHECK(rafter_packed_weights_bytes(NULL, &bytes) == NULL && bytes == 0);
}

/* 2 channels of 3x3 in NCHW, values 0 ... 17. */
static void test_copies(void) {
  float src[18], dst[64];
  for (int i = 0; i < 18; ++i) src[i] = (float)i;
  rafter_reorder_desc to_nhwc = {.struct_bytes = sizeof to_nhwc, .n = 1, .c = 2, .h = 3, .w = 3};
  to_nhwc.src.layout = RAFTER_NCHW;
  rafter_reorder* reorder = NULL;
  CHECK(rafter_reorder_create(&to_nhwc, 1, &reorder) == RAFTER_OK);
  CHECK(rafter_reorder_run(reorder, src, dst, NULL) == RAFTER_OK);
  CHECK(dst[0] == 0 && dst[1] == 9 && dst[2] == 1 && dst[17] == 17);
  CHECK(refused(rafter_reorder_run(reorder, NULL, dst, NULL), "src"));
  CHECK(refused(rafter_reorder_run(NULL, src, dst, NULL), "reorder"));
  rafter_reorder_destroy(reorder);
  to_nhwc.c = 0;
  CHECK(refused(rafter_reorder_create(&to_nhwc, 1, &reorder), "c: 0"));
  CHECK(reorder == NULL);

  rafter_concat_input inputs[2] = {{.size = 2}, {.size = 2}};
  inputs[0].format.layout = inputs[1].format.layout = RAFTER_NCHW;
  rafter_concat_desc join = {.struct_bytes = sizeof join, .axis = RAFTER_AXIS_C, .n = 1, .h = 3, .w = 3,
                             .inputs = inputs, .num_inputs = 2, .input_bytes = sizeof inputs[0]};
  join.dst.layout = RAFTER_NCHW;
  rafter_concat* concat = NULL;
  CHECK(rafter_concat_create(&join, 1, &concat) == RAFTER_OK);
  CHECK(rafter_concat_input_offset(concat, 1) == 18 && rafter_concat_input_offset(concat, 2) == -1);
  const float* two[2] = {src, src};
  rafter_operator_options options = {.struct_bytes = sizeof options, .max_threads = 1};
  CHECK(rafter_concat_run(concat, two, 2, dst, &options) == RAFTER_OK);
  CHECK(dst[17] == 17 && dst[18] == 0 && dst[35] == 17);
  CHECK(refused(rafter_concat_run(concat, two, 1, dst, NULL), "inputs"));
  options.struct_bytes = 1;
  CHECK(refused(rafter_concat_run(concat, two, 2, dst, &options), "struct_bytes"));
  rafter_concat_destroy(concat);
  join.axis = 9;
  CHECK(refused(rafter_concat_create(&join, 1, &concat), "axis: 9 is unknown"));
  join.axis = 256;
  CHECK(refused(rafter_concat_create(&join, 1, &concat), "axis: 256 is unknown"));

  rafter_pad_desc mirror = {.struct_bytes = sizeof mirror, .mode = RAFTER_PAD_REFLECT, .n = 1, .c = 2,
                            .in_h = 3, .in_w = 3, .pad_left = 2};
  mirror.src.layout = mirror.dst.layout = RAFTER_NCHW;
  rafter_pad* pad = NULL;
  CHECK(rafter_pad_create(&mirror, 1, &pad) == RAFTER_OK);
  CHECK(rafter_pad_run(pad, src, dst, NULL) == RAFTER_OK);
  CHECK(dst[0] == 2 && dst[1] == 1 && dst[2] == 0 && dst[5] == 5);
  rafter_pad_destroy(pad);
  mirror.pad_left = 3;
  CHECK(refused(rafter_pad_create(&mirror, 1, &pad), "up to 2"));
  mirror.mode = -1;
  CHECK(refused(rafter_pad_create(&mirror, 1, &pad), "mode: -1 is unknown"));
  rafter_reorder_destroy(NULL);
  rafter_concat_destroy(NULL);
  rafter_pad_destroy(NULL);
}

int main(void) {
  for (int i = 0; i < kWeights + kSrc; ++i) ones[i] = 1;
  test_names();
  test_create_refuses();
  test_struct_sizes();
  test_run();
  test_run_refuses();
  test_text_and_cost();
  test_wisdom();
  test_null();
  test_copies();
  rafter_clear_kernel_cache();
  return failures;
}
