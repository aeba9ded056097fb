// rafter/rafter_c.h: rafter in plain C (C99 and later), for programs and engines in other
// languages.
//
//   rafter_conv_desc desc;
//   rafter_conv_desc_init(&desc);            // sizes of 1, dense NHWC; then set what differs
//   desc.ic = 64; …
//   rafter_conv* conv = NULL;
//   if (rafter_conv_create(&desc, NULL, &conv) != RAFTER_OK) puts(rafter_last_error());
//
// The meaning of every field is that of rafter/conv.h. Functions that can fail return a
// rafter_status; rafter_last_error() then has the text for the calling thread. Objects are released
// by their destroy function, which accepts NULL. A plan and packed weights may be used from several
// threads at once.
//
// Objects carry a mark of their kind. One of another kind (easily passed from languages that only know
// void*), and mostly also one that was destroyed before, is RAFTER_INVALID_ARGUMENT where a status is
// returned, and as good as NULL elsewhere: destroying it does nothing but set rafter_last_error().
//
// Structs that may grow begin with struct_bytes: set it to their size (rafter_conv_desc_init does).
// A library accepts shorter structs of older headers, and longer ones as long as what it does not
// know is zero (up to 4,096 bytes: more is a field that was never set). So it does with elements of
// arrays. Flags are 0 or 1; any other value is refused.
#ifndef RAFTER_RAFTER_C_H_
#define RAFTER_RAFTER_C_H_

#include <stddef.h>
#include <stdint.h>

#include "rafter/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rafter_status {
  RAFTER_OK = 0,
  RAFTER_INVALID_ARGUMENT = 1,
  RAFTER_UNSUPPORTED = 2,
  RAFTER_OUT_OF_MEMORY = 3,
  RAFTER_INTERNAL = 4
} rafter_status;

// Text of the last failure on this thread, "" before the first. Valid until the next failure there.
RAFTER_EXPORT const char* rafter_last_error(void);
// Version of the loaded library, "0.1.0".
RAFTER_EXPORT const char* rafter_version(void);

typedef enum rafter_isa {
  RAFTER_ISA_NONE = 0,
  RAFTER_ISA_AVX2 = 1,
  RAFTER_ISA_AVX512 = 2
} rafter_isa;

RAFTER_EXPORT rafter_isa rafter_detected_isa(void);
RAFTER_EXPORT rafter_isa rafter_effective_isa(void);
// Caps the set used by plans that are created from now on, in the whole process.
RAFTER_EXPORT rafter_status rafter_set_max_isa(int32_t isa);  // a rafter_isa

typedef enum rafter_layout {
  RAFTER_NHWC = 0,
  RAFTER_NCHW = 1,
  RAFTER_NCHW16C = 2,
  RAFTER_NCHW8C = 3
} rafter_layout;

// In elements. In a format, all zero means dense.
typedef struct rafter_strides {
  int64_t n, c, h, w;
} rafter_strides;

typedef struct rafter_format {
  int32_t layout;  // a rafter_layout
  rafter_strides strides;
} rafter_format;

typedef enum rafter_post_op_kind {
  RAFTER_RELU = 1,
  RAFTER_LEAKY_RELU,  // alpha
  RAFTER_CLIP,        // alpha = low, beta = high
  RAFTER_HARD_SWISH,
  RAFTER_HARD_SIGMOID,  // alpha, beta
  RAFTER_SIGMOID,
  RAFTER_SWISH,  // alpha
  RAFTER_TANH,
  RAFTER_GELU,
  RAFTER_ELU,           // alpha
  RAFTER_RESIDUAL_ADD,  // residual_strides, all zero: those of the output
  RAFTER_CHANNEL_SCALE  // scale: oc values, copied by rafter_conv_create
} rafter_post_op_kind;

typedef struct rafter_post_op {
  int32_t kind;  // a rafter_post_op_kind
  float alpha, beta;
  const float* scale;
  rafter_strides residual_strides;
} rafter_post_op;

typedef struct rafter_conv_desc {
  size_t struct_bytes;
  int64_t n, groups, ic, oc;
  int64_t in_h, in_w, kernel_h, kernel_w;
  int64_t stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  rafter_format src, dst;
  int32_t bias;  // 0 or 1
  int32_t num_post_ops;
  const rafter_post_op* post_ops;
  size_t post_op_bytes;  // size of one element of post_ops, set by rafter_conv_desc_init
} rafter_conv_desc;

