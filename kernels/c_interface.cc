// kernels/c_interface.cc: rafter_c.h on top of the C++ interface. Keeps the text of the last
// failure per thread and lets no exception out. Structs are converted in c_structs.cc. Not for:
// decisions of any kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include "kernels/c_call.h"
#include "kernels/c_structs.h"
#include "rafter/rafter.h"
#include "rafter/rafter_c.h"

struct rafter_conv {
  rafter::HandleMark<3> mark;
  rafter::Conv conv;
};
struct rafter_packed_weights {
  rafter::HandleMark<4> mark;
  rafter::PackedWeights weights;
};

namespace rafter {
namespace {

static_assert(static_cast<int>(StatusCode::kInternal) == RAFTER_INTERNAL);
static_assert(static_cast<int>(Isa::kAvx512) == RAFTER_ISA_AVX512);

thread_local Status last_failure;

// Copies as much of `source` as fits, with a final zero.
void CopyText(const std::string& source, char* text, size_t bytes) {
  if (text == nullptr || bytes == 0) return;
  const size_t copied = std::min(source.size(), bytes - 1);
  std::memcpy(text, source.data(), copied);
  text[copied] = '\0';
}

// Memory that is named must be enough: nothing is taken from elsewhere behind the caller's back.
Status CheckScratch(const rafter_conv& conv, const rafter_run_options& options) noexcept {
  if (options.scratch == nullptr && options.scratch_bytes > 0) {
    return Status(StatusCode::kInvalidArgument, "scratch: NULL, but scratch_bytes is not 0");
  }
  if (options.scratch != nullptr && options.scratch_bytes < conv.conv.scratch_bytes()) {
    return Status(StatusCode::kInvalidArgument,
                  "scratch_bytes: is too small, allowed: rafter_conv_scratch_bytes() and above");
  }
  return {};
}

Status Run(const rafter_conv& conv, const float* src, const rafter_packed_weights& weights,
           float* dst, const rafter_run_options& options) noexcept {
  RunOptions run;
  if (options.num_residuals > 0) run.residuals = {options.residuals, options.num_residuals};
  if (options.scratch != nullptr) {
    run.scratch = {static_cast<std::byte*>(options.scratch), options.scratch_bytes};
  }
  run.max_threads = options.max_threads;
  if (options.pool != nullptr) run.pool = &options.pool->pool;
  if (options.workers != nullptr) run.threads = options.workers->pool.get();
  if (options.parallel_for == nullptr) return conv.conv.Run(src, weights.weights, dst, run);
  CallerThreads threads(*options.parallel_for);
  run.threads = &threads;
  return conv.conv.Run(src, weights.weights, dst, run);
}

}  // namespace

rafter_status Report(const Status& status) noexcept {
  if (!status.ok()) last_failure = status;
  return static_cast<rafter_status>(status.code());
}

}  // namespace rafter

