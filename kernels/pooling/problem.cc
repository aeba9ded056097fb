// kernels/pooling/problem.cc: every rule that a description of a pooling must keep, and its output size.
#include "kernels/pooling/problem.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace rafter {
namespace {

Status CheckEnums(const PoolingDesc& desc) {
  if (desc.kind != PoolingKind::kMax && desc.kind != PoolingKind::kAverage) {
    return InvalidField("kind", static_cast<int64_t>(desc.kind), "is unknown, allowed: 1 (max), 2 (average)");
  }
  return CheckSameFormat(desc.type, desc.src.layout, desc.dst.layout);
}

Status CheckSigns(const PoolingDesc& desc) {
  using Field = std::pair<const char*, int64_t>;
  for (const auto& [name, value] :
       {Field{"n", desc.n}, Field{"pad.top", desc.pad.top}, Field{"pad.left", desc.pad.left},
        Field{"pad.bottom", desc.pad.bottom}, Field{"pad.right", desc.pad.right}}) {
    if (value < 0) return InvalidField(name, value, "is negative, allowed: 0 and above");
  }
  for (const auto& [name, value] :
       {Field{"c", desc.c}, Field{"in.h", desc.in.h}, Field{"in.w", desc.in.w}, Field{"kernel.h", desc.kernel.h},
        Field{"kernel.w", desc.kernel.w}, Field{"stride.h", desc.stride.h}, Field{"stride.w", desc.stride.w},
        Field{"dilation.h (1 = dense)", desc.dilation.h}, Field{"dilation.w (1 = dense)", desc.dilation.w}}) {
    if (value < 1) return InvalidField(name, value, "is too small, allowed: 1 and above");
  }
  return {};
}

// Fills in the output size.
Status CheckAxis(const std::string& name, bool ceil_mode, PoolAxis& axis) {
  int64_t extent = 0, padded = 0;
  if (__builtin_mul_overflow(axis.dilation, axis.kernel - 1, &extent) ||
      __builtin_add_overflow(extent, 1, &extent)) {
    return InvalidField("kernel." + name, axis.kernel, "times its dilation is beyond 64 bits");
  }
  if (__builtin_add_overflow(axis.in, axis.pad_begin, &padded) ||
      __builtin_add_overflow(padded, axis.pad_end, &padded)) {
    return InvalidField("in." + name, axis.in, "plus its padding is beyond 64 bits");
  }
  const int64_t room = padded - extent;
  // Rounded up, a window that hangs over by less than a stride counts.
  const int64_t overhang = ceil_mode ? axis.stride - 1 : 0;
  if (room < 0 && -room > overhang) {
    return InvalidField("kernel." + name, axis.kernel,
                        "with dilation." + name + " = " + std::to_string(axis.dilation) + " covers " +
                            std::to_string(extent) + ", more than the padded input of " + std::to_string(padded));
  }
  if (room < 0) {
    axis.out = 1;
    return {};
  }
  axis.out = room / axis.stride + (ceil_mode && room % axis.stride != 0 ? 1 : 0) + 1;
  // No window may begin behind the input and its leading padding.
  int64_t last = 0;
  if (__builtin_mul_overflow(axis.out - 1, axis.stride, &last) || last >= axis.in + axis.pad_begin) {
    if (ceil_mode && axis.out > 1) --axis.out;
  }
  return {};
}

}  // namespace

int64_t PoolAxis::PaddedTaps(int64_t o) const noexcept {
  // Coordinates relative to the beginning of the padding: windows of valid outputs begin inside of it.
  const int64_t room = in + pad_begin + pad_end - o * stride;
  return room < 1 ? 0 : std::min(kernel, (room - 1) / dilation + 1);
}

Result<PoolingProblem> Validate(const PoolingDesc& desc) {
  for (const auto check : {CheckEnums, CheckSigns}) {
    if (Status status = check(desc); !status.ok()) return status;
  }
  PoolingProblem problem;
  problem.desc = desc;
  problem.h = {desc.in.h, 1, desc.kernel.h, desc.stride.h, desc.dilation.h, desc.pad.top, desc.pad.bottom};
  problem.w = {desc.in.w, 1, desc.kernel.w, desc.stride.w, desc.dilation.w, desc.pad.left, desc.pad.right};
  if (Status status = CheckAxis("h", desc.ceil_mode, problem.h); !status.ok()) return status;
  if (Status status = CheckAxis("w", desc.ceil_mode, problem.w); !status.ok()) return status;
  const Result<Strides> src = ResolveStrides("src", desc.src.layout, desc.src.strides, problem.src_shape());
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, problem.dst_shape());
  if (!dst.ok()) return dst.status();
  problem.src = *src, problem.dst = *dst;
  return problem;
}

}  // namespace rafter