// Sets every field to its default: batch, groups, kernel, strides and dilations 1, sizes of the
// structs, the rest 0. The macro passes the sizes that the caller's header knows.
#define rafter_conv_desc_init(desc) \
  rafter_conv_desc_init_sized((desc), sizeof(rafter_conv_desc), sizeof(rafter_post_op))
RAFTER_EXPORT void rafter_conv_desc_init_sized(rafter_conv_desc* desc, size_t struct_bytes,
                                               size_t post_op_bytes);

// How the algorithm is chosen: by predicted times, or by running the candidates (rafter/conv.h,
// Planning).
typedef enum rafter_planning { RAFTER_PLAN_MODEL = 0, RAFTER_PLAN_MEASURE = 1 } rafter_planning;

// Aligned, reusable memory, see rafter/memory_pool.h. Thread-safe.
typedef struct rafter_memory_pool rafter_memory_pool;

typedef struct rafter_memory_pool_stats {
  size_t struct_bytes;  // set before the call
  size_t mapped_bytes, in_use_bytes, peak_in_use_bytes, system_calls, rejected_frees;
} rafter_memory_pool_stats;

// Maps at most limit_bytes from the system; 0 = without a limit.
RAFTER_EXPORT rafter_status rafter_memory_pool_create(size_t limit_bytes, rafter_memory_pool** pool);
// RAFTER_INVALID_ARGUMENT while blocks are in use, packed weights among them: the pool stays.
RAFTER_EXPORT rafter_status rafter_memory_pool_destroy(rafter_memory_pool* pool);
// `pool` NULL is the library's own pool. A block of at least `bytes`, aligned to 64 bytes; NULL when limit or memory
// is exhausted.
RAFTER_EXPORT void* rafter_memory_pool_allocate(rafter_memory_pool* pool, size_t bytes);
// What is no block in use of this pool is left alone and counted in rejected_frees.
RAFTER_EXPORT void rafter_memory_pool_free(rafter_memory_pool* pool, void* block);
// Returns unused memory to the system.
RAFTER_EXPORT void rafter_memory_pool_trim(rafter_memory_pool* pool);
RAFTER_EXPORT rafter_status rafter_memory_pool_get_stats(const rafter_memory_pool* pool,
                                                         rafter_memory_pool_stats* stats);

// An activation of a network: it exists from the step that writes it to the last one that reads it.
typedef struct rafter_activation {
  size_t bytes;
  int32_t first_step, last_step;
} rafter_activation;

// Lays out `count` activations in one arena (rafter/arena_plan.h): offsets[i], a multiple of 64, is the place of
// activation i; *arena_bytes is what they need together, *busiest_bytes (may be NULL) what no layout can undercut. On
// failure both become 0 and the offsets stay as they are.
RAFTER_EXPORT rafter_status rafter_plan_arena(const rafter_activation* activations, size_t count, size_t* offsets,
                                              size_t* arena_bytes, size_t* busiest_bytes);

// {.struct_bytes = sizeof(rafter_conv_options)} are the defaults.
typedef struct rafter_conv_options {
  size_t struct_bytes;
  int32_t threads;        // 0 = those of the OpenMP backend
  int32_t strict;         // 1: direct summation only
  const char* algorithm;  // NULL: the cheapest
  int32_t plan;           // a rafter_planning
  // RAFTER_PLAN_MEASURE only: where the memory for the measurement comes from; NULL: the system.
  rafter_memory_pool* pool;
} rafter_conv_options;

typedef struct rafter_conv rafter_conv;
typedef struct rafter_packed_weights rafter_packed_weights;
typedef struct rafter_worker_pool rafter_worker_pool;

// `options` may be NULL. On failure *conv becomes NULL.
RAFTER_EXPORT rafter_status rafter_conv_create(const rafter_conv_desc* desc,
                                               const rafter_conv_options* options,
                                               rafter_conv** conv);
RAFTER_EXPORT void rafter_conv_destroy(rafter_conv* conv);

