// kernels/c_interface.cc: rafter_c.h on top of the C++ interface. Converts structs, keeps the text
// of the last failure per thread, and lets no exception out. Not for: decisions of any kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "rafter/rafter.h"
#include "rafter/rafter_c.h"

struct rafter_conv {
  rafter::Conv conv;
};
struct rafter_packed_weights {
  rafter::PackedWeights weights;
};
struct rafter_worker_pool {
  std::unique_ptr<rafter::WorkerPool> pool;
};

namespace rafter {
namespace {

static_assert(static_cast<int>(StatusCode::kInternal) == RAFTER_INTERNAL);
static_assert(static_cast<int>(Isa::kAvx512) == RAFTER_ISA_AVX512);
static_assert(static_cast<int>(Layout::kNchw8c) == RAFTER_NCHW8C);
static_assert(static_cast<int>(PostOpKind::kChannelScale) == RAFTER_CHANNEL_SCALE);

thread_local Status last_failure;

rafter_status Report(const Status& status) noexcept {
  if (!status.ok()) last_failure = status;
  return static_cast<rafter_status>(status.code());
}

rafter_status Invalid(const char* message) noexcept {
  return Report(Status(StatusCode::kInvalidArgument, message));
}

// Runs `body`, which returns a Status and may throw bad_alloc.
template <typename Body>
rafter_status Guarded(const Body& body) noexcept {
  try {
    return Report(body());
  } catch (const std::bad_alloc&) {
    return Report(Status::OutOfMemory());
  } catch (...) {
    return Report(Status(StatusCode::kInternal, "unexpected exception"));
  }
}

bool IsDense(const rafter_strides& s) { return s.n == 0 && s.c == 0 && s.h == 0 && s.w == 0; }

std::optional<Strides> ToStrides(const rafter_strides& s) {
  if (IsDense(s)) return std::nullopt;
  return Strides{s.n, s.c, s.h, s.w};
}

TensorFormat ToFormat(const rafter_format& format) {
  return {static_cast<Layout>(format.layout), ToStrides(format.strides)};
}

Result<PostOps> ToPostOps(const rafter_conv_desc& desc) {
  if (desc.num_post_ops < 0 || desc.num_post_ops > kMaxPostOps) {
    return Status::InvalidArgument("num_post_ops: " + std::to_string(desc.num_post_ops) +
                                   " is outside of 0 … " + std::to_string(kMaxPostOps));
  }
  if (desc.num_post_ops > 0 && desc.post_ops == nullptr) {
    return Status(StatusCode::kInvalidArgument, "post_ops: NULL, but num_post_ops is not 0");
  }
  PostOps post_ops;
  for (int32_t i = 0; i < desc.num_post_ops; ++i) {
    const rafter_post_op& op = desc.post_ops[i];
    if (op.kind < RAFTER_RELU || op.kind > RAFTER_CHANNEL_SCALE) {
      return Status::InvalidArgument("post_ops[" + std::to_string(i) + "].kind: " +
                                     std::to_string(op.kind) + " is unknown, allowed: 1 … 12");
    }
    PostOp converted{static_cast<PostOpKind>(op.kind), op.alpha, op.beta, {}, {}};
    converted.residual_strides = ToStrides(op.residual_strides);
    if (op.kind == RAFTER_CHANNEL_SCALE) {
      if (op.scale == nullptr) {
        return Status(StatusCode::kInvalidArgument, "scale: NULL in a RAFTER_CHANNEL_SCALE");
      }
      // An oc that is out of range is refused by the validation that follows; do not read by it.
      constexpr int64_t kMaxScaleValues = int64_t{1} << 32;
      if (desc.oc > 0 && desc.oc < kMaxScaleValues)
        converted.scale.assign(op.scale, op.scale + desc.oc);
    }
    post_ops.push_back(std::move(converted));
  }
  return post_ops;
}

Result<ConvDesc> ToDesc(const rafter_conv_desc* c) {
  if (c == nullptr) return Status(StatusCode::kInvalidArgument, "desc: NULL");
  ConvDesc desc{.n = c->n, .groups = c->groups, .ic = c->ic, .oc = c->oc};
  desc.in = {c->in_h, c->in_w};
  desc.kernel = {c->kernel_h, c->kernel_w};
  desc.stride = {c->stride_h, c->stride_w};
  desc.dilation = {c->dilation_h, c->dilation_w};
  desc.pad = {c->pad_top, c->pad_left, c->pad_bottom, c->pad_right};
  desc.src = ToFormat(c->src);
  desc.dst = ToFormat(c->dst);
  desc.bias = c->bias != 0;
  Result<PostOps> post_ops = ToPostOps(*c);
  if (!post_ops.ok()) return post_ops.status();
  desc.post_ops = std::move(post_ops).value();
  return desc;
}

// The caller's pool as a ParallelFor, for the time of one call.
class CallerThreads : public ParallelFor {
 public:
  explicit CallerThreads(const rafter_parallel_for& pool) : pool_(pool) {}
  int concurrency() const noexcept override { return std::max<int32_t>(1, pool_.concurrency); }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    pool_.run(pool_.context, num_tasks, task, context);
  }

