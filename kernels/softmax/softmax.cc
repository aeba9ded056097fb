// kernels/softmax/softmax.cc: implements rafter/softmax.h: description → problem → kernels, and the checks of a call.
#include "rafter/softmax.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "kernels/operator_call.h"
#include "kernels/softmax/problem.h"

namespace rafter {

struct Softmax::Impl {
  SoftmaxProblem problem;
  int threads = 1;
  std::string name = "reference_softmax";
};

Softmax::Softmax(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Softmax> Softmax::Create(const SoftmaxDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<SoftmaxProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->threads = *threads;
  return Softmax(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Softmax::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const SoftmaxProblem& problem = impl_->problem;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  if (problem.desc.n == 0) return {};
  if (Status status = CheckPointer(src, "src: is null, allowed: a pointer to the source tensor",
                                   "src: is not aligned to 4 bytes");
      !status.ok()) {
    return status;
  }
  if (Status status = CheckPointer(dst, "dst: is null, allowed: a pointer to the destination tensor",
                                   "dst: is not aligned to 4 bytes");
      !status.ok()) {
    return status;
  }
  if (OverlapOf({src, problem.layout(), problem.src, problem.shape()},
                {dst, problem.layout(), problem.dst, problem.shape()}) == Overlap::kPartial) {
    return Status(StatusCode::kInvalidArgument,
                  "dst: overlaps src in part, allowed: the same tensor, or no shared memory");
  }
  const CallThreads call = ThreadsOfCall(options, impl_->threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
    reference::RunSoftmax(problem, src, dst, SplitRange(problem.desc.n * problem.desc.h, threads, thread));
  });
  return {};
}

const SoftmaxDesc& Softmax::desc() const noexcept { return impl_->problem.desc; }
const std::string& Softmax::kernel_name() const noexcept { return impl_->name; }
Isa Softmax::isa() const noexcept { return Isa::kNone; }
int Softmax::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