extern "C" {

const char* rafter_last_error(void) { return rafter::last_failure.message().data(); }

const char* rafter_version(void) { return rafter::Version(); }

rafter_isa rafter_detected_isa(void) { return static_cast<rafter_isa>(rafter::DetectedIsa()); }

rafter_isa rafter_effective_isa(void) { return static_cast<rafter_isa>(rafter::EffectiveIsa()); }

rafter_status rafter_set_max_isa(int32_t isa) {
  if (isa < RAFTER_ISA_NONE || isa > RAFTER_ISA_AVX512) {
    return rafter::Guarded([&] {
      return rafter::Status::InvalidArgument("isa: " + std::to_string(isa) +
                                             " is unknown, allowed: 0 (none), 1 (avx2), 2 (avx512)");
    });
  }
  rafter::SetMaxIsa(static_cast<rafter::Isa>(isa));
  return RAFTER_OK;
}

void rafter_conv_desc_init_sized(rafter_conv_desc* desc, size_t struct_bytes,
                                 size_t post_op_bytes) {
  if (desc == nullptr) return;
  rafter_conv_desc defaults{};
  defaults.struct_bytes = struct_bytes;
  defaults.post_op_bytes = post_op_bytes;
  defaults.n = defaults.groups = 1;
  defaults.in_h = defaults.kernel_h = defaults.kernel_w = 1;
  defaults.stride_h = defaults.stride_w = defaults.dilation_h = defaults.dilation_w = 1;
  // The caller's struct may be shorter or longer than the library's. Of a size that no header has nothing is believed:
  // the struct stays as it is.
  if (struct_bytes > rafter::kMostStructBytes) return;
  std::memset(desc, 0, struct_bytes);
  std::memcpy(desc, &defaults, std::min(struct_bytes, sizeof defaults));
}

rafter_status rafter_conv_create(const rafter_conv_desc* desc, const rafter_conv_options* options,
                                 rafter_conv** conv) {
  if (conv == nullptr) return rafter::Invalid("conv: NULL");
  *conv = nullptr;
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::Result<rafter::ConvDesc> converted = rafter::ToDesc(desc);
    if (!converted.ok()) return converted.status();
    const rafter::Result<rafter::ConvOptions> create = rafter::ToOptions(options);
    if (!create.ok()) return create.status();
    rafter::Result<rafter::Conv> plan = rafter::Conv::Create(*converted, *create);
    if (!plan.ok()) return plan.status();
    *conv = new rafter_conv{{}, std::move(plan).value()};
    return {};
  });
}

void rafter_conv_destroy(rafter_conv* conv) { rafter::Destroy(conv, "conv"); }

void rafter_conv_output_size(const rafter_conv* conv, int64_t* height, int64_t* width) {
  const rafter::Size2 size = rafter::Lives(conv) ? conv->conv.output_size() : rafter::Size2{0, 0};
  if (height != nullptr) *height = size.h;
  if (width != nullptr) *width = size.w;
}

size_t rafter_conv_scratch_bytes(const rafter_conv* conv) {
  return rafter::Lives(conv) ? conv->conv.scratch_bytes() : 0;
}

int32_t rafter_conv_threads(const rafter_conv* conv) {
  return rafter::Lives(conv) ? conv->conv.threads() : 0;
}

rafter_isa rafter_conv_isa(const rafter_conv* conv) {
  return rafter::Lives(conv) ? static_cast<rafter_isa>(conv->conv.isa()) : RAFTER_ISA_NONE;
}

const char* rafter_conv_algorithm(const rafter_conv* conv) {
  return rafter::Lives(conv) ? conv->conv.algorithm() : "";
}

const char* rafter_conv_kernel_name(const rafter_conv* conv) {
  return rafter::Lives(conv) ? conv->conv.kernel_name().c_str() : "";
}

size_t rafter_conv_explain(const rafter_conv* conv, char* text, size_t bytes) {
  size_t length = 0;
  (void)rafter::Guarded([&]() -> rafter::Status {
    const std::string listing = rafter::Lives(conv) ? conv->conv.Explain() : std::string();
    length = listing.size();
    rafter::CopyText(listing, text, bytes);
    return {};
  });
  return length;
}

rafter_status rafter_explain(const rafter_conv_desc* desc, const rafter_conv_options* options,
                             char* text, size_t bytes, size_t* length) {
  rafter::CopyText({}, text, bytes);
  if (length != nullptr) *length = 0;
  return rafter::Guarded([&]() -> rafter::Status {
    const rafter::Result<rafter::ConvDesc> converted = rafter::ToDesc(desc);
    if (!converted.ok()) return converted.status();
    const rafter::Result<rafter::ConvOptions> create = rafter::ToOptions(options);
    if (!create.ok()) return create.status();
    const rafter::Result<std::string> listing = rafter::Explain(*converted, *create);
    if (!listing.ok()) return listing.status();
    if (length != nullptr) *length = listing->size();
    rafter::CopyText(*listing, text, bytes);
    return {};
  });
}

rafter_status rafter_pack_weights(const rafter_conv* conv, const float* oihw, const float* bias,
                                  int32_t flush_denormals, rafter_packed_weights** weights) {
  return rafter_pack_weights_in(nullptr, conv, oihw, bias, flush_denormals, weights);
}

