// kernels/pooling/pooling.cc: implements rafter/pool.h: description → problem → kernels, and the checks of a call.
#include "rafter/pool.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "jit/executable_memory.h"
#include "kernels/cost/operator_cost.h"
#include "kernels/operator_call.h"
#include "kernels/pooling/plan.h"
#include "kernels/pooling/problem.h"
#include "kernels/pooling/reference.h"
#include "runtime/machine_model.h"
#include "runtime/work_shares.h"

namespace rafter {

struct Pooling::Impl {
  PoolingProblem problem;
  int threads = 1;
  std::string name = "reference_pool";
  std::unique_ptr<pooling::Plan> plan;  // null: the reference
  int64_t bundle = 1;                   // items of the plan that a thread takes at once
};

namespace {

Result<std::unique_ptr<pooling::Plan>> MakePlan(const PoolingProblem& problem, int threads) {
  const Isa isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  if (isa == Isa::kNone) return std::unique_ptr<pooling::Plan>();
  Result<std::unique_ptr<pooling::Plan>> plan = problem.layout() == Layout::kNchw
                                                    ? pooling::MakeColumnPlan(problem, isa)
                                                    : pooling::MakeChannelPlan(problem, isa, threads);
  // Windows of thousands of columns, or of many different taps: plain loops.
  if (!plan.ok() && plan.status().code() == StatusCode::kUnsupported) return std::unique_ptr<pooling::Plan>();
  return plan;
}

}  // namespace

Pooling::Pooling(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Pooling> Pooling::Create(const PoolingDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<PoolingProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->threads = *threads;
  if (desc.n == 0) return Pooling(std::move(impl));
  const Result<OperatorCost> cost = CostOf(desc);
  if (!cost.ok()) return cost.status();
  const int useful = ThreadsForBytes(cost->bytes, *threads, CurrentMachineModel());
  Result<std::unique_ptr<pooling::Plan>> plan = MakePlan(impl->problem, useful);
  if (!plan.ok()) return plan.status();
  impl->plan = std::move(plan).value();
  if (impl->plan == nullptr) return Pooling(std::move(impl));
  impl->threads = useful;
  impl->name = impl->plan->kernel_name();
  constexpr double kBundleBytes = 16384;  // taking work costs about as much as moving 100 bytes
  const double item_bytes = cost->bytes / static_cast<double>(impl->plan->items());
  impl->bundle = std::clamp<int64_t>(static_cast<int64_t>(kBundleBytes / std::max(item_bytes, 1.0)), 1,
                                     std::max<int64_t>(1, impl->plan->items() / (4 * useful)));
  return Pooling(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Pooling::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const PoolingProblem& problem = impl_->problem;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  if (problem.desc.n == 0) return {};
  if (Status status = CheckSrcAndDst(src, dst); !status.ok()) return status;
  if (OverlapOf({src, problem.layout(), problem.src, problem.src_shape()},
                {dst, problem.layout(), problem.dst, problem.dst_shape()}) != Overlap::kNone) {
    return Status(StatusCode::kInvalidArgument, "dst: overlaps src, allowed: tensors that share no memory");
  }
  const CallThreads call = ThreadsOfCall(options, impl_->threads);
  if (impl_->plan == nullptr) {
    RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
      reference::RunPooling(problem, src, dst, SplitRange(problem.desc.n * problem.h.out, threads, thread));
    });
    return {};
  }
  const int64_t items = impl_->plan->items(), bundle = impl_->bundle;
  if (call.threads == 1) {
    impl_->plan->Run(src, dst, {0, items});
    return {};
  }
  WorkShares shares((items + bundle - 1) / bundle, call.threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int) {
    for (Range range = shares.Take(thread); range.begin < range.end; range = shares.Take(thread)) {
      impl_->plan->Run(src, dst, {range.begin * bundle, std::min(range.end * bundle, items)});
    }
  });
  return {};
}

const PoolingDesc& Pooling::desc() const noexcept { return impl_->problem.desc; }
Size2 Pooling::output_size() const noexcept { return {impl_->problem.h.out, impl_->problem.w.out}; }
const std::string& Pooling::kernel_name() const noexcept { return impl_->name; }
Isa Pooling::isa() const noexcept { return impl_->plan ? impl_->plan->isa() : Isa::kNone; }
int Pooling::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