 private:
  const rafter_parallel_for& pool_;
};

Status Run(const rafter_conv& conv, const float* src, const rafter_packed_weights& weights,
           float* dst, const rafter_run_options& options) noexcept {
  RunOptions run;
  if (options.num_residuals > 0) run.residuals = {options.residuals, options.num_residuals};
  if (options.scratch != nullptr) {
    run.scratch = {static_cast<std::byte*>(options.scratch), options.scratch_bytes};
  }
  run.max_threads = options.max_threads;
  if (options.workers != nullptr) run.threads = options.workers->pool.get();
  if (options.parallel_for == nullptr) return conv.conv.Run(src, weights.weights, dst, run);
  CallerThreads threads(*options.parallel_for);
  run.threads = &threads;
  return conv.conv.Run(src, weights.weights, dst, run);
}

}  // namespace
}  // namespace rafter

extern "C" {

const char* rafter_last_error(void) { return rafter::last_failure.message().data(); }

const char* rafter_version(void) { return rafter::Version(); }

rafter_isa rafter_detected_isa(void) { return static_cast<rafter_isa>(rafter::DetectedIsa()); }

rafter_isa rafter_effective_isa(void) { return static_cast<rafter_isa>(rafter::EffectiveIsa()); }

rafter_status rafter_set_max_isa(rafter_isa isa) {
  if (isa < RAFTER_ISA_NONE || isa > RAFTER_ISA_AVX512)
    return rafter::Invalid("isa: unknown value");
  rafter::SetMaxIsa(static_cast<rafter::Isa>(isa));
  return RAFTER_OK;
}

void rafter_conv_desc_init(rafter_conv_desc* desc) {
  if (desc == nullptr) return;
  *desc = rafter_conv_desc{};
  desc->n = desc->groups = 1;
  desc->in_h = desc->kernel_h = desc->kernel_w = 1;
  desc->stride_h = desc->stride_w = desc->dilation_h = desc->dilation_w = 1;
}

rafter_status rafter_conv_create(const rafter_conv_desc* desc, const rafter_conv_options* options,
                                 rafter_conv** conv) {
  if (conv == nullptr) return rafter::Invalid("conv: NULL");
  *conv = nullptr;
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::Result<rafter::ConvDesc> converted = rafter::ToDesc(desc);
    if (!converted.ok()) return converted.status();
    rafter::ConvOptions create;
    if (options != nullptr) {
      create.threads = options->threads;
      create.accuracy =
          options->strict != 0 ? rafter::Accuracy::kStrict : rafter::Accuracy::kDefault;
      if (options->algorithm != nullptr) create.algorithm = options->algorithm;
    }
    rafter::Result<rafter::Conv> plan = rafter::Conv::Create(*converted, create);
    if (!plan.ok()) return plan.status();
    *conv = new rafter_conv{std::move(plan).value()};
    return {};
  });
}

void rafter_conv_destroy(rafter_conv* conv) { delete conv; }

void rafter_conv_output_size(const rafter_conv* conv, int64_t* height, int64_t* width) {
  const rafter::Size2 size = conv->conv.output_size();
  if (height != nullptr) *height = size.h;
  if (width != nullptr) *width = size.w;
}

size_t rafter_conv_scratch_bytes(const rafter_conv* conv) { return conv->conv.scratch_bytes(); }

int32_t rafter_conv_threads(const rafter_conv* conv) { return conv->conv.threads(); }

rafter_isa rafter_conv_isa(const rafter_conv* conv) {
  return static_cast<rafter_isa>(conv->conv.isa());
}

const char* rafter_conv_algorithm(const rafter_conv* conv) { return conv->conv.algorithm(); }

const char* rafter_conv_kernel_name(const rafter_conv* conv) {
  return conv->conv.kernel_name().c_str();
}