// Questions to a plan. A NULL plan has size, scratch and threads 0, no ISA and empty names.
RAFTER_EXPORT void rafter_conv_output_size(const rafter_conv* conv, int64_t* height,
                                           int64_t* width);
RAFTER_EXPORT size_t rafter_conv_scratch_bytes(const rafter_conv* conv);
RAFTER_EXPORT int32_t rafter_conv_threads(const rafter_conv* conv);
RAFTER_EXPORT rafter_isa rafter_conv_isa(const rafter_conv* conv);
// Both live as long as the plan.
RAFTER_EXPORT const char* rafter_conv_algorithm(const rafter_conv* conv);
RAFTER_EXPORT const char* rafter_conv_kernel_name(const rafter_conv* conv);
// What the algorithm itself computes and moves where it is no direct sum (transforms 1); see rafter/cost.h.
typedef struct rafter_algorithm_work {
  size_t struct_bytes;  // set before the call
  int32_t transforms;   // 0: a direct sum; rafter_cost is all there is to say
  double flops, load_bytes, store_bytes, intermediate_bytes, block_bytes;
} rafter_algorithm_work;
RAFTER_EXPORT rafter_status rafter_conv_work(const rafter_conv* conv, rafter_algorithm_work* work);
// Writes at most `bytes` bytes including the final zero; returns the length of the whole text,
// without that zero. `text` may be NULL when `bytes` is 0.
RAFTER_EXPORT size_t rafter_conv_explain(const rafter_conv* conv, char* text, size_t bytes);

// Dense weights [oc][ic / groups][kernel_h][kernel_w]; `bias` of oc values, or NULL for zeros.
RAFTER_EXPORT rafter_status rafter_pack_weights(const rafter_conv* conv, const float* oihw,
                                                const float* bias, int32_t flush_denormals,
                                                rafter_packed_weights** weights);
// The same with memory from `pool` (NULL: the library's own), which must outlive the weights.
RAFTER_EXPORT rafter_status rafter_pack_weights_in(rafter_memory_pool* pool, const rafter_conv* conv, const float* oihw,
                                                   const float* bias, int32_t flush_denormals,
                                                   rafter_packed_weights** weights);
// The whole object as bytes, to be stored; they live as long as the object.
RAFTER_EXPORT const void* rafter_packed_weights_bytes(const rafter_packed_weights* weights,
                                                      size_t* bytes);
// Copies stored bytes back. Damage and other versions are RAFTER_INVALID_ARGUMENT.
RAFTER_EXPORT rafter_status rafter_packed_weights_from_bytes(const void* data, size_t bytes,
                                                             rafter_packed_weights** weights);
RAFTER_EXPORT void rafter_packed_weights_destroy(rafter_packed_weights* weights);

// rafter's own workers. threads 0 = one per allowed core; pin 1 binds each worker to one CPU; an
// idle worker spins for spin_us (0 to 1,000) before it sleeps.
RAFTER_EXPORT rafter_status rafter_worker_pool_create(int32_t threads, int32_t pin, int32_t spin_us,
                                                      rafter_worker_pool** pool);
RAFTER_EXPORT void rafter_worker_pool_destroy(rafter_worker_pool* pool);

// A pool of the caller. `run` calls task(task_context, i) once for each i in [0, num_tasks), on any
// threads, and returns when all have ended.
typedef struct rafter_parallel_for {
  void* context;
  int32_t concurrency;  // how many tasks can run at the same time, at least 1
  void (*run)(void* context, int64_t num_tasks, void (*task)(void* task_context, int64_t index),
              void* task_context);
} rafter_parallel_for;

// {.struct_bytes = sizeof(rafter_run_options)} are the defaults. At most one of `workers` and
// `parallel_for` may be set; without either, OpenMP is used.
typedef struct rafter_run_options {
  size_t struct_bytes;
  const float* const* residuals;  // one per RAFTER_RESIDUAL_ADD
  size_t num_residuals;
  void* scratch;  // rafter_conv_scratch_bytes() or more, aligned to 64 bytes, or NULL
  size_t scratch_bytes;
  rafter_worker_pool* workers;
  const rafter_parallel_for* parallel_for;
  int32_t max_threads;  // 0 = the plan's own count
  rafter_memory_pool* pool;  // where scratch comes from when `scratch` is NULL; NULL: the library's own pool
} rafter_run_options;

