// kernels/conv/call_memory.cc: see call_memory.h.
#include "kernels/conv/call_memory.h"

namespace rafter {
namespace {

Status Refuse(const char* message) noexcept { return Status(StatusCode::kInvalidArgument, message); }

TensorPlace At(TensorPlace place, const float* data) noexcept {
  place.data = data;
  return place;
}

}  // namespace

CallMemory::CallMemory(const ConvProblem& problem) {
  const ConvDesc& desc = problem.desc;
  const TensorShape out{desc.n, desc.oc, problem.oh, problem.ow};
  const auto add = [&](Extent& extent, const TensorPlace& place) {
    extent = {static_cast<uintptr_t>(SpanOf(place)) * sizeof(float), place.strides == problem.dst};
    places_.push_back(place);
  };
  add(src_, {nullptr, desc.src.layout, problem.src, {desc.n, desc.ic, desc.in.h, desc.in.w}});
  add(dst_, {nullptr, desc.dst.layout, problem.dst, out});
  for (const PostOp& op : desc.post_ops) {
    if (op.kind != PostOpKind::kResidualAdd) continue;
    add(residuals_[places_.size() - 2], {nullptr, desc.dst.layout, ResidualStrides(problem, op), out});
  }
}

Status CallMemory::CheckStrides(const float* src, const float* dst, std::span<const float* const> residuals,
                                std::span<const std::byte> scratch) const noexcept {
  const TensorPlace to = At(places_[1], dst);
  if (OverlapOf(At(places_[0], src), to) != Overlap::kNone) {
    return Refuse("dst: overlaps src, allowed: tensors that share no element");
  }
  const auto in_scratch = [&](const float* data, const Extent& extent) {
    return !scratch.empty() && Meet(scratch.data(), scratch.size(), data, extent.bytes);
  };
  bool shared = in_scratch(src, src_) || in_scratch(dst, dst_);
  for (size_t i = 0; i < residuals.size(); ++i) {
    if (OverlapOf(At(places_[i + 2], residuals[i]), to) == Overlap::kPartial) {
      return Refuse("residuals: one overlaps dst in part, allowed: dst itself, or no shared element");
    }
    shared = shared || in_scratch(residuals[i], residuals_[i]);
  }
  return shared ? Refuse("scratch: overlaps a tensor, allowed: memory of its own") : Status();
}

}  // namespace rafter
