// kernels/padding/pad.cc: implements rafter/pad.h.
#include "rafter/pad.h"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "jit/executable_memory.h"
#include "kernels/operator_call.h"
#include "kernels/padding/plan.h"
#include "kernels/padding/problem.h"
#include "kernels/padding/reference.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"

namespace rafter {

struct Pad::Impl {
  PadProblem problem;
  std::optional<padding::Plan> plan;  // none: the reference
  std::string name = "reference_pad";
  Isa isa = Isa::kNone;
  int threads = 1;
};

namespace {

double BytesOf(const TensorShape& s) {
  return 4.0 * static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.h) *
         static_cast<double>(s.w);
}

}  // namespace

Pad::Pad(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Pad> Pad::Create(const PadDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<PadProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  const MachineModel& machine = CurrentMachineModel();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  const double bytes = BytesOf(impl->problem.in) + BytesOf(impl->problem.out);
  impl->threads = ThreadsForBytes(bytes, *threads, machine);
  if (impl->isa == Isa::kNone) return Pad(std::move(impl));
  Result<padding::Plan> plan = padding::Plan::Make(impl->problem, impl->isa, StoresPastCaches(bytes, machine));
  if (!plan.ok()) return plan.status();
  impl->plan = std::move(plan).value();
  impl->name = impl->plan->kernel_name();
  return Pad(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Pad::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const Impl& impl = *impl_;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  const PadProblem& problem = impl.problem;
  if (problem.desc.n == 0) return {};
  if (Status status = CheckSrcAndDst(src, dst); !status.ok()) return status;
  const Layout layout = problem.desc.src.layout;
  const TensorPlace from{src, layout, problem.src, problem.in}, to{dst, layout, problem.dst, problem.out};
  const TensorPlace inner{dst + problem.inner_offset, layout, WithDenseSingles(layout, problem.dst, problem.in),
                          problem.in};
  const bool in_place = OverlapOf(from, inner) == Overlap::kSame;
  if (!in_place && OverlapOf(from, to) != Overlap::kNone) {
    return Status(StatusCode::kInvalidArgument,
                  "dst: overlaps src, allowed: no shared element, or an image that lies at its place inside dst");
  }
  if (!impl.plan) {
    reference::RunPad(problem, src, dst);  // an image in its place is copied onto itself
    return {};
  }
  const CallThreads call = ThreadsOfCall(options, impl.threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int team) {
    impl.plan->Run(src, dst, in_place, SplitRange(impl.plan->units(), team, thread));
  });
  return {};
}

const PadDesc& Pad::desc() const noexcept { return impl_->problem.desc; }
Size2 Pad::output_size() const noexcept { return {impl_->problem.out.h, impl_->problem.out.w}; }
const std::string& Pad::kernel_name() const noexcept { return impl_->name; }
Isa Pad::isa() const noexcept { return impl_->isa; }
int Pad::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
