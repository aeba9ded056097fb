// kernels/reorder/problem.cc: the rules of a reorder's description.
#include "kernels/reorder/problem.h"

namespace rafter {

Result<ReorderProblem> Validate(const ReorderDesc& desc) {
  Status status = CheckType(desc.type);
  if (status.ok()) status = CheckLayout("src.layout", desc.src.layout);
  if (status.ok()) status = CheckLayout("dst.layout", desc.dst.layout);
  const TensorShape shape{desc.n, desc.c, desc.h, desc.w};
  if (status.ok()) status = CheckSizes(shape);
  if (!status.ok()) return status;
  const Result<Strides> src = ResolveStrides("src", desc.src.layout, desc.src.strides, shape);
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, shape);
  if (!dst.ok()) return dst.status();
  return ReorderProblem{desc, shape, *src, *dst};
}

}  // namespace rafter
