// kernels/conv/widthwise/geometry.cc
#include "kernels/conv/widthwise/geometry.h"

#include <algorithm>

namespace rafter::widthwise {

namespace {

// Whether `reach` elements along an axis, with room for steps of whole tiles, stay within 64-bit
// byte offsets.
bool AxisFits(int64_t in, int64_t pad_begin, int64_t pad_end, int64_t kernel, int64_t stride,
              int64_t dilation, int64_t element_stride) {
  int64_t reach = 0, extent = 0, steps = 0, bytes = 0;
  constexpr int64_t kTile = 1024;  // pixels of the largest tile, times the size of a float
  for (const int64_t part : {in, pad_begin, pad_end}) {
    if (__builtin_add_overflow(reach, part, &reach)) return false;
  }
  return !__builtin_mul_overflow(kernel, dilation, &extent) &&
         !__builtin_mul_overflow(stride, kTile, &steps) &&
         !__builtin_add_overflow(reach, extent, &reach) &&
         !__builtin_add_overflow(reach, steps, &reach) &&
         !__builtin_mul_overflow(reach, element_stride, &bytes) &&
         !__builtin_mul_overflow(bytes, 64, &bytes);
}

// Planes in which rows follow each other without gaps, kernel 1x1: one long row.
bool RowsJoin(const Geometry& g, const ConvDesc& d) {
  if (g.taps() != 1 || d.stride != Size2{1, 1} || g.out.h != g.in.h || g.out.w != g.in.w)
    return false;
  if (d.pad.top + d.pad.left + d.pad.bottom + d.pad.right != 0) return false;
  if (g.in.h > 1 && (g.src.h != g.in.w || g.dst.h != g.out.w)) return false;
  for (size_t op = 0; op < g.post_ops.size(); ++op) {
    const bool is_residual = g.post_ops[op].kind == PostOpKind::kResidualAdd;
    if (is_residual && g.in.h > 1 && g.residuals[op].h != g.out.w) return false;
  }
  return true;
}

}  // namespace

bool Geometry::has_residual() const {
  return std::any_of(post_ops.begin(), post_ops.end(),
                     [](const PostOp& op) { return op.kind == PostOpKind::kResidualAdd; });
}

Geometry GeometryOf(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  Geometry g;
  g.n = d.n, g.groups = d.groups, g.ic_g = problem.ic_g, g.oc_g = problem.oc_g;
  g.in = d.in, g.out = {problem.oh, problem.ow};
  g.kernel = d.kernel, g.stride = d.stride, g.dilation = d.dilation;
  g.pad_top = d.pad.top, g.pad_left = d.pad.left;
  g.src = problem.src, g.dst = problem.dst;
  g.post_ops = d.post_ops;
  for (const PostOp& op : d.post_ops) g.residuals.push_back(ResidualStrides(problem, op));
  if (RowsJoin(g, d)) {
    g.in = g.out = {1, g.in.h * g.in.w};
  }
  return g;
}

bool OffsetsFit(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  return AxisFits(d.in.h, d.pad.top, d.pad.bottom, d.kernel.h, d.stride.h, d.dilation.h,
                  problem.src.h) &&
         AxisFits(d.in.w, d.pad.left, d.pad.right, d.kernel.w, d.stride.w, d.dilation.w, 1);
}

}  // namespace rafter::widthwise
