// kernels/pooling/pooling.cc: implements rafter/pool.h: description → problem → kernels, and the checks of a call.
#include "rafter/pool.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "kernels/operator_call.h"
#include "kernels/pooling/problem.h"
#include "kernels/pooling/reference.h"

namespace rafter {

struct Pooling::Impl {
  PoolingProblem problem;
  int threads = 1;
  std::string name = "reference_pool";
};

Pooling::Pooling(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Pooling> Pooling::Create(const PoolingDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<PoolingProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->threads = *threads;
  return Pooling(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Pooling::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const PoolingProblem& problem = impl_->problem;
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
  if (OverlapOf({src, problem.layout(), problem.src, problem.src_shape()},
                {dst, problem.layout(), problem.dst, problem.dst_shape()}) != Overlap::kNone) {
    return Status(StatusCode::kInvalidArgument, "dst: overlaps src, allowed: tensors that share no memory");
  }
  const CallThreads call = ThreadsOfCall(options, impl_->threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
    reference::RunPooling(problem, src, dst, SplitRange(problem.desc.n * problem.h.out, threads, thread));
  });
  return {};
}

const PoolingDesc& Pooling::desc() const noexcept { return impl_->problem.desc; }
Size2 Pooling::output_size() const noexcept { return {impl_->problem.h.out, impl_->problem.w.out}; }
const std::string& Pooling::kernel_name() const noexcept { return impl_->name; }
Isa Pooling::isa() const noexcept { return Isa::kNone; }
int Pooling::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
