// kernels/concat/concat.cc: implements rafter/concat.h: one copier per input, and the order of their work; short rows
// are joined by kernels/concat/join.h.
#include "rafter/concat.h"

#include <algorithm>
#include <bitset>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "jit/executable_memory.h"
#include "kernels/concat/join.h"
#include "kernels/concat/problem.h"
#include "kernels/operator_call.h"
#include "kernels/reorder/copier.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"

namespace rafter {

struct Concat::Impl {
  ConcatProblem problem;
  std::vector<reorder::Copier> copiers;  // one per input
  // Inputs that share the pixels of the result are copied piece by piece together, so that a line of the result is
  // complete before it leaves the cache: the number of pieces; 0 = one input after the other.
  int64_t shared_pieces = 0;
  int64_t units = 0, fewest_units = 0;  // of all inputs; of the smallest one
  bool past_caches = false;
  std::optional<concat::Join> join;  // instead of the copiers, unless an input lies at its place already
  std::string name;
  Isa isa = Isa::kNone;
  int threads = 1;
};

namespace {

// Inputs that lie at their place already.
class Skipped {
 public:
  void Set(size_t input) noexcept { inputs_.set(input), ++count_; }
  bool Test(size_t input) const noexcept { return count_ > 0 && inputs_.test(input); }
  size_t count() const noexcept { return count_; }

 private:
  std::bitset<kMaxConcatInputs> inputs_;
  size_t count_ = 0;
};

// Pixels of a piece when all inputs are copied together: 16 KB of the result; whole lines for transpositions.
int64_t PixelsOfPiece(const ConcatProblem& problem) {
  constexpr int64_t kPieceFloats = 4096, kTransposedPixels = 64;
  for (const ConcatInput& input : problem.desc.inputs) {
    if (input.format.layout == Layout::kNchw) return kTransposedPixels;
  }
  return std::max<int64_t>(8, kPieceFloats / problem.shape.c);
}

double BytesOf(const TensorShape& s) {
  return 4.0 * static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.h) *
         static_cast<double>(s.w);
}

Status AddCopiers(Concat::Impl& impl) {
  const ConcatProblem& problem = impl.problem;
  const bool along_channels = problem.desc.axis == Axis::kC;
  // Blocks that belong to one input each share no line with another one's.
  const bool shares_blocks = std::any_of(problem.inputs.begin(), problem.inputs.end(),
                                         [](const ConcatProblem::Input& input) { return input.lane != 0; });
  const bool together = along_channels && (problem.desc.dst.layout == Layout::kNhwc || shares_blocks);
  const int64_t pixels = together ? PixelsOfPiece(problem) : 0;
  int64_t largest = 0;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const ConcatProblem::Input& input = problem.inputs[i];
    // Along channels the lanes behind an input belong to the next one.
    const bool zero_behind = !along_channels || i + 1 == problem.inputs.size();
    Result<reorder::Copier> copier = reorder::Copier::Make(
        input.shape, {problem.desc.inputs[i].format.layout, input.strides},
        {problem.desc.dst.layout, problem.dst, input.lane}, impl.isa, zero_behind, impl.past_caches, pixels);
    if (!copier.ok()) return copier.status();
    impl.copiers.push_back(std::move(copier).value());
    impl.units += impl.copiers.back().units();
    impl.fewest_units = i == 0 ? impl.units : std::min(impl.fewest_units, impl.copiers.back().units());
    if (problem.desc.inputs[i].size <= largest) continue;
    largest = problem.desc.inputs[i].size;
    impl.name = impl.copiers.back().kernel_name();
  }
  if (impl.isa == Isa::kNone) impl.name = "reference_concat";
  const auto pieces = [](const reorder::Copier& c) { return c.units() / c.units_per_pixel_piece(); };
  const int64_t first = pieces(impl.copiers[0]);
  const bool same = std::all_of(impl.copiers.begin(), impl.copiers.end(),
                                [&](const reorder::Copier& copier) { return pieces(copier) == first; });
  // Few pieces, such as 7x7 images, are shared better input by input.
  if (together && same && first >= 4 * impl.threads) impl.shared_pieces = first;
  return {};
}

// Pointers and overlaps; finds the inputs that lie at their place already.
Status CheckCall(const ConcatProblem& problem, std::span<const float* const> inputs, const float* dst,
                 Skipped& skipped) noexcept {
  if (inputs.size() != problem.inputs.size()) {
    return Status(StatusCode::kInvalidArgument, "inputs: wrong number of pointers, allowed: one per input");
  }
  if (inputs.data() == nullptr) {
    return Status(StatusCode::kInvalidArgument, "inputs: no pointers at a null address, allowed: one per input");
  }
  Status status =
      CheckPointer(dst, "dst: is null, allowed: a pointer to the result", "dst: is not aligned to 4 bytes");
  const Layout layout = problem.desc.dst.layout;
  const TensorPlace whole{dst, layout, problem.dst, problem.shape};
  for (size_t i = 0; i < inputs.size() && status.ok(); ++i) {
    status = CheckPointer(inputs[i], "inputs: one is null, allowed: pointers to tensors",
                          "inputs: one is not aligned to 4 bytes");
    if (!status.ok()) break;
    const ConcatProblem::Input& input = problem.inputs[i];
    const TensorPlace place{inputs[i], problem.desc.inputs[i].format.layout, input.strides, input.shape};
    const TensorPlace target{dst + input.offset, layout, WithDenseSingles(layout, problem.dst, input.shape),
                             input.shape};
    if (place.layout == layout && OverlapOf(place, target) == Overlap::kSame) {
      skipped.Set(i);
    } else if (OverlapOf(place, whole) != Overlap::kNone) {
      return Status(StatusCode::kInvalidArgument,
                    "inputs: one overlaps dst, allowed: no shared element, or an input that lies at its own place");
    }
  }
  return status;
}

