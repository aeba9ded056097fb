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

constexpr int64_t kElementBytes = 4;
constexpr int64_t kMaxInt = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxElements = kMaxInt / kElementBytes;

Status Invalid(std::string field, int64_t value, const std::string& allowed) {
  return Status::InvalidArgument(std::move(field) + ": " + std::to_string(value) + " " + allowed);
}

struct Field {
  const char* name;
  int64_t value;
};

Status CheckEnums(const ConvDesc& desc) {
  if (desc.type != DataType::kF32) {
    return Invalid("type", static_cast<int64_t>(desc.type), "is unknown, allowed: 0 (f32)");
  }
  const auto known = [](Layout layout) {
    return layout == Layout::kNhwc || layout == Layout::kNchw || layout == Layout::kNchw16c ||
           layout == Layout::kNchw8c;
  };
  constexpr const char* kAllowed =
      "is unknown, allowed: 0 (NHWC), 1 (NCHW), 2 (NCHW16c), 3 (NCHW8c)";
  if (!known(desc.src.layout)) {
    return Invalid("src.layout", static_cast<int64_t>(desc.src.layout), kAllowed);
  }
  if (!known(desc.dst.layout)) {
    return Invalid("dst.layout", static_cast<int64_t>(desc.dst.layout), kAllowed);
  }
  return {};
}

Status CheckSigns(const ConvDesc& desc) {
  if (desc.n < 0) return Invalid("n", desc.n, "is negative, allowed: 0 and above");
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
      return Invalid(field.name, field.value, "is too small, allowed: 1 and above");
  }
  const Field padding[] = {{"pad.top", desc.pad.top},
                           {"pad.left", desc.pad.left},
                           {"pad.bottom", desc.pad.bottom},
                           {"pad.right", desc.pad.right}};
  for (const Field& field : padding) {
    if (field.value < 0)
      return Invalid(field.name, field.value, "is negative, allowed: 0 and above");
  }
  return {};
}