rafter_status rafter_pack_weights_in(rafter_memory_pool* pool, const rafter_conv* conv, const float* oihw,
                                     const float* bias, int32_t flush_denormals, rafter_packed_weights** weights) {
  if (weights == nullptr) return rafter::Invalid("weights: NULL");
  *weights = nullptr;
  if (const rafter_status status = rafter::CheckHandle(conv, "conv"); status != RAFTER_OK) return status;
  if (pool != nullptr && rafter::CheckHandle(pool, "pool") != RAFTER_OK) return RAFTER_INVALID_ARGUMENT;
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::PackOptions options;
    if (rafter::Status status = rafter::CheckFlag("flush_denormals", flush_denormals); !status.ok()) return status;
    options.flush_denormals = flush_denormals != 0;
    if (pool != nullptr) options.pool = &pool->pool;
    rafter::Result<rafter::PackedWeights> packed = conv->conv.PackWeights(oihw, bias, options);
    if (!packed.ok()) return packed.status();
    *weights = new rafter_packed_weights{{}, std::move(packed).value()};
    return {};
  });
}

const void* rafter_packed_weights_bytes(const rafter_packed_weights* weights, size_t* bytes) {
  const auto span = rafter::Lives(weights) ? weights->weights.bytes() : std::span<const std::byte>();
  if (bytes != nullptr) *bytes = span.size();
  return span.data();
}

rafter_status rafter_packed_weights_from_bytes(const void* data, size_t bytes,
                                               rafter_packed_weights** weights) {
  if (weights == nullptr) return rafter::Invalid("weights: NULL");
  *weights = nullptr;
  if (data == nullptr) return rafter::Invalid("data: NULL");
  if (bytes > PTRDIFF_MAX) return rafter::Invalid("bytes: larger than any object");
  return rafter::Guarded([&]() -> rafter::Status {
    auto packed = rafter::PackedWeights::FromBytes({static_cast<const std::byte*>(data), bytes});
    if (!packed.ok()) return packed.status();
    *weights = new rafter_packed_weights{{}, std::move(packed).value()};
    return {};
  });
}

void rafter_packed_weights_destroy(rafter_packed_weights* weights) { rafter::Destroy(weights, "weights"); }

rafter_status rafter_worker_pool_create(int32_t threads, int32_t pin, int32_t spin_us,
                                        rafter_worker_pool** pool) {
  if (pool == nullptr) return rafter::Invalid("pool: NULL");
  *pool = nullptr;
  return rafter::Guarded([&]() -> rafter::Status {
    rafter::WorkerPoolOptions options;
    if (rafter::Status status = rafter::CheckFlag("pin", pin); !status.ok()) return status;
    options.threads = threads;
    options.pin = pin != 0;
    options.spin_us = spin_us;
    auto workers = rafter::WorkerPool::Create(options);
    if (!workers.ok()) return workers.status();
    *pool = new rafter_worker_pool{{}, std::move(workers).value()};
    return {};
  });
}

void rafter_worker_pool_destroy(rafter_worker_pool* pool) { rafter::Destroy(pool, "pool"); }

rafter_status rafter_conv_run(const rafter_conv* conv, const float* src,
                              const rafter_packed_weights* weights, float* dst,
                              const rafter_run_options* options) {
  if (const rafter_status status = rafter::CheckHandle(conv, "conv"); status != RAFTER_OK) return status;
  if (const rafter_status status = rafter::CheckHandle(weights, "weights"); status != RAFTER_OK) return status;
  rafter_run_options call{};
  if (options != nullptr) {
    const rafter_status sized = rafter::Guarded([&]() -> rafter::Status {
      const auto copy = rafter::Sized(*options, rafter::kRunOptionsBytesV1, "options");
      if (copy.ok()) call = *copy;
      return copy.status();
    });
    if (sized != RAFTER_OK) return sized;
  }
  options = &call;
  if (options->workers != nullptr && rafter::CheckHandle(options->workers, "workers") != RAFTER_OK) {
    return RAFTER_INVALID_ARGUMENT;
  }
  if (options->pool != nullptr && rafter::CheckHandle(options->pool, "pool") != RAFTER_OK) {
    return RAFTER_INVALID_ARGUMENT;
  }
  if (options->workers != nullptr && options->parallel_for != nullptr) {
    return rafter::Invalid("workers and parallel_for: only one of them may be set");
  }
  if (options->parallel_for != nullptr) {
    if (const char* why = rafter::WhyNot(*options->parallel_for)) return rafter::Invalid(why);
  }
  if (options->num_residuals > 0 && options->residuals == nullptr) {
    return rafter::Invalid("residuals: NULL, but num_residuals is not 0");
  }
  if (rafter::Status status = rafter::CheckScratch(*conv, *options); !status.ok()) return rafter::Report(status);
  return rafter::Report(rafter::Run(*conv, src, *weights, dst, *options));
}

