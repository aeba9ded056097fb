// kernels/concat/join.cc: see the header.
#include "kernels/concat/join.h"

#include <xmmintrin.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/reorder/copy_kernel.h"
#include "kernels/sizes.h"

namespace rafter::concat {

namespace {

constexpr int64_t kPieceFloats = 4096;  // of the result in one unit of work: half of a first-level cache

bool Short(int64_t floats) noexcept { return floats <= kMostJoinedRow; }

}  // namespace

bool Join::Takes(const ConcatProblem& problem) noexcept {
  const ConcatDesc& desc = problem.desc;
  const Layout layout = desc.axis == Axis::kC ? Layout::kNhwc : Layout::kNchw;
  if (desc.axis != Axis::kC && desc.axis != Axis::kW) return false;
  const auto has_layout = [&](const ConcatInput& input) { return input.format.layout == layout; };
  const bool same =
      desc.dst.layout == layout && std::all_of(desc.inputs.begin(), desc.inputs.end(), has_layout);
  return same && desc.inputs.size() <= kMostJoined && Short(desc.axis == Axis::kC ? problem.shape.c : problem.shape.w);
}

Result<Join> Join::Make(const ConcatProblem& problem, Isa isa, bool past_caches) {
  Join join;
  const bool channels = problem.desc.axis == Axis::kC;
  const TensorShape& shape = problem.shape;
  const auto steps = [&](const Strides& s) { return channels ? Steps{s.n, s.h, s.w} : Steps{s.n, s.c, s.h}; };
  join.outer_ = {shape.n, channels ? shape.h : shape.c};
  join.rows_ = channels ? shape.w : shape.h;
  join.row_floats_ = channels ? shape.c : shape.w;
  join.dst_ = steps(problem.dst);
  join.spec_.isa = static_cast<int32_t>(isa);
  join.spec_.inputs = static_cast<int32_t>(problem.inputs.size());
  bool lines = join.dst_[0] % kLineFloats == 0 && join.dst_[1] % kLineFloats == 0 && join.dst_[2] % kLineFloats == 0;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    join.src_.push_back(steps(problem.inputs[i].strides));
    join.spec_.runs[i] = static_cast<int32_t>(problem.desc.inputs[i].size);
    lines = lines && join.spec_.runs[i] % kLineFloats == 0;
  }
  join.JoinLoops();
  join.CutRows();
  const auto get = [](Result<jit::KernelPtr> made, jit::KernelPtr& kernel) -> Status {
    if (made.ok()) kernel = std::move(made).value();
    return made.status();
  };
  Status status = get(GetJoinKernel(join.spec_), join.kernel_);
  if (status.ok() && past_caches && lines) {
    JoinSpec spec = join.spec_;
    spec.non_temporal = 1;
    status = get(GetJoinKernel(spec), join.past_caches_);
  } else if (status.ok() && past_caches && join.dst_[2] == join.row_floats_ &&
             join.rows_per_piece_ * join.row_floats_ <= kPieceFloats) {
    status = get(reorder::GetCopyKernel(reorder::SpecOfRun(isa, reorder::kMaxBakedRun + 1, true)), join.stage_);
  }
  if (!status.ok()) return status;
  return join;
}

// Loops whose rows follow each other in all tensors are one.
void Join::JoinLoops() noexcept {
  const auto joins = [&](size_t outer, int64_t inner_size) {
    const auto follows = [&](const Steps& s) { return s[outer] == inner_size * s[2]; };
    return follows(dst_) && std::all_of(src_.begin(), src_.end(), follows);
  };
  if (outer_[1] == 1 || joins(1, rows_)) {
    rows_ *= outer_[1], outer_[1] = 1;
    if (outer_[0] == 1 || joins(0, rows_)) rows_ *= outer_[0], outer_[0] = 1;
  }
}

// Pieces begin where lines of the result do, if that takes no more than a piece.
void Join::CutRows() noexcept {
  const int64_t rows = std::max<int64_t>(1, kPieceFloats / row_floats_);
  const int64_t whole_lines = kLineFloats / std::gcd(row_floats_, kLineFloats);
  rows_per_piece_ = rows >= whole_lines ? rows / whole_lines * whole_lines : rows;
  pieces_ = CeilDiv(rows_, rows_per_piece_);
}

void Join::Run(std::span<const float* const> inputs, float* dst, Range units) const noexcept {
  const bool aligned = reinterpret_cast<uintptr_t>(dst) % kLineBytes == 0;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const int64_t first = unit % pieces_ * rows_per_piece_, plane = unit / pieces_;
    const int64_t index[] = {plane / outer_[1], plane % outer_[1], first};
    const auto at = [&](const Steps& s) { return index[0] * s[0] + index[1] * s[1] + index[2] * s[2]; };
    JoinArgs args;
    for (size_t i = 0; i < src_.size(); ++i) {
      args.src[i] = inputs[i] + at(src_[i]);
      args.src_row_bytes[i] = src_[i][2] * kFloat;
    }
    args.dst = dst + at(dst_);
    args.rows = std::min(rows_per_piece_, rows_ - first);
    args.dst_row_bytes = dst_[2] * kFloat;
    if (stage_ && args.rows * row_floats_ >= reorder::kMinOpenRun) {
      RunStaged(args);
    } else {
      (past_caches_ && aligned ? past_caches_ : kernel_)->entry<JoinFunction>()(&args);
    }
  }
}

// Lines that two inputs share are put together in a buffer in the first-level cache, which is then written out past the
// caches. What comes next is prefetched meanwhile: nothing else would ask the memory for it.
void Join::RunStaged(JoinArgs& args) const noexcept {
  constexpr int64_t kParts = 4;
  alignas(64) float buffer[kPieceFloats];
  float* const target = std::exchange(args.dst, buffer);
  args.dst_row_bytes = row_floats_ * kFloat;
  kernel_->entry<JoinFunction>()(&args);
  const int64_t floats = args.rows * row_floats_;
  const int64_t parts = floats >= kParts * 2 * kLineFloats ? kParts : 1;
  for (int64_t part = 0; part < parts; ++part) {
    const Range ahead = SplitRange(args.rows, parts, part);
    PrefetchRows(args, args.rows + ahead.begin, ahead.end - ahead.begin);
    const auto cut = [&](int64_t p) { return p == parts ? floats : p * floats / parts / kLineFloats * kLineFloats; };
    const reorder::CopyArgs out{buffer + cut(part), target + cut(part), 1, 0, 0, (cut(part + 1) - cut(part)) * kFloat,
                                nullptr};
    stage_->entry<reorder::CopyFunction>()(&out);
  }
}

void Join::PrefetchRows(const JoinArgs& args, int64_t first, int64_t rows) const noexcept {
  for (size_t i = 0; i < src_.size(); ++i) {
    // May lie behind the tensor: a prefetch never faults.
    auto at = reinterpret_cast<uintptr_t>(args.src[i]) + static_cast<uintptr_t>(first * args.src_row_bytes[i]);
    for (const uintptr_t end = at + static_cast<uintptr_t>(rows * args.src_row_bytes[i]); at < end; at += kLineBytes) {
      _mm_prefetch(reinterpret_cast<const char*>(at), _MM_HINT_T1);
    }
  }
}

}  // namespace rafter::concat
