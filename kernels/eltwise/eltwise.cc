// kernels/eltwise/eltwise.cc: implements rafter/eltwise.h: description → problem → regions with their kernels, and the
// checks of a call.
#include "rafter/eltwise.h"

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "jit/executable_memory.h"
#include "kernels/cost/operator_cost.h"
#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/reference.h"
#include "kernels/eltwise/region.h"
#include "kernels/operator_call.h"
#include "kernels/store_choice.h"
#include "runtime/machine_model.h"
#include "runtime/work_shares.h"

namespace rafter {

struct Eltwise::Impl {
  EltwiseProblem problem;
  int threads = 1;
  Isa isa = Isa::kNone;
  std::string name = "reference_eltwise";
  std::vector<eltwise::Region> regions;  // none: the reference
  bool past_caches = false;              // the tensors are larger than the caches
};

namespace {

// Literals only: a Run that fails must not allocate.
Status BadCall(const char* message) noexcept { return Status(StatusCode::kInvalidArgument, message); }

Status CheckCall(const EltwiseProblem& problem, const float* src, const float* dst,
                 std::span<const float* const> operands) noexcept {
  Status status = CheckSrcAndDst(src, dst);
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

// One region, or two where the last block of channels is not full.
Status MakeRegions(const EltwiseProblem& problem, Isa isa, bool past_caches, std::vector<eltwise::Region>& regions) {
  const int64_t block = ChannelBlock(problem.layout());
  const int64_t full = problem.desc.c / block;
  const auto add = [&](int64_t first, int64_t blocks, bool masked) -> Status {
    Result<eltwise::Region> region = eltwise::Region::Make(problem, isa, first, blocks, masked, past_caches);
    if (!region.ok()) return region.status();
    regions.push_back(std::move(region).value());
    return {};
  };
  if (full > 0) {
    if (Status status = add(0, full, false); !status.ok()) return status;
  }
  return problem.desc.c % block != 0 ? add(full, 1, true) : Status();
}

// Elements that one item of work has: on one thread as many as there are; on more, several items for each, at least
// 32 KB each.
int64_t ItemFloats(int64_t elements, int threads) noexcept {
  constexpr int64_t kLeast = 8192, kItemsPerThread = 8;
  return threads == 1 ? std::max(elements, kLeast) : std::max(elements / (threads * kItemsPerThread), kLeast);
}

bool Meets(const float* dst, const float* src, std::span<const float* const> operands) noexcept {
  return dst == src || std::find(operands.begin(), operands.end(), dst) != operands.end();
}

void RunRegions(const std::vector<eltwise::Region>& regions, const eltwise::Call& call, int64_t elements,
                const CallThreads& on) noexcept {
  for (const eltwise::Region& region : regions) {
    const int64_t floats = ItemFloats(elements, on.threads), items = region.Items(floats);
    if (on.threads == 1 || items == 1) {
      region.Run(call, floats, {0, items});
      continue;
    }
    WorkShares shares(items, on.threads);
    RunOnThreads(*on.pool, on.threads, [&](int thread, int) {
      for (Range range = shares.Take(thread); range.begin < range.end; range = shares.Take(thread)) {
        region.Run(call, floats, range);
      }
    });
  }
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
  if (jit::ExecutableMemoryAllowed()) impl->isa = EffectiveIsa();
  if (impl->isa == Isa::kNone) return Eltwise(std::move(impl));
  const Result<OperatorCost> cost = CostOf(desc);
  if (!cost.ok()) return cost.status();
  const MachineModel& machine = CurrentMachineModel();
  impl->past_caches = StoresPastCaches(cost->bytes, machine);
  impl->threads = ThreadsForBytes(cost->bytes, *threads, machine);
  if (desc.n == 0) return Eltwise(std::move(impl));
  if (Status status = MakeRegions(impl->problem, impl->isa, impl->past_caches, impl->regions); !status.ok()) {
    return status;
  }
  impl->name = impl->regions.front().kernel_name();
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
  if (options.operands.data() == nullptr && !problem.operands.empty()) {
    return BadCall("operands: no pointers at a null address, allowed: one per binary operation");
  }
  if (problem.desc.n == 0) return {};
  if (Status status = CheckCall(problem, src, dst, options.operands); !status.ok()) return status;
  const CallThreads call = ThreadsOfCall(run, impl_->threads);
  if (!impl_->regions.empty()) {
    const TensorShape shape = problem.shape();
    RunRegions(impl_->regions,
               {src, dst, options.operands.data(), impl_->past_caches && !Meets(dst, src, options.operands)},
               shape.n * shape.c * shape.h * shape.w, call);
    return {};
  }
  RunOnThreads(*call.pool, call.threads, [&](int thread, int threads) {
    reference::RunEltwise(problem, src, options.operands.data(), dst,
                          SplitRange(problem.desc.n * problem.desc.h, threads, thread));
  });
  return {};
}

const EltwiseDesc& Eltwise::desc() const noexcept { return impl_->problem.desc; }
const std::string& Eltwise::kernel_name() const noexcept { return impl_->name; }
Isa Eltwise::isa() const noexcept { return impl_->isa; }
int Eltwise::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
