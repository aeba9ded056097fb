// kernels/softmax/softmax.cc: implements rafter/softmax.h: description → problem → plan, and the checks of a call.
#include "rafter/softmax.h"

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "jit/executable_memory.h"
#include "kernels/cost/operator_cost.h"
#include "kernels/operator_call.h"
#include "kernels/softmax/plan.h"
#include "kernels/softmax/problem.h"
#include "runtime/machine_model.h"
#include "runtime/work_shares.h"

namespace rafter {

struct Softmax::Impl {
  SoftmaxProblem problem;
  int threads = 1;
  std::string name = "reference_softmax";
  std::unique_ptr<softmax::Plan> plan;  // null: the reference
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
  const Isa isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  if (desc.n == 0 || isa == Isa::kNone) return Softmax(std::move(impl));
  const Result<OperatorCost> cost = CostOf(desc);
  if (!cost.ok()) return cost.status();
  impl->threads = ThreadsForBytes(cost->bytes, *threads, CurrentMachineModel());
  Result<softmax::Plan> plan = softmax::Plan::Make(impl->problem, isa, impl->threads);
  if (!plan.ok()) return plan.status();
  impl->plan = std::make_unique<softmax::Plan>(std::move(plan).value());
  impl->name = impl->plan->kernel_name();
  return Softmax(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Softmax::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const SoftmaxProblem& problem = impl_->problem;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  if (problem.desc.n == 0) return {};
  if (Status status = CheckSrcAndDst(src, dst); !status.ok()) return status;
  if (OverlapOf({src, problem.layout(), problem.src, problem.shape()},
                {dst, problem.layout(), problem.dst, problem.shape()}) == Overlap::kPartial) {
    return Status(StatusCode::kInvalidArgument,
                  "dst: overlaps src in part, allowed: the same tensor, or no shared memory");
  }
  const CallThreads call = ThreadsOfCall(options, impl_->threads);
  if (impl_->plan == nullptr) {
    RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
      reference::RunSoftmax(problem, src, dst, SplitRange(problem.desc.n * problem.desc.h, threads, thread));
    });
    return {};
  }
  const int64_t items = impl_->plan->items();
  if (call.threads == 1) {
    impl_->plan->Run(src, dst, {0, items});
    return {};
  }
  WorkShares shares(items, call.threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int) {
    for (Range range = shares.Take(thread); range.begin < range.end; range = shares.Take(thread)) {
      impl_->plan->Run(src, dst, range);
    }
  });
  return {};
}

const SoftmaxDesc& Softmax::desc() const noexcept { return impl_->problem.desc; }
const std::string& Softmax::kernel_name() const noexcept { return impl_->name; }
Isa Softmax::isa() const noexcept { return impl_->plan ? impl_->plan->isa() : Isa::kNone; }
int Softmax::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