Status CheckGroups(const ConvDesc& desc) {
  for (const Field& field : {Field{"ic", desc.ic}, Field{"oc", desc.oc}}) {
    if (field.value % desc.groups != 0) {
      return Invalid(field.name, field.value,
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
    return Invalid(
        "kernel." + name, axis.kernel,
        "times dilation." + name + " = " + std::to_string(axis.dilation) + " is beyond 64 bits");
  }
  if (__builtin_add_overflow(axis.in, axis.pad_begin, &padded) ||
      __builtin_add_overflow(padded, axis.pad_end, &padded)) {
    return Invalid("in." + name, axis.in, "plus its padding is beyond 64 bits");
  }
  if (extent > padded) {
    return Invalid("kernel." + name, axis.kernel,
                   "with dilation." + name + " = " + std::to_string(axis.dilation) + " covers " +
                       std::to_string(extent) + ", more than the padded input of " +
                       std::to_string(padded));
  }
  return (padded - extent) / axis.stride + 1;
}

int64_t BlocksOf(Layout layout, int64_t c) {
  const int64_t block = ChannelBlock(layout);
  return c / block + (c % block != 0 ? 1 : 0);
}

// Whether the product of non-negative factors stays within the elements that 64-bit byte offsets
// reach.
bool ProductFits(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return false;
  }
  return product <= kMaxElements;
}

struct Shape {
  int64_t n, c, h, w;
};

struct Dimension {
  char name;
  int64_t size, stride;
};

// Every dimension that has neighbours must step over everything that lies inside it.
Status CheckNoOverlap(const std::string& field, std::array<Dimension, 4> dims, int64_t unit) {
  for (const Dimension& dim : dims) {
    if (dim.size > 1 && dim.stride < 1) {
      return Invalid(field + "." + dim.name, dim.stride, "is too small, allowed: 1 and above");
    }
  }
  std::sort(dims.begin(), dims.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  int64_t span = unit;
  for (const Dimension& dim : dims) {
    if (dim.size <= 1) continue;
    if (dim.stride < span) {
      return Invalid(field + "." + dim.name, dim.stride,
                     "makes elements overlap, allowed: " + std::to_string(span) + " and above");
    }
    int64_t reach = 0;
    if (__builtin_mul_overflow(dim.stride, dim.size - 1, &reach) ||
        __builtin_add_overflow(span, reach, &span) || span > kMaxElements) {
      return Invalid(field + "." + dim.name, dim.stride,
                     "puts the last element beyond 64-bit byte offsets");
    }
  }
  return {};
}

// The given strides, but the dense ones where a dimension has one element only: nothing is ever
// reached through those, so they may hold anything.
Strides WithDenseSingles(Layout layout, const Strides& given, const Shape& shape) {
  Strides strides = DenseStrides(layout, shape.c, shape.h, shape.w);
  if (shape.n > 1) strides.n = given.n;
  if (BlocksOf(layout, shape.c) > 1) strides.c = given.c;
  if (shape.h > 1) strides.h = given.h;
  if (shape.w > 1) strides.w = given.w;
  return strides;
}

// Strides of a tensor: the given ones when they are valid, dense ones when absent.
Result<Strides> ResolveStrides(const std::string& field, Layout layout,
                               const std::optional<Strides>& given, const Shape& shape) {
  const int64_t block = ChannelBlock(layout), blocks = BlocksOf(layout, shape.c);
  if (!ProductFits({std::max<int64_t>(shape.n, 1), blocks, block, shape.h, shape.w})) {
    return Status::InvalidArgument(field + ": " + std::to_string(shape.n) + "x" +
                                   std::to_string(shape.c) + "x" + std::to_string(shape.h) + "x" +
                                   std::to_string(shape.w) +
                                   " elements are beyond 64-bit byte offsets");
  }
  if (!given) return DenseStrides(layout, shape.c, shape.h, shape.w);
  const std::string name = field + ".strides";
  if (layout == Layout::kNhwc && shape.c > 1 && given->c != 1) {
    return Invalid(name + ".c", given->c, "is not allowed in NHWC: 1 (channels are contiguous)");
  }
  if (layout == Layout::kNchw && shape.w > 1 && given->w != 1) {
    return Invalid(name + ".w", given->w, "is not allowed in NCHW: 1 (columns are contiguous)");
  }
  Status status = CheckNoOverlap(name,
                                 {{{'n', shape.n, given->n},
                                   {'c', blocks, given->c},
                                   {'h', shape.h, given->h},
                                   {'w', shape.w, given->w}}},
                                 block);
  if (!status.ok()) return status;
  return WithDenseSingles(layout, *given, shape);
}

bool UsesAlpha(PostOpKind kind) {
  return kind == PostOpKind::kLeakyRelu || kind == PostOpKind::kClip ||
         kind == PostOpKind::kHardSigmoid || kind == PostOpKind::kSwish || kind == PostOpKind::kElu;
}

bool UsesBeta(PostOpKind kind) {
  return kind == PostOpKind::kClip || kind == PostOpKind::kHardSigmoid;
}

Status CheckPostOp(const std::string& field, const PostOp& op, Layout layout, const Shape& dst) {
  const auto kind = static_cast<int64_t>(op.kind);
  if (op.kind < PostOpKind::kRelu || op.kind > PostOpKind::kChannelScale) {
    return Invalid(field + ".kind", kind, "is unknown, allowed: 1 to 12");
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
    return Invalid(field + ".scale", static_cast<int64_t>(op.scale.size()),
                   "values, allowed: one per output channel, " + std::to_string(dst.c));
  }
  if (op.kind == PostOpKind::kResidualAdd && op.residual_strides) {
    return ResolveStrides(field + ".residual", layout, op.residual_strides, dst).status();
  }
  return {};
}

Status CheckPostOps(const ConvDesc& desc, const Shape& dst) {
  if (desc.post_ops.size() > static_cast<size_t>(kMaxPostOps)) {
    return Invalid("post_ops", static_cast<int64_t>(desc.post_ops.size()),
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
  const Shape src_shape{desc.n, desc.ic, desc.in.h, desc.in.w};
  const Shape dst_shape{desc.n, desc.oc, *oh, *ow};
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

Strides DenseStrides(Layout layout, int64_t c, int64_t h, int64_t w) noexcept {
  const int64_t block = ChannelBlock(layout);
  switch (layout) {
    case Layout::kNhwc:
      return {.n = h * w * c, .c = 1, .h = w * c, .w = c};
    case Layout::kNchw:
      return {.n = c * h * w, .c = h * w, .h = w, .w = 1};
    case Layout::kNchw16c:
    case Layout::kNchw8c:
      return {
          .n = BlocksOf(layout, c) * h * w * block, .c = h * w * block, .h = w * block, .w = block};
  }
  return {};
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
