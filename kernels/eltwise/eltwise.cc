// kernels/eltwise/eltwise.cc: implements rafter/eltwise.h: description → problem → kernels, and the checks of a call.
#include "rafter/eltwise.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/reference.h"
#include "kernels/operator_call.h"

namespace rafter {

struct Eltwise::Impl {
  EltwiseProblem problem;
  int threads = 1;
  std::string name = "reference_eltwise";
};

namespace {

// Literals only: a Run that fails must not allocate.
Status BadCall(const char* message) noexcept { return Status(StatusCode::kInvalidArgument, message); }

Status CheckCall(const EltwiseProblem& problem, const float* src, const float* dst,
                 std::span<const float* const> operands) noexcept {
  Status status = CheckPointer(src, "src: is null, allowed: a pointer to the source tensor",
                               "src: is not aligned to 4 bytes");
  if (!status.ok()) return status;
  status = CheckPointer(dst, "dst: is null, allowed: a pointer to the destination tensor",
                        "dst: is not aligned to 4 bytes");
  if (!status.ok()) return status;
  const TensorPlace to{dst, problem.layout(), problem.dst, problem.shape()};
  if (OverlapOf({src, problem.layout(), problem.src, problem.shape()}, to) == Overlap::kPartial) {
    return BadCall("dst: overlaps src in part, allowed: the same tensor, or no shared memory");
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    status = CheckPointer(operands[i], "operands: one is null, allowed: pointers to tensors",
                          "operands: one is not aligned to 4 bytes");
    if (!status.ok()) return status;
    const auto& [shape, strides] = problem.operands[i];
    if (OverlapOf({operands[i], problem.layout(), strides, shape}, to) == Overlap::kPartial) {
      return BadCall("dst: overlaps an operand in part, allowed: the same tensor, or no shared memory");
    }
  }
  return {};
}

}  // namespace

Eltwise::Eltwise(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Eltwise> Eltwise::Create(const EltwiseDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<EltwiseProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->threads = *threads;
  return Eltwise(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Eltwise::Run(const float* src, float* dst, const EltwiseRunOptions& options) const noexcept {
  const EltwiseProblem& problem = impl_->problem;
  const OperatorRunOptions run{options.threads, options.max_threads};
  if (Status status = CheckMaxThreads(run); !status.ok()) return status;
  if (options.operands.size() != problem.operands.size()) {
    return BadCall("operands: wrong number of pointers, allowed: one per binary operation");
  }
  if (problem.desc.n == 0) return {};
  if (Status status = CheckCall(problem, src, dst, options.operands); !status.ok()) return status;
  const CallThreads call = ThreadsOfCall(run, impl_->threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
    reference::RunEltwise(problem, src, options.operands.data(), dst,
                          SplitRange(problem.desc.n * problem.desc.h, threads, thread));
  });
  return {};
}

const EltwiseDesc& Eltwise::desc() const noexcept { return impl_->problem.desc; }
const std::string& Eltwise::kernel_name() const noexcept { return impl_->name; }
Isa Eltwise::isa() const noexcept { return Isa::kNone; }
int Eltwise::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
