// kernels/conv/conv.cc: implements rafter/conv.h: description → problem → dispatch → plan, and the
// checks of a call. Everything is decided in Create; Run only checks, finds scratch and executes.
#include "rafter/conv.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "jit/code_cache.h"
#include "jit/executable_memory.h"
#include "kernels/conv/call_memory.h"
#include "kernels/conv/describe.h"
#include "kernels/conv/dispatch.h"
#include "kernels/conv/packed_weights.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/plan_cache.h"
#include "kernels/conv/problem.h"
#include "kernels/conv/wisdom.h"
#include "runtime/machine_model.h"

namespace rafter {

struct Conv::Impl {
  ConvProblem problem;
  Decision decision;
  PlanContext context;
  bool code_allowed = true;  // false: the system refuses executable memory
  // Copies of what the plan answers, so that Run asks nothing.
  PackedHeader packed_header;
  CallMemory memory;
  size_t scratch_bytes = 0;
  size_t residuals = 0;
  int threads = 1;
};

namespace {

constexpr int kMaxThreads = 1024;
constexpr size_t kScratchAlignment = 64;

Status CheckOptions(const ConvOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Status::InvalidArgument("threads: " + std::to_string(options.threads) +
                                   " is out of range, allowed: 0 (all) to " +
                                   std::to_string(kMaxThreads));
  }
  if (options.accuracy != Accuracy::kDefault && options.accuracy != Accuracy::kStrict) {
    return Status::InvalidArgument(
        "accuracy: " + std::to_string(static_cast<int>(options.accuracy)) +
        " is unknown, allowed: 0 (default), 1 (strict)");
  }
  if (options.plan != Planning::kModel && options.plan != Planning::kMeasure) {
    return Status::InvalidArgument("plan: " + std::to_string(static_cast<int>(options.plan)) +
                                   " is unknown, allowed: 0 (model), 1 (measure)");
  }
  return {};
}

PlanContext ContextOf(const ConvOptions& options, bool code_allowed, bool by_model) {
  PlanContext context;
  context.isa = code_allowed ? EffectiveIsa() : Isa::kNone;
  context.threads = options.threads > 0 ? options.threads : std::max(OpenMpThreads()->concurrency(), 1);
  context.accuracy = options.accuracy;
  context.machine = &CurrentMachineModel();
  context.tile = CurrentTileChoice();
  context.steps_aside = options.algorithm.empty() && by_model;
  return context;
}

template <typename T>
bool Aligned(const T* pointer, size_t alignment) noexcept {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// Literals only: a Run that fails must not allocate, since it cannot throw.
Status BadCall(const char* message) noexcept {
  return Status(StatusCode::kInvalidArgument, message);
}

Status CheckPointers(const float* src, const float* dst) noexcept {
  if (src == nullptr) return BadCall("src: is null, allowed: a pointer to the source tensor");
  if (dst == nullptr) return BadCall("dst: is null, allowed: a pointer to the destination tensor");
  if (!Aligned(src, alignof(float))) return BadCall("src: is not aligned to 4 bytes");
  if (!Aligned(dst, alignof(float))) return BadCall("dst: is not aligned to 4 bytes");
  return {};
}

Status CheckWeights(const PackedWeights& weights, const PackedHeader& expected) noexcept {
  if (weights.rep() == nullptr) {
    return BadCall("weights: are empty, allowed: the result of PackWeights or FromBytes");
  }
  // Everything but the checksum, which comes last.
  if (std::memcmp(&weights.rep()->header(), &expected, offsetof(PackedHeader, checksum)) != 0) {
    return BadCall(
        "weights: were packed for another layer, algorithm or vector width, allowed: those that "
        "PackWeights of this convolution returns");
  }
  return {};
}

Status CheckResiduals(std::span<const float* const> residuals, size_t expected) noexcept {
  if (residuals.size() != expected) {
    return BadCall("residuals: wrong number of pointers, allowed: one per kResidualAdd");
  }
  if (residuals.data() == nullptr && expected > 0) {
    return BadCall("residuals: no pointers at a null address, allowed: one per kResidualAdd");
  }
  for (const float* residual : residuals) {
    if (residual == nullptr) return BadCall("residuals: one is null, allowed: pointers to tensors");
    if (!Aligned(residual, alignof(float)))
      return BadCall("residuals: one is not aligned to 4 bytes");
  }
  return {};
}

// Scratch of one call: the caller's, or a block of a pool that goes back at the end.
class Scratch {
 public:
  Scratch() noexcept = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    if (pool_ != nullptr) pool_->Free(data_);
  }

  Status Acquire(const RunOptions& options, size_t bytes) noexcept {
    if (!options.scratch.empty()) {
      if (options.scratch.data() == nullptr) return BadCall("scratch: is null, allowed: memory, or nothing");
      if (options.scratch.size() < bytes) {
        return BadCall("scratch: is too small, allowed: scratch_bytes() and above");
      }
      if (!Aligned(options.scratch.data(), kScratchAlignment)) {
        return BadCall("scratch: is not aligned to 64 bytes");
      }
      data_ = options.scratch.data();
      return {};
    }
    if (bytes == 0) return {};
    pool_ = options.pool != nullptr ? options.pool : &MemoryPool::Default();
    data_ = static_cast<std::byte*>(pool_->Allocate(bytes));
    return data_ != nullptr ? Status() : Status::OutOfMemory();
  }

  std::byte* data() const noexcept { return data_; }

 private:
  MemoryPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
};

}  // namespace