// `options` may be NULL.
RAFTER_EXPORT rafter_status rafter_conv_run(const rafter_conv* conv, const float* src,
                                            const rafter_packed_weights* weights, float* dst,
                                            const rafter_run_options* options);

// --- copies: rafter/reorder.h, rafter/concat.h, rafter/pad.h ---
// Descriptions begin with struct_bytes; set every size (a batch of 0 is no work). `threads` is what the plan is laid
// out for, 0 = those of the OpenMP backend. On failure the plan becomes NULL. A NULL plan has an empty kernel name, no
// ISA and 0 threads, here and with the operators below.

// {.struct_bytes = sizeof(rafter_operator_options)} are the defaults. At most one of `workers` and `parallel_for` may
// be set; without either, OpenMP is used.
typedef struct rafter_operator_options {
  size_t struct_bytes;
  rafter_worker_pool* workers;
  const rafter_parallel_for* parallel_for;
  int32_t max_threads;  // 0 = the plan's own count
} rafter_operator_options;

typedef struct rafter_reorder_desc {
  size_t struct_bytes;
  int64_t n, c, h, w;
  rafter_format src, dst;
} rafter_reorder_desc;

typedef struct rafter_reorder rafter_reorder;
RAFTER_EXPORT rafter_status rafter_reorder_create(const rafter_reorder_desc* desc, int32_t threads,
                                                  rafter_reorder** reorder);
RAFTER_EXPORT void rafter_reorder_destroy(rafter_reorder* reorder);
// Name of the kernel that does most of the work (as long as the plan lives), its instruction set, the plan's threads.
RAFTER_EXPORT const char* rafter_reorder_kernel_name(const rafter_reorder* reorder);
RAFTER_EXPORT rafter_isa rafter_reorder_isa(const rafter_reorder* reorder);
RAFTER_EXPORT int32_t rafter_reorder_threads(const rafter_reorder* reorder);
// `options` may be NULL.
RAFTER_EXPORT rafter_status rafter_reorder_run(const rafter_reorder* reorder, const float* src, float* dst,
                                               const rafter_operator_options* options);

typedef enum rafter_axis { RAFTER_AXIS_N = 0, RAFTER_AXIS_C = 1, RAFTER_AXIS_H = 2, RAFTER_AXIS_W = 3 } rafter_axis;

typedef struct rafter_concat_input {
  int64_t size;  // along the axis
  rafter_format format;
} rafter_concat_input;

typedef struct rafter_concat_desc {
  size_t struct_bytes;
  int32_t axis;        // a rafter_axis
  int64_t n, c, h, w;  // the one along the axis is ignored
  const rafter_concat_input* inputs;
  size_t num_inputs;
  size_t input_bytes;  // sizeof(rafter_concat_input)
  rafter_format dst;
} rafter_concat_desc;

typedef struct rafter_concat rafter_concat;
RAFTER_EXPORT rafter_status rafter_concat_create(const rafter_concat_desc* desc, int32_t threads,
                                                 rafter_concat** concat);
RAFTER_EXPORT void rafter_concat_destroy(rafter_concat* concat);
// Size along the axis; 0 for a NULL plan.
RAFTER_EXPORT int64_t rafter_concat_output_size(const rafter_concat* concat);
RAFTER_EXPORT const char* rafter_concat_kernel_name(const rafter_concat* concat);
RAFTER_EXPORT rafter_isa rafter_concat_isa(const rafter_concat* concat);
RAFTER_EXPORT int32_t rafter_concat_threads(const rafter_concat* concat);
// Where input `index` begins in the result, in elements: producers that write there make the copy free. -1 for a NULL
// plan or an index beyond the inputs.
RAFTER_EXPORT int64_t rafter_concat_input_offset(const rafter_concat* concat, size_t index);
RAFTER_EXPORT rafter_status rafter_concat_run(const rafter_concat* concat, const float* const* inputs,
                                              size_t num_inputs, float* dst, const rafter_operator_options* options);

typedef enum rafter_pad_mode {
  RAFTER_PAD_CONSTANT = 0,
  RAFTER_PAD_EDGE = 1,
  RAFTER_PAD_REFLECT = 2
} rafter_pad_mode;

