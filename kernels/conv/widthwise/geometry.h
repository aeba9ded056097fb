// kernels/conv/widthwise/geometry.h: the convolution as the widthwise kernels see it: a 1x1
// convolution of dense planes is one long row. Sizes in elements, immutable.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_GEOMETRY_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_GEOMETRY_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/problem.h"

namespace rafter::widthwise {

// What the innermost loop runs over.
enum class Line {
  kChannels,
  kColumns,  // of a single channel
  kRows,     // of a single channel and a kernel one column wide
};

struct Geometry {
  int64_t n = 1, groups = 1, ic_g = 0, oc_g = 0;
  Size2 in, out, kernel, stride, dilation;
  int64_t pad_top = 0, pad_left = 0;
  Strides src, dst;
  std::vector<Strides> residuals;  // one per post-op, used where the post-op is kResidualAdd
  PostOps post_ops;

  int64_t taps() const { return kernel.h * kernel.w; }
  // Interior kernels; edge kernels and tables of columns (stage.h) need lines of channels.
  Line line() const {
    if (ic_g > 1 || taps() == 1) return Line::kChannels;
    return kernel.w > 1 ? Line::kColumns : Line::kRows;
  }
  // Whether neighbouring output rows can share the loads of input rows: they then see every input
  // row of a tile at the same distance from each other.
  bool rows_share() const { return kernel.h > 1 && kernel.w > 1 && stride.h % dilation.h == 0; }
  // Kernel rows between those that two neighbouring output rows apply to one input row.
  int64_t row_distance() const { return stride.h / dilation.h; }
  // Input rows that a tile of `rows` output rows reads.
  int64_t input_rows(int64_t rows) const {
    return rows == 1 ? kernel.h : kernel.h + (rows - 1) * row_distance();
  }
  bool has_residual() const;
};

// `problem` must be one that Refusal (widthwise.h) accepts.
Geometry GeometryOf(const ConvProblem& problem);

// Whether all byte offsets that the driver computes stay within 64 bits.
bool OffsetsFit(const ConvProblem& problem);

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_GEOMETRY_H_
