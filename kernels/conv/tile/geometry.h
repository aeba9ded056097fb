// kernels/conv/tile/geometry.h: what the tile engine computes: a convolution as direct/ or pointwise/ lays
// it out for the engine (pointwise joins all pixels into one long row). Sizes in elements, immutable.
#ifndef RAFTER_KERNELS_CONV_TILE_GEOMETRY_H_
#define RAFTER_KERNELS_CONV_TILE_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/problem.h"
#include "kernels/conv/refusal.h"
#include "kernels/sizes.h"

namespace rafter::tile {

struct Geometry {
  int64_t n = 1, groups = 1, ic_g = 0, oc_g = 0;
  Size2 in, out, kernel, stride, dilation;
  int64_t pad_top = 0, pad_left = 0, pad_right = 0;
  Layout src_layout = Layout::kNhwc, dst_layout = Layout::kNhwc;
  Strides src, dst;
  std::vector<Strides> residuals;  // one per post-op, used where the post-op is kResidualAdd
  PostOps post_ops;

  int64_t taps() const { return kernel.h * kernel.w; }
  // Of all groups, without the padding of panels.
  double weight_bytes() const { return static_cast<double>(groups * oc_g * ic_g * taps()) * kFloat; }
};

// The problem as it is: rows are image rows. `problem` must be one that LayoutRefusal accepts.
Geometry GeometryOf(const ConvProblem& problem);

// Whether a kernel row of a pixel is one contiguous piece of input: NHWC, dense channels, no dilation, and one channel
// block, so that the order of the sum stays the same.
bool ColumnsJoin(const Geometry& g);

// Why the tile engine cannot take the problem's layouts; empty when it can.
Refusal LayoutRefusal(const ConvProblem& problem);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_GEOMETRY_H_
