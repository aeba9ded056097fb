// kernels/conv/problem.cc: every rule that a description must keep, and the sizes derived from it.
//
// Rules are checked in the order in which a reader would: enums, signs, groups, window, tensors,
// post-ops. All arithmetic on sizes is checked here once, so that nothing behind Validate needs to.
#include "kernels/conv/problem.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace rafter {
namespace {

constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();

struct Field {
  const char* name;
  int64_t value;
};

Status CheckEnums(const ConvDesc& desc) {
  if (desc.type != DataType::kF32) {
    return InvalidField("type", static_cast<int64_t>(desc.type), "is unknown, allowed: 0 (f32)");
  }
  Status status = CheckLayout("src.layout", desc.src.layout);
  return status.ok() ? CheckLayout("dst.layout", desc.dst.layout) : status;
}

Status CheckSigns(const ConvDesc& desc) {
  if (desc.n < 0) return InvalidField("n", desc.n, "is negative, allowed: 0 and above");
  const Field positive[] = {{"groups", desc.groups},
                            {"ic", desc.ic},
                            {"oc", desc.oc},
                            {"in.h", desc.in.h},
                            {"in.w", desc.in.w},
                            {"kernel.h", desc.kernel.h},
                            {"kernel.w", desc.kernel.w},
                            {"stride.h", desc.stride.h},
                            {"stride.w", desc.stride.w},
                            {"dilation.h (1 = dense)", desc.dilation.h},
                            {"dilation.w (1 = dense)", desc.dilation.w}};
  for (const Field& field : positive) {
    if (field.value < 1)
      return InvalidField(field.name, field.value, "is too small, allowed: 1 and above");
  }
  const Field padding[] = {{"pad.top", desc.pad.top},
                           {"pad.left", desc.pad.left},
                           {"pad.bottom", desc.pad.bottom},
                           {"pad.right", desc.pad.right}};
  for (const Field& field : padding) {
    if (field.value < 0)
      return InvalidField(field.name, field.value, "is negative, allowed: 0 and above");
  }
  return {};
}

Status CheckGroups(const ConvDesc& desc) {
  for (const Field& field : {Field{"ic", desc.ic}, Field{"oc", desc.oc}}) {
    if (field.value % desc.groups != 0) {
      return InvalidField(field.name, field.value,
                          "is not divisible by groups = " + std::to_string(desc.groups));
    }
  }
  return {};
}

struct Axis {
  const char* name;  // "h" or "w"
  int64_t in, kernel, stride, dilation, pad_begin, pad_end;
};

// Output size of one axis.
Result<int64_t> OutputSize(const Axis& axis) {
  const std::string name = axis.name;
  int64_t extent = 0, padded = 0;
  if (__builtin_mul_overflow(axis.dilation, axis.kernel - 1, &extent) ||
      __builtin_add_overflow(extent, 1, &extent)) {
    return InvalidField(
        "kernel." + name, axis.kernel,
        "times dilation." + name + " = " + std::to_string(axis.dilation) + " is beyond 64 bits");
  }
  if (__builtin_add_overflow(axis.in, axis.pad_begin, &padded) ||
      __builtin_add_overflow(padded, axis.pad_end, &padded)) {
    return InvalidField("in." + name, axis.in, "plus its padding is beyond 64 bits");
  }
  if (extent > padded) {
    return InvalidField("kernel." + name, axis.kernel,
                        "with dilation." + name + " = " + std::to_string(axis.dilation) + " covers " +
                            std::to_string(extent) + ", more than the padded input of " +
                            std::to_string(padded));
  }
  return (padded - extent) / axis.stride + 1;
}

bool UsesAlpha(PostOpKind kind) {
  return kind == PostOpKind::kLeakyRelu || kind == PostOpKind::kClip ||
         kind == PostOpKind::kHardSigmoid || kind == PostOpKind::kSwish || kind == PostOpKind::kElu;
}

bool UsesBeta(PostOpKind kind) {
  return kind == PostOpKind::kClip || kind == PostOpKind::kHardSigmoid;
}

Status CheckPostOp(const std::string& field, const PostOp& op, Layout layout, const TensorShape& dst) {
  const auto kind = static_cast<int64_t>(op.kind);
  if (op.kind < PostOpKind::kRelu || op.kind > PostOpKind::kChannelScale) {
    return InvalidField(field + ".kind", kind, "is unknown, allowed: 1 to 12");
  }
  if (UsesAlpha(op.kind) && !std::isfinite(op.alpha)) {
    return Status::InvalidArgument(field + ".alpha: " + std::to_string(op.alpha) +
                                   " is not finite, allowed: finite values");
  }
  if (UsesBeta(op.kind) && !std::isfinite(op.beta)) {
    return Status::InvalidArgument(field + ".beta: " + std::to_string(op.beta) +
                                   " is not finite, allowed: finite values");
  }
  if (op.kind == PostOpKind::kClip && op.alpha > op.beta) {
    return Status::InvalidArgument(field + ".alpha: " + std::to_string(op.alpha) +
                                   " is above beta, allowed: up to " + std::to_string(op.beta));
  }
  if (op.kind == PostOpKind::kChannelScale && static_cast<int64_t>(op.scale.size()) != dst.c) {
    return InvalidField(field + ".scale", static_cast<int64_t>(op.scale.size()),
                        "values, allowed: one per output channel, " + std::to_string(dst.c));
  }
  if (op.kind == PostOpKind::kResidualAdd && op.residual_strides) {
    return ResolveStrides(field + ".residual", layout, op.residual_strides, dst).status();
  }
  return {};
}

Status CheckPostOps(const ConvDesc& desc, const TensorShape& dst) {
  if (desc.post_ops.size() > static_cast<size_t>(kMaxPostOps)) {
    return InvalidField("post_ops", static_cast<int64_t>(desc.post_ops.size()),
                        "operations, allowed: up to " + std::to_string(kMaxPostOps));
  }
  for (size_t i = 0; i < desc.post_ops.size(); ++i) {
    const std::string field = "post_ops[" + std::to_string(i) + "]";
    Status status = CheckPostOp(field, desc.post_ops[i], desc.dst.layout, dst);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Result<ConvProblem> Validate(const ConvDesc& desc) {
  for (const auto check : {CheckEnums, CheckSigns, CheckGroups}) {
    if (Status status = check(desc); !status.ok()) return status;
  }
  const Result<int64_t> oh = OutputSize({"h", desc.in.h, desc.kernel.h, desc.stride.h,
                                         desc.dilation.h, desc.pad.top, desc.pad.bottom});
  if (!oh.ok()) return oh.status();
  const Result<int64_t> ow = OutputSize({"w", desc.in.w, desc.kernel.w, desc.stride.w,
                                         desc.dilation.w, desc.pad.left, desc.pad.right});
  if (!ow.ok()) return ow.status();

  const int64_t ic_g = desc.ic / desc.groups, oc_g = desc.oc / desc.groups;
  // One more input channel stands for the bias.
  if (ic_g >= kMaxElements || !ProductFits({desc.oc, ic_g + 1, desc.kernel.h, desc.kernel.w})) {
    return Status::InvalidArgument("weights: " + std::to_string(desc.oc) + "x" +
                                   std::to_string(ic_g) + "x" + std::to_string(desc.kernel.h) +
                                   "x" + std::to_string(desc.kernel.w) +
                                   " elements are beyond 64-bit byte offsets");
  }
  const TensorShape src_shape{desc.n, desc.ic, desc.in.h, desc.in.w};
  const TensorShape dst_shape{desc.n, desc.oc, *oh, *ow};
  const Result<Strides> src = ResolveStrides("src", desc.src.layout, desc.src.strides, src_shape);
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, dst_shape);
  if (!dst.ok()) return dst.status();
  if (Status status = CheckPostOps(desc, dst_shape); !status.ok()) return status;
  return ConvProblem{desc, ic_g, oc_g, *oh, *ow, *src, *dst};
}

Strides ResidualStrides(const ConvProblem& problem, const PostOp& op) noexcept {
  if (!op.residual_strides) return problem.dst;
  return WithDenseSingles(problem.desc.dst.layout, *op.residual_strides,
                          {problem.desc.n, problem.desc.oc, problem.oh, problem.ow});
}

TapRange ValidTaps(int64_t out, int64_t in_size, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t pad_begin) noexcept {
  int64_t first = 0;  // coordinate of tap 0
  if (__builtin_mul_overflow(out, stride, &first)) return {};
  first -= pad_begin;
  if (first >= in_size) return {};
  const int64_t begin = first >= 0 ? 0 : (-first - 1) / dilation + 1;
  int64_t inside = 0;  // distance to the end, at least 1
  if (__builtin_sub_overflow(in_size, first, &inside)) inside = kMaxInt;
  const int64_t end = std::min(kernel, (inside - 1) / dilation + 1);
  if (begin >= end) return {};
  return {begin, end};
}

}  // namespace rafter