typedef struct rafter_pad_desc {
  size_t struct_bytes;
  int32_t mode;  // a rafter_pad_mode
  float value;
  int64_t n, c, in_h, in_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  rafter_format src, dst;
} rafter_pad_desc;

typedef struct rafter_pad rafter_pad;
RAFTER_EXPORT rafter_status rafter_pad_create(const rafter_pad_desc* desc, int32_t threads, rafter_pad** pad);
RAFTER_EXPORT void rafter_pad_destroy(rafter_pad* pad);
// A NULL plan has the size 0.
RAFTER_EXPORT void rafter_pad_output_size(const rafter_pad* pad, int64_t* height, int64_t* width);
RAFTER_EXPORT const char* rafter_pad_kernel_name(const rafter_pad* pad);
RAFTER_EXPORT rafter_isa rafter_pad_isa(const rafter_pad* pad);
RAFTER_EXPORT int32_t rafter_pad_threads(const rafter_pad* pad);
RAFTER_EXPORT rafter_status rafter_pad_run(const rafter_pad* pad, const float* src, float* dst,
                                           const rafter_operator_options* options);

typedef struct rafter_conv_cost {
  size_t struct_bytes;  // set before the call
  double flops_valid, flops_nominal, flops_extra, macs_valid;
  int64_t parameters;
  double src_bytes, weights_bytes, dst_bytes, residual_bytes, bytes, footprint_bytes;
  double intensity;
} rafter_conv_cost;

RAFTER_EXPORT rafter_status rafter_cost(const rafter_conv_desc* desc, rafter_conv_cost* cost);

// The listing of rafter_conv_explain without keeping a plan. `length` (may be NULL) becomes the
// length of the whole text.
RAFTER_EXPORT rafter_status rafter_explain(const rafter_conv_desc* desc,
                                           const rafter_conv_options* options, char* text,
                                           size_t bytes, size_t* length);

// What RAFTER_PLAN_MEASURE found out in this process, as text (rafter/wisdom.h). *needed (may be NULL)
// becomes its length with the final zero. `text` may be NULL when `bytes` is 0, to ask for that. A
// buffer that is too small is RAFTER_INVALID_ARGUMENT and gets an empty text.
RAFTER_EXPORT rafter_status rafter_wisdom_export(char* text, size_t bytes, size_t* needed);
// `text` has `bytes` bytes and needs no final zero. A failed import changes nothing.
RAFTER_EXPORT rafter_status rafter_wisdom_import(const char* text, size_t bytes);
RAFTER_EXPORT void rafter_wisdom_forget(void);

// --- element-wise chains, pooling, softmax: rafter/eltwise.h, pool.h, softmax.h say what the fields mean ---
// `threads` as in rafter_conv_options; options may be NULL. On failure *op becomes NULL. Every destroy function accepts
// NULL.

typedef enum rafter_eltwise_kind {
  RAFTER_ELTWISE_RELU = 1,
  RAFTER_ELTWISE_LEAKY_RELU,    // alpha
  RAFTER_ELTWISE_PRELU,         // scale
  RAFTER_ELTWISE_CLIP,          // alpha = low, beta = high
  RAFTER_ELTWISE_ABS,
  RAFTER_ELTWISE_NEG,
  RAFTER_ELTWISE_EXP,
  RAFTER_ELTWISE_LOG,
  RAFTER_ELTWISE_SQRT,
  RAFTER_ELTWISE_SIGMOID,
  RAFTER_ELTWISE_TANH,
  RAFTER_ELTWISE_GELU,
  RAFTER_ELTWISE_GELU_TANH,
  RAFTER_ELTWISE_SWISH,         // alpha
  RAFTER_ELTWISE_ELU,           // alpha
  RAFTER_ELTWISE_HARD_SWISH,
  RAFTER_ELTWISE_HARD_SIGMOID,  // alpha, beta
  RAFTER_ELTWISE_LINEAR,        // alpha * x + beta
  RAFTER_ELTWISE_CHANNEL_LINEAR,  // scale, shift
  RAFTER_ELTWISE_ADD,           // from here on with the next operand
  RAFTER_ELTWISE_SUB,
  RAFTER_ELTWISE_MUL,
  RAFTER_ELTWISE_DIV,
  RAFTER_ELTWISE_MIN,
  RAFTER_ELTWISE_MAX
} rafter_eltwise_kind;

