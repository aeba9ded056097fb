// kernels/reorder/reorder.cc: implements rafter/reorder.h on top of the copier.
#include "rafter/reorder.h"

#include <new>
#include <string>
#include <utility>

#include "jit/executable_memory.h"
#include "kernels/operator_call.h"
#include "kernels/reorder/copier.h"
#include "kernels/reorder/problem.h"
#include "kernels/store_choice.h"
#include "kernels/tensor_shape.h"
#include "runtime/parallel.h"

namespace rafter {

struct Reorder::Impl {
  ReorderProblem problem;
  reorder::Copier copier;
  std::string name;
  Isa isa = Isa::kNone;
  int threads = 1;
  bool past_caches = false;
};

Reorder::Reorder(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Reorder> Reorder::Create(const ReorderDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  const Result<ReorderProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  const MachineModel& machine = CurrentMachineModel();
  const double bytes = 2.0 * 4.0 * static_cast<double>(desc.n) * static_cast<double>(desc.c) *
                       static_cast<double>(desc.h) * static_cast<double>(desc.w);
  const Isa isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  const bool past_caches = StoresPastCaches(bytes, machine);
  Result<reorder::Copier> copier = reorder::Copier::Make(
      problem->shape, {desc.src.layout, problem->src}, {desc.dst.layout, problem->dst}, isa, true, past_caches);
  if (!copier.ok()) return copier.status();
  std::string name = isa == Isa::kNone ? "reference_reorder" : copier->kernel_name();
  return Reorder(std::make_shared<const Impl>(Impl{*problem, std::move(copier).value(), std::move(name), isa,
                                                   ThreadsForBytes(bytes, *threads, machine), past_caches}));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Reorder::Run(const float* src, float* dst, const OperatorRunOptions& options) const noexcept {
  const Impl& impl = *impl_;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  const ReorderDesc& desc = impl.problem.desc;
  if (desc.n == 0) return {};
  if (Status status = CheckSrcAndDst(src, dst); !status.ok()) return status;
  const TensorPlace from{src, desc.src.layout, impl.problem.src, impl.problem.shape};
  const TensorPlace to{dst, desc.dst.layout, impl.problem.dst, impl.problem.shape};
  const Overlap overlap = OverlapOf(from, to);
  if (overlap == Overlap::kSame) return {};
  if (overlap == Overlap::kPartial) {
    return Status(StatusCode::kInvalidArgument,
                  "dst: overlaps src, allowed: tensors that share no element, or one in place");
  }
  const CallThreads call = ThreadsOfCall(options, impl.threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
    impl.copier.Run(src, dst, SplitRange(impl.copier.units(), threads, thread));
    if (impl.past_caches) FinishStores();
  });
  return {};
}

const ReorderDesc& Reorder::desc() const noexcept { return impl_->problem.desc; }
const std::string& Reorder::kernel_name() const noexcept { return impl_->name; }
Isa Reorder::isa() const noexcept { return impl_->isa; }
int Reorder::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