// The same part of each input, so that a thread writes one stretch of the result. Two threads with an input each write
// parts that lie between each other (halves of 56x56 planes: 0.35 to 0.5 of their bandwidth, so 0.66 to 0.9; Zen 3).
void CopyShares(const Concat::Impl& impl, std::span<const float* const> inputs, float* dst, const Skipped& skipped,
                int thread, int team) noexcept {
  for (size_t i = 0; i < impl.copiers.size(); ++i) {
    if (skipped.Test(i)) continue;
    const reorder::Copier& copier = impl.copiers[i];
    const Range own = SplitRange(copier.units(), team, thread);
    copier.Run(inputs[i], dst + impl.problem.inputs[i].offset, own);
  }
}

void CopyUnits(const Concat::Impl& impl, std::span<const float* const> inputs, float* dst, const Skipped& skipped,
               Range units) noexcept {
  for (size_t i = 0; i < impl.copiers.size(); ++i) {
    const reorder::Copier& copier = impl.copiers[i];
    const Range own{std::max<int64_t>(0, units.begin), std::min(copier.units(), units.end)};
    if (own.begin < own.end && !skipped.Test(i)) copier.Run(inputs[i], dst + impl.problem.inputs[i].offset, own);
    units.begin -= copier.units(), units.end -= copier.units();
  }
}

void CopyPieces(const Concat::Impl& impl, std::span<const float* const> inputs, float* dst, const Skipped& skipped,
                Range pieces) noexcept {
  for (int64_t piece = pieces.begin; piece < pieces.end; ++piece) {
    for (size_t i = 0; i < impl.copiers.size(); ++i) {
      if (skipped.Test(i)) continue;
      const reorder::Copier& copier = impl.copiers[i];
      const int64_t each = copier.units_per_pixel_piece();
      copier.Run(inputs[i], dst + impl.problem.inputs[i].offset, {piece * each, (piece + 1) * each});
    }
  }
}

}  // namespace

Concat::Concat(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}

Result<Concat> Concat::Create(const ConcatDesc& desc, const OperatorOptions& options) try {
  const Result<int> threads = PlannedThreads(options);
  if (!threads.ok()) return threads.status();
  Result<ConcatProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  const MachineModel& machine = CurrentMachineModel();
  auto impl = std::make_shared<Impl>();
  impl->problem = std::move(problem).value();
  impl->isa = jit::ExecutableMemoryAllowed() ? EffectiveIsa() : Isa::kNone;
  const double bytes = 2 * BytesOf(impl->problem.shape);
  impl->threads = ThreadsForBytes(bytes, *threads, machine);
  impl->past_caches = StoresPastCaches(bytes, machine);
  if (Status status = AddCopiers(*impl); !status.ok()) return status;
  if (impl->isa != Isa::kNone && concat::Join::Takes(impl->problem)) {
    Result<concat::Join> join = concat::Join::Make(impl->problem, impl->isa, impl->past_caches);
    if (!join.ok()) return join.status();
    impl->name = join->kernel_name();
    impl->join = std::move(join).value();
  }
  return Concat(std::move(impl));
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Status Concat::Run(std::span<const float* const> inputs, float* dst, const OperatorRunOptions& options) const noexcept {
  const Impl& impl = *impl_;
  if (Status status = CheckMaxThreads(options); !status.ok()) return status;
  if (impl.problem.shape.n == 0) return {};
  Skipped skipped;
  if (Status status = CheckCall(impl.problem, inputs, dst, skipped); !status.ok()) return status;
  if (skipped.count() == inputs.size()) return {};
  const CallThreads call = ThreadsOfCall(options, impl.threads);
  RunOnThreads(*call.pool, call.threads, [&](int thread, int team) {
    if (impl.join && skipped.count() == 0) {
      impl.join->Run(inputs, dst, SplitRange(impl.join->units(), team, thread));
    } else if (impl.shared_pieces > 0) {
      CopyPieces(impl, inputs, dst, skipped, SplitRange(impl.shared_pieces, team, thread));
    } else if (impl.fewest_units >= 4 * team) {
      CopyShares(impl, inputs, dst, skipped, thread, team);
    } else {
      CopyUnits(impl, inputs, dst, skipped, SplitRange(impl.units, team, thread));
    }
    if (impl.past_caches) FinishStores();
  });
  return {};
}

const ConcatDesc& Concat::desc() const noexcept { return impl_->problem.desc; }
int64_t Concat::output_size() const noexcept {
  const ConcatProblem& problem = impl_->problem;
  return problem.inputs.back().begin + problem.desc.inputs.back().size;
}
int64_t Concat::InputOffset(int index) const noexcept {
  return impl_->problem.inputs[static_cast<size_t>(index)].offset;
}
const std::string& Concat::kernel_name() const noexcept { return impl_->name; }
Isa Concat::isa() const noexcept { return impl_->isa; }
int Concat::threads() const noexcept { return impl_->threads; }

}  // namespace rafter