typedef struct rafter_eltwise_op {
  int32_t kind;  // a rafter_eltwise_kind
  float alpha, beta;
  const float* scale;  // c values each, copied by rafter_eltwise_create
  const float* shift;
  int32_t one_n, one_c, one_h, one_w;  // dimensions along which the operand is broadcast
  rafter_strides operand_strides;      // all zero: dense
} rafter_eltwise_op;

typedef struct rafter_eltwise_desc {
  size_t struct_bytes;
  int64_t n, c, h, w;
  rafter_format src, dst;
  int32_t num_ops;
  const rafter_eltwise_op* ops;
  size_t op_bytes;  // sizeof(rafter_eltwise_op)
} rafter_eltwise_desc;

typedef struct rafter_eltwise rafter_eltwise;
RAFTER_EXPORT rafter_status rafter_eltwise_create(const rafter_eltwise_desc* desc, int32_t threads,
                                                  rafter_eltwise** op);
RAFTER_EXPORT rafter_status rafter_eltwise_run(const rafter_eltwise* op, const float* src, float* dst,
                                               const float* const* operands, size_t num_operands,
                                               const rafter_operator_options* options);
RAFTER_EXPORT void rafter_eltwise_destroy(rafter_eltwise* op);
RAFTER_EXPORT const char* rafter_eltwise_kernel_name(const rafter_eltwise* op);
RAFTER_EXPORT rafter_isa rafter_eltwise_isa(const rafter_eltwise* op);
RAFTER_EXPORT int32_t rafter_eltwise_threads(const rafter_eltwise* op);

typedef enum rafter_pooling_kind { RAFTER_POOLING_MAX = 1, RAFTER_POOLING_AVERAGE } rafter_pooling_kind;

typedef struct rafter_pooling_desc {
  size_t struct_bytes;
  int32_t kind;  // a rafter_pooling_kind
  int32_t ceil_mode, count_include_pad;
  int64_t n, c, in_h, in_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left, pad_bottom, pad_right;
  rafter_format src, dst;
} rafter_pooling_desc;

typedef struct rafter_pooling rafter_pooling;
RAFTER_EXPORT rafter_status rafter_pooling_create(const rafter_pooling_desc* desc, int32_t threads,
                                                  rafter_pooling** op);
RAFTER_EXPORT void rafter_pooling_output_size(const rafter_pooling* op, int64_t* height, int64_t* width);
RAFTER_EXPORT rafter_status rafter_pooling_run(const rafter_pooling* op, const float* src, float* dst,
                                               const rafter_operator_options* options);
RAFTER_EXPORT void rafter_pooling_destroy(rafter_pooling* op);
RAFTER_EXPORT const char* rafter_pooling_kernel_name(const rafter_pooling* op);
RAFTER_EXPORT rafter_isa rafter_pooling_isa(const rafter_pooling* op);
RAFTER_EXPORT int32_t rafter_pooling_threads(const rafter_pooling* op);

typedef struct rafter_softmax_desc {
  size_t struct_bytes;
  int64_t n, c, h, w;
  rafter_format src, dst;
} rafter_softmax_desc;

typedef struct rafter_softmax rafter_softmax;
RAFTER_EXPORT rafter_status rafter_softmax_create(const rafter_softmax_desc* desc, int32_t threads,
                                                  rafter_softmax** op);
RAFTER_EXPORT rafter_status rafter_softmax_run(const rafter_softmax* op, const float* src, float* dst,
                                               const rafter_operator_options* options);
RAFTER_EXPORT void rafter_softmax_destroy(rafter_softmax* op);
RAFTER_EXPORT const char* rafter_softmax_kernel_name(const rafter_softmax* op);
RAFTER_EXPORT rafter_isa rafter_softmax_isa(const rafter_softmax* op);
RAFTER_EXPORT int32_t rafter_softmax_threads(const rafter_softmax* op);

// Drops all compiled kernels that no plan uses.
RAFTER_EXPORT void rafter_clear_kernel_cache(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // RAFTER_RAFTER_C_H_