Conv::Conv(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Conv> Conv::Create(const ConvDesc& desc, const ConvOptions& options) try {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  const bool code_allowed = jit::ExecutableMemoryAllowed();
  const bool by_model = options.plan == Planning::kModel && !HasWisdom();
  const PlanContext context = ContextOf(options, code_allowed, by_model);
  std::string key;
  if (by_model && context.isa != Isa::kNone) {
    key = PlanKeyOf(desc, context, options.algorithm);
    if (auto plan = FindPlan(key)) return Conv(std::static_pointer_cast<const Impl>(std::move(plan)));
  }
  Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();

  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->code_allowed = code_allowed;
  impl->context = context;
  Result<Decision> decision =
      Decide(ConvAlgorithms(), impl->problem, impl->context, options.algorithm,
             {.plan = options.plan, .pool = options.pool});
  if (!decision.ok()) return decision.status();
  impl->decision = std::move(decision).value();
  const ConvPlan& plan = *impl->decision.plan;
  impl->packed_header = plan.packed_header();
  impl->memory = CallMemory(impl->problem);
  impl->scratch_bytes = plan.scratch_bytes();
  impl->residuals = static_cast<size_t>(
      std::count_if(desc.post_ops.begin(), desc.post_ops.end(),
                    [](const PostOp& op) { return op.kind == PostOpKind::kResidualAdd; }));
  impl->threads = std::max(plan.threads(), 1);
  if (!key.empty()) KeepPlan(std::move(key), impl);
  return Conv(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Result<PackedWeights> Conv::PackWeights(const float* oihw, const float* bias,
                                        const PackOptions& options) const try {
  if (oihw == nullptr) return BadCall("oihw: is null, allowed: a pointer to the weights");
  if (!Aligned(oihw, alignof(float))) return BadCall("oihw: is not aligned to 4 bytes");
  if (!Aligned(bias, alignof(float))) return BadCall("bias: is not aligned to 4 bytes");
  return Pack(*impl_->decision.plan, oihw, bias, options);
} catch (const std::exception&) {  // bad_alloc, or length_error of a vector
  return Status::OutOfMemory();
}

Status Conv::Run(const float* src, const PackedWeights& weights, float* dst,
                 const RunOptions& options) const noexcept {
  const Impl& impl = *impl_;
  if (options.max_threads < 0) {
    return BadCall("max_threads: is negative, allowed: 0 (the plan's own count) and above");
  }
  if (impl.problem.desc.n == 0) return {};
  if (Status status = CheckPointers(src, dst); !status.ok()) return status;
  if (Status status = CheckWeights(weights, impl.packed_header); !status.ok()) return status;
  if (Status status = CheckResiduals(options.residuals, impl.residuals); !status.ok())
    return status;
  if (Status status = impl.memory.Check(src, dst, options.residuals, options.scratch); !status.ok()) return status;
  Scratch scratch;
  if (Status status = scratch.Acquire(options, impl.scratch_bytes); !status.ok()) return status;

  ConvCall call;
  call.src = src;
  call.weights = weights.rep()->payload();
  call.dst = dst;
  call.residuals = options.residuals.data();
  call.scratch = scratch.data();
  call.pool = options.threads != nullptr ? options.threads : OpenMpThreads();
  call.threads = impl.threads;
  if (options.max_threads > 0) call.threads = std::min(call.threads, options.max_threads);
  if (call.threads > 1) {
    call.threads = std::max(1, std::min(call.threads, call.pool->concurrency()));
  }
  impl.decision.plan->Run(call);
  return {};
}

size_t Conv::scratch_bytes() const noexcept { return impl_->scratch_bytes; }
const ConvDesc& Conv::desc() const noexcept { return impl_->problem.desc; }
Size2 Conv::output_size() const noexcept { return {impl_->problem.oh, impl_->problem.ow}; }
const char* Conv::algorithm() const noexcept { return impl_->decision.plan->algorithm(); }
const std::string& Conv::kernel_name() const noexcept {
  return impl_->decision.plan->kernel_name();
}
Isa Conv::isa() const noexcept { return impl_->decision.plan->isa(); }
AlgorithmWork Conv::work() const noexcept { return impl_->decision.plan->work(); }
int Conv::threads() const noexcept { return impl_->threads; }

std::string Conv::Explain() const try {
  std::string text = DescribeProblem(impl_->problem);
  if (!impl_->code_allowed) {
    text +=
        "executable memory: refused by the system or by RAFTER_NO_JIT, so no kernel can be "
        "generated\n";
  }
  text += DescribeConsiderations(impl_->decision.considered);
  const ConvPlan& plan = *impl_->decision.plan;
  text += "kernel: " + plan.kernel_name() + '\n';
  text += std::string("isa: ") + IsaName(plan.isa()) + '\n';
  text += "threads: " + std::to_string(impl_->threads) + '\n';
  text += "scratch: " + std::to_string(impl_->scratch_bytes) + " bytes\n";
  return text + plan.Describe();
} catch (const std::bad_alloc&) {
  return {};
}

Result<std::string> Explain(const ConvDesc& desc, const ConvOptions& options) {
  const Result<Conv> conv = Conv::Create(desc, options);
  if (!conv.ok()) return conv.status();
  return conv->Explain();
}

void ClearKernelCache() noexcept {
  ForgetPlans();
  jit::ClearCodeCache();
}

}  // namespace rafter
