// kernels/conv/widthwise/stage.h: a copy of the inputs of one strip in which the inputs of
// neighbouring pixels are neighbours: with a stride s along the row, the columns i * s + p of one
// phase p lie together. Only phases and rows that some tap uses are copied. Columns of a padding that
// is not too wide are zeros (is_padded), so that with finite weights no tile of a row needs masks; of a
// wider one nothing is ever read.
//
//   stage = [input channel of the group][input row of the strip][phase][column / s]
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_STAGE_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_STAGE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/conv/widthwise/geometry.h"
#include "kernels/conv/widthwise/row_splitter.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter::widthwise {

class Stage {
 public:
  Stage() = default;
  // For strips of at most this many output rows and pixels. `whole_rows`: each strip has all pixels of its rows.
  Stage(const Geometry& g, int64_t strip_rows, int64_t strip_pixels, bool whole_rows);
  // Fills by generated kernels where there are any, plain loops otherwise: rows without stride that are copied whole,
  // and stride 2.
  Status UseKernels(const Geometry& g, Isa isa);
  const jit::KernelPtr& kernel() const { return copy_ != nullptr ? copy_ : splitter_.kernel(); }

  // Whether taps beside the image find zeros.
  static bool IsPadded(const Geometry& g);
  bool is_padded() const { return padded_; }

  // Floats of the buffer; too large when beyond 64-bit byte offsets.
  double floats() const;
  int64_t row_floats() const { return row_floats_; }
  int64_t channel_floats() const { return channel_floats_; }
  // Byte offset of each kernel column's inputs, relative to Offset.
  const std::vector<int64_t>& column_table() const { return column_table_; }

  // Copies the inputs of output rows `y` and of the pixels from `x` on, for all channels, from
  // `image` (first channel of the group).
  void Fill(const Geometry& g, const float* image, Range y, int64_t x, float* stage) const;
  // Where the inputs of output pixel `x` in input row `in_y` begin, in floats, in the stage of a
  // strip that starts at output row `y` and pixel `first`. May lie outside of the buffer where taps
  // fall into the padding.
  int64_t Offset(const Geometry& g, int64_t y, int64_t first, int64_t in_y, int64_t x) const;

 private:
  // `image`: first of these input rows; `first`: column, in units of the stride; `stage`: where that row begins.
  void CopyRows(const Geometry& g, const float* image, int64_t rows, int64_t first, float* stage) const;
  // Zeros up to three more columns on either side, which CopyRows then writes.
  void ZeroMargins(const Geometry& g, int64_t rows, int64_t first, float* stage) const;
  void FillRows(const Geometry& g, const float* image, int64_t rows, int64_t first, float* stage) const;
  int64_t FirstRow(const Geometry& g, int64_t y) const;
  // In units of the stride; negative in a padding that is kept.
  int64_t FirstColumn(int64_t x) const { return padded_ ? x + first_step_ : std::max<int64_t>(0, x + first_step_); }

  RowSplitter splitter_;
  jit::KernelPtr copy_;  // of whole rows, with their margins
  std::vector<int64_t> phases_;  // those that some kernel column uses
  std::vector<int64_t> column_table_;
  int64_t first_step_ =
      0;  // smallest whole number of strides by which a tap is away from its pixel
  bool padded_ = false, copies_whole_rows_ = false;
  int64_t rows_ = 0, columns_ = 0, phase_floats_ = 0, row_floats_ = 0, channel_floats_ = 0, channels_ = 0;
};

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_STAGE_H_