rafter_status rafter_cost(const rafter_conv_desc* desc, rafter_conv_cost* cost) {
  if (cost == nullptr) return rafter::Invalid("cost: NULL");
  const size_t struct_bytes = cost->struct_bytes;
  return rafter::Guarded([&]() -> rafter::Status {
    const auto sized = rafter::Sized(*cost, rafter::kCostBytesV1, "cost");
    if (!sized.ok()) return sized.status();
    const rafter::Result<rafter::ConvDesc> converted = rafter::ToDesc(desc);
    if (!converted.ok()) return converted.status();
    const rafter::Result<rafter::ConvCost> result = rafter::CostOf(*converted);
    if (!result.ok()) return result.status();
    const rafter::ConvCost& c = *result;
    const rafter_conv_cost filled = {.struct_bytes = struct_bytes,
                                     .flops_valid = c.flops_valid,
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
    std::memcpy(cost, &filled, std::min(struct_bytes, sizeof filled));
    return {};
  });
}

rafter_status rafter_conv_work(const rafter_conv* conv, rafter_algorithm_work* work) {
  if (const rafter_status status = rafter::CheckHandle(conv, "conv"); status != RAFTER_OK) return status;
  if (work == nullptr) return rafter::Invalid("work: NULL");
  return rafter::Guarded([&]() -> rafter::Status {
    const auto sized = rafter::Sized(*work, sizeof(rafter_algorithm_work), "work");
    if (!sized.ok()) return sized.status();
    const rafter::AlgorithmWork w = conv->conv.work();
    const rafter_algorithm_work filled = {.struct_bytes = work->struct_bytes,
                                          .transforms = w.transforms,
                                          .flops = w.flops,
                                          .load_bytes = w.load_bytes,
                                          .store_bytes = w.store_bytes,
                                          .intermediate_bytes = w.intermediate_bytes,
                                          .block_bytes = w.block_bytes};
    std::memcpy(work, &filled, sizeof filled);
    return {};
  });
}

rafter_status rafter_wisdom_export(char* text, size_t bytes, size_t* needed) {
  rafter::CopyText({}, text, bytes);
  if (needed != nullptr) *needed = 0;
  if (text == nullptr && bytes > 0) return rafter::Invalid("text: NULL, but bytes is not 0");
  return rafter::Guarded([&]() -> rafter::Status {
    const std::string wisdom = rafter::ExportWisdom();
    if (wisdom.empty()) return rafter::Status::OutOfMemory();
    if (needed != nullptr) *needed = wisdom.size() + 1;
    if (bytes == 0) return {};
    if (bytes <= wisdom.size()) {
      return rafter::Status::InvalidArgument("bytes: " + std::to_string(bytes) +
                                             " is too small, allowed: " +
                                             std::to_string(wisdom.size() + 1) + " and above");
    }
    rafter::CopyText(wisdom, text, bytes);
    return {};
  });
}

rafter_status rafter_wisdom_import(const char* text, size_t bytes) {
  if (text == nullptr) return rafter::Invalid("text: NULL");
  if (bytes > PTRDIFF_MAX) return rafter::Invalid("bytes: larger than any text");
  return rafter::Guarded([&] { return rafter::ImportWisdom({text, bytes}); });
}

void rafter_wisdom_forget(void) { rafter::ForgetWisdom(); }

void rafter_clear_kernel_cache(void) { rafter::ClearKernelCache(); }

}  // extern "C"
