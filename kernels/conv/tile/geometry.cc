// kernels/conv/tile/geometry.cc
#include "kernels/conv/tile/geometry.h"

namespace rafter::tile {

namespace {

// Whether everything that the driver computes along one axis stays within 64-bit byte offsets: `reach` in
// units of `element_stride`.
bool StepsFit(int64_t in, int64_t pad_begin, int64_t pad_end, int64_t kernel, int64_t stride,
              int64_t dilation, int64_t element_stride) {
  int64_t reach = 0;
  for (const int64_t part : {in, pad_begin, pad_end, stride}) {
    if (__builtin_add_overflow(reach, part, &reach)) return false;
  }
  int64_t extent = 0, bytes = 0;
  constexpr int64_t kTiles = 64;  // steps of whole tiles, and room for sums of steps
  return !__builtin_mul_overflow(kernel, dilation, &extent) &&
         !__builtin_add_overflow(reach, extent, &reach) &&
         !__builtin_mul_overflow(reach, element_stride, &bytes) &&
         !__builtin_mul_overflow(bytes, kTiles * static_cast<int64_t>(sizeof(float)), &bytes);
}

}  // namespace

Geometry GeometryOf(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  Geometry g;
  g.n = d.n, g.groups = d.groups, g.ic_g = problem.ic_g, g.oc_g = problem.oc_g;
  g.in = d.in, g.out = {problem.oh, problem.ow};
  g.kernel = d.kernel, g.stride = d.stride, g.dilation = d.dilation;
  g.pad_top = d.pad.top, g.pad_left = d.pad.left, g.pad_right = d.pad.right;
  g.src_layout = d.src.layout, g.dst_layout = d.dst.layout;
  g.src = problem.src, g.dst = problem.dst;
  g.post_ops = d.post_ops;
  for (const PostOp& op : d.post_ops) g.residuals.push_back(ResidualStrides(problem, op));
  return g;
}

bool ColumnsJoin(const Geometry& g) {
  if (g.src_layout != Layout::kNhwc) return false;
  if (g.kernel.w == 1) return true;
  return g.groups == 1 && g.ic_g <= SumBlock(g.ic_g) && g.src.w == g.ic_g && g.dilation.w == 1;
}

Refusal LayoutRefusal(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  if (d.src.layout == Layout::kNchw) return "src is NCHW: channels are not together";
  if (d.dst.layout == Layout::kNchw) return "dst is NCHW: channels are not together";
  const int64_t src_block = ChannelBlock(d.src.layout), dst_block = ChannelBlock(d.dst.layout);
  if (d.groups > 1 && problem.ic_g % src_block != 0) {
    return {"src: a group of # channels begins inside a block of #", {problem.ic_g, src_block}};
  }
  if (d.groups > 1 && problem.oc_g % dst_block != 0) {
    return {"dst: a group of # channels begins inside a block of #", {problem.oc_g, dst_block}};
  }
  if (!StepsFit(d.in.h, d.pad.top, d.pad.bottom, d.kernel.h, d.stride.h, d.dilation.h, problem.src.h) ||
      !StepsFit(d.in.w, d.pad.left, d.pad.right, d.kernel.w, d.stride.w, d.dilation.w, problem.src.w)) {
    return "padding, strides or dilations lead beyond 64-bit byte offsets";
  }
  return {};
}

}  // namespace rafter::tile
