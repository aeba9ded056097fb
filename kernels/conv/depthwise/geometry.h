// kernels/conv/depthwise/geometry.h: a depthwise problem as its kernels see it. Rows and columns
// are those of the image, or exchanged where the kernel is one column wide: the window then slides
// along the columns of the image. Immutable.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_GEOMETRY_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/problem.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

// Distances in elements; `channel` between blocks in blocked layouts.
struct Steps {
  int64_t n = 0, channel = 0, row = 0, column = 0;
};

struct Geometry {
  int64_t n = 1, ic = 1, oc = 1;
  int64_t multiplier = 1;  // output channels per input channel
  int64_t kh = 1, kw = 1;  // of rows and columns
  Axis rows, columns;
  Layout src_layout = Layout::kNhwc, dst_layout = Layout::kNhwc;
  Steps src, dst;
  bool transposes = false;  // the tensors are NCHW; strips of channels are transposed into a buffer
  std::vector<Steps> residuals;  // one per post-op, used where the post-op is kResidualAdd
  PostOps post_ops;
  double image_bytes = 0;  // of both tensors, of one image

  int64_t taps() const { return kh * kw; }
  bool has_residual() const;
};

// `exchange`: rows of the geometry are columns of the image.
Geometry GeometryOf(const ConvProblem& problem, bool exchange);

// Of a problem in NCHW whose strips of channels are transposed: the layouts are those of the buffer, the
// distances those of the tensors.
Geometry TransposedGeometryOf(const ConvProblem& problem);

// Where channel `c` lies, in bytes; `channel_step` as in Steps.
inline int64_t ChannelBytes(Layout layout, int64_t channel_step, int64_t c) {
  const int64_t block = ChannelBlock(layout);
  return block == 1 ? c * kFloat : ((c / block) * channel_step + c % block) * kFloat;
}

// Whether every address that the drivers compute, and every count, stays far inside 64 bits.
bool OffsetsFit(const ConvProblem& problem);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_GEOMETRY_H_
