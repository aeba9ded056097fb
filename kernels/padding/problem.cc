// kernels/padding/problem.cc: the rules of a padding's description.
#include "kernels/padding/problem.h"

#include <string>

namespace rafter {
namespace {

struct Side {
  const char* name;
  int64_t pad;
  const char* size_name;
  int64_t size;
};

Status CheckSide(const PadDesc& desc, const Side& side) {
  if (side.pad < 0) return InvalidField(side.name, side.pad, "is negative, allowed: 0 and above");
  if (desc.mode != PadMode::kReflect || side.pad < side.size) return {};
  return InvalidField(side.name, side.pad,
                      "reflects more than the image has, allowed: up to " + std::to_string(side.size - 1) + " (" +
                          side.size_name + " - 1)");
}

Status CheckDesc(const PadDesc& desc) {
  Status status = CheckType(desc.type);
  if (status.ok()) status = CheckLayout("src.layout", desc.src.layout);
  if (status.ok()) status = CheckLayout("dst.layout", desc.dst.layout);
  if (!status.ok()) return status;
  if (desc.mode > PadMode::kReflect) {
    return InvalidField("mode", static_cast<int64_t>(desc.mode),
                        "is unknown, allowed: 0 (constant), 1 (edge), 2 (reflect)");
  }
  if (desc.n < 0) return InvalidField("n", desc.n, "is negative, allowed: 0 and above");
  if (desc.c < 1) return InvalidField("c", desc.c, "is too small, allowed: 1 and above");
  if (desc.in.h < 1) return InvalidField("in.h", desc.in.h, "is too small, allowed: 1 and above");
  if (desc.in.w < 1) return InvalidField("in.w", desc.in.w, "is too small, allowed: 1 and above");
  for (const Side& side : {Side{"pad.top", desc.pad.top, "in.h", desc.in.h},
                           Side{"pad.bottom", desc.pad.bottom, "in.h", desc.in.h},
                           Side{"pad.left", desc.pad.left, "in.w", desc.in.w},
                           Side{"pad.right", desc.pad.right, "in.w", desc.in.w}}) {
    if (status = CheckSide(desc, side); !status.ok()) return status;
  }
  if (desc.src.layout == desc.dst.layout) return {};
  return Status::Unsupported(std::string("dst.layout: ") + LayoutName(desc.dst.layout) +
                             " differs from src.layout, allowed: " + LayoutName(desc.src.layout) + " (reorder first)");
}

Result<int64_t> Padded(const char* field, int64_t size, int64_t before, int64_t after) {
  int64_t padded = 0;
  if (__builtin_add_overflow(size, before, &padded) || __builtin_add_overflow(padded, after, &padded)) {
    return InvalidField(field, size, "plus its padding is beyond 64 bits");
  }
  return padded;
}

}  // namespace

Result<PadProblem> Validate(const PadDesc& desc) {
  if (Status status = CheckDesc(desc); !status.ok()) return status;
  const Result<int64_t> oh = Padded("in.h", desc.in.h, desc.pad.top, desc.pad.bottom);
  if (!oh.ok()) return oh.status();
  const Result<int64_t> ow = Padded("in.w", desc.in.w, desc.pad.left, desc.pad.right);
  if (!ow.ok()) return ow.status();
  PadProblem problem{desc, {desc.n, desc.c, desc.in.h, desc.in.w}, {desc.n, desc.c, *oh, *ow}, {}, {}, 0};
  const Result<Strides> src = ResolveStrides("src", desc.src.layout, desc.src.strides, problem.in);
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, problem.out);
  if (!dst.ok()) return dst.status();
  problem.src = *src, problem.dst = *dst;
  problem.inner_offset = desc.pad.top * dst->h + desc.pad.left * dst->w;
  return problem;
}

}  // namespace rafter
