// kernels/conv/tile/geometry.cc
#include "kernels/conv/tile/geometry.h"

#include <tuple>

namespace rafter::tile {

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
  for (const PostOp& op : d.post_ops) g.residuals.push_back(op.residual_strides.value_or(problem.dst));
  return g;
}

std::string LayoutRefusal(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  for (const auto& [what, layout, channels] :
       {std::tuple{"src", d.src.layout, problem.ic_g}, std::tuple{"dst", d.dst.layout, problem.oc_g}}) {
    if (layout == Layout::kNchw) return std::string(what) + " is NCHW: channels are not together";
    const int64_t block = ChannelBlock(layout);
    if (d.groups > 1 && channels % block != 0) {
      return std::string(what) + ": a group of " + std::to_string(channels) +
             " channels begins inside a block of " + std::to_string(block);
    }
  }
  return "";
}

}  // namespace rafter::tile