size_t rafter_conv_explain(const rafter_conv* conv, char* text, size_t bytes) {
  size_t length = 0;
  (void)rafter::Guarded([&]() -> rafter::Status {
    const std::string listing = conv->conv.Explain();
    length = listing.size();
    if (text != nullptr && bytes > 0) {
      const size_t copied = std::min(length, bytes - 1);
      std::memcpy(text, listing.data(), copied);
      text[copied] = '\0';
    }
    return {};
  });
  return length;
}

rafter_status rafter_pack_weights(const rafter_conv* conv, const float* oihw, const float* bias,
                                  int32_t flush_denormals, rafter_packed_weights** weights) {
  if (weights == nullptr) return rafter::Invalid("weights: NULL");
  *weights = nullptr;
  if (conv == nullptr) return rafter::Invalid("conv: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::PackOptions options;
    options.flush_denormals = flush_denormals != 0;
    rafter::Result<rafter::PackedWeights> packed = conv->conv.PackWeights(oihw, bias, options);
    if (!packed.ok()) return packed.status();
    *weights = new rafter_packed_weights{std::move(packed).value()};
    return {};
  });
}

const void* rafter_packed_weights_bytes(const rafter_packed_weights* weights, size_t* bytes) {
  const auto span = weights->weights.bytes();
  if (bytes != nullptr) *bytes = span.size();
  return span.data();
}

rafter_status rafter_packed_weights_from_bytes(const void* data, size_t bytes,
                                               rafter_packed_weights** weights) {
  if (weights == nullptr) return rafter::Invalid("weights: NULL");
  *weights = nullptr;
  if (data == nullptr) return rafter::Invalid("data: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    auto packed = rafter::PackedWeights::FromBytes({static_cast<const std::byte*>(data), bytes});
    if (!packed.ok()) return packed.status();
    *weights = new rafter_packed_weights{std::move(packed).value()};
    return {};
  });
}

void rafter_packed_weights_destroy(rafter_packed_weights* weights) { delete weights; }

rafter_status rafter_worker_pool_create(int32_t threads, int32_t pin, rafter_worker_pool** pool) {
  if (pool == nullptr) return rafter::Invalid("pool: NULL");
  *pool = nullptr;
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::WorkerPoolOptions options;
    options.threads = threads;
    options.pin = pin != 0;
    auto workers = rafter::WorkerPool::Create(options);
    if (!workers.ok()) return workers.status();
    *pool = new rafter_worker_pool{std::move(workers).value()};
    return {};
  });
}

void rafter_worker_pool_destroy(rafter_worker_pool* pool) { delete pool; }

rafter_status rafter_conv_run(const rafter_conv* conv, const float* src,
                              const rafter_packed_weights* weights, float* dst,
                              const rafter_run_options* options) {
  if (conv == nullptr) return rafter::Invalid("conv: NULL");
  if (weights == nullptr) return rafter::Invalid("weights: NULL");
  const rafter_run_options defaults = {};
  if (options == nullptr) options = &defaults;
  if (options->workers != nullptr && options->parallel_for != nullptr) {
    return rafter::Invalid("workers and parallel_for: only one of them may be set");
  }
  if (options->parallel_for != nullptr && options->parallel_for->run == nullptr) {
    return rafter::Invalid("parallel_for.run: NULL");
  }
  if (options->num_residuals > 0 && options->residuals == nullptr) {
    return rafter::Invalid("residuals: NULL, but num_residuals is not 0");
  }
  return rafter::Report(rafter::Run(*conv, src, *weights, dst, *options));
}

rafter_status rafter_cost(const rafter_conv_desc* desc, rafter_conv_cost* cost) {
  if (cost == nullptr) return rafter::Invalid("cost: NULL");
  *cost = {};
  return rafter::Guarded([&]() -> rafter::Status {
    const rafter::Result<rafter::ConvDesc> converted = rafter::ToDesc(desc);
    if (!converted.ok()) return converted.status();
    const rafter::Result<rafter::ConvCost> result = rafter::CostOf(*converted);
    if (!result.ok()) return result.status();
    const rafter::ConvCost& c = *result;
    *cost = {.flops_valid = c.flops_valid,
             .flops_nominal = c.flops_nominal,
             .flops_extra = c.flops_extra,
             .macs_valid = c.macs_valid,
             .parameters = c.parameters,
             .src_bytes = c.src_bytes,
             .weights_bytes = c.weights_bytes,
             .dst_bytes = c.dst_bytes,
             .residual_bytes = c.residual_bytes,
             .bytes = c.bytes,
             .footprint_bytes = c.footprint_bytes,
             .intensity = c.intensity};
    return {};
  });
}

void rafter_clear_kernel_cache(void) { rafter::ClearKernelCache(); }

}  // extern "C"
