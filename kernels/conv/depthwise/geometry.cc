// kernels/conv/depthwise/geometry.cc
#include "kernels/conv/depthwise/geometry.h"

#include <algorithm>
#include <utility>

namespace rafter::depthwise {

namespace {

Steps StepsOf(const Strides& s, bool exchange) {
  return exchange ? Steps{s.n, s.c, s.w, s.h} : Steps{s.n, s.c, s.h, s.w};
}

bool AxisFits(int64_t in, int64_t pads, int64_t kernel, int64_t stride, int64_t dilation,
              int64_t element_stride) {
  constexpr int64_t kMost = int64_t{1} << 31;
  for (const int64_t size : {in, pads, kernel, stride, dilation}) {
    if (size > kMost) return false;
  }
  int64_t bytes = 0;
  constexpr int64_t kTile = 64;  // columns of a tile, and room for sums
  return !__builtin_mul_overflow(in + pads + stride + kernel * dilation, element_stride, &bytes) &&
         !__builtin_mul_overflow(bytes, kTile * static_cast<int64_t>(sizeof(float)), &bytes);
}

}  // namespace

bool Geometry::has_residual() const {
  return std::any_of(post_ops.begin(), post_ops.end(),
                     [](const PostOp& op) { return op.kind == PostOpKind::kResidualAdd; });
}

Geometry GeometryOf(const ConvProblem& problem, bool exchange) {
  const ConvDesc& d = problem.desc;
  Geometry g;
  g.n = d.n, g.ic = d.ic, g.oc = d.oc, g.multiplier = problem.oc_g;
  g.kh = d.kernel.h, g.kw = d.kernel.w;
  g.rows = Axis(d.in.h, problem.oh, d.kernel.h, d.stride.h, d.dilation.h, d.pad.top);
  g.columns = Axis(d.in.w, problem.ow, d.kernel.w, d.stride.w, d.dilation.w, d.pad.left);
  if (exchange) {
    std::swap(g.kh, g.kw);
    std::swap(g.rows, g.columns);
  }
  g.src_layout = d.src.layout, g.dst_layout = d.dst.layout;
  g.src = StepsOf(problem.src, exchange), g.dst = StepsOf(problem.dst, exchange);
  g.post_ops = d.post_ops;
  const double src = static_cast<double>(g.ic * d.in.h) * static_cast<double>(d.in.w);
  const double dst = static_cast<double>(g.oc * problem.oh) * static_cast<double>(problem.ow);
  g.image_bytes = static_cast<double>(kFloat) * (src + dst);
  for (const PostOp& op : d.post_ops) {
    g.residuals.push_back(StepsOf(ResidualStrides(problem, op), exchange));
  }
  return g;
}

Geometry TransposedGeometryOf(const ConvProblem& problem) {
  Geometry g = GeometryOf(problem, false);
  g.src_layout = g.dst_layout = Layout::kNhwc;
  g.transposes = true;
  return g;
}

bool OffsetsFit(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  return AxisFits(d.in.h, std::max(d.pad.top, d.pad.bottom), d.kernel.h, d.stride.h, d.dilation.h,
                  problem.src.h) &&
         AxisFits(d.in.w, std::max(d.pad.left, d.pad.right), d.kernel.w, d.stride.w, d.dilation.w,
                  problem.src.w);
}

}  // namespace rafter::depthwise
