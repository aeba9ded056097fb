// kernels/conv/strip/row_cut.h: how an output row is cut into strips, once per plan and piece.
//
// Widths differ by at most one pixel. Strips whose taps are all inside the image run together; those at the ends of
// the row are listed, each with the input pixels outside of the image that its kernel leaves out. Where a step
// takes one column only (very wide kernels), strips at the ends are single pixels with a range of columns.
#ifndef RAFTER_KERNELS_CONV_STRIP_ROW_CUT_H_
#define RAFTER_KERNELS_CONV_STRIP_ROW_CUT_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace rafter::strip {

// One axis, the row.
struct RowShape {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  bool all_columns = true;  // whether a step takes all columns
};

struct EdgeStrip {
  int64_t x = 0;
  int px = 0;
  bool has_taps = true;
  int64_t skip_first = 0, skip_last = 0;       // see StripSpec; for all_columns
  int64_t column_begin = 0, column_end = 0;    // columns to run; otherwise
  bool operator==(const EdgeStrip&) const = default;
};

struct RowCut {
  std::vector<EdgeStrip> head, tail;
  // Between them: `wide` strips of px pixels, then `narrow` ones of px - 1.
  int64_t begin = 0, wide = 0, narrow = 0;
  int px = 0;

  int64_t interior() const { return wide + narrow; }
  int64_t items() const {
    return static_cast<int64_t>(head.size()) + interior() + static_cast<int64_t>(tail.size());
  }
  int64_t at(int64_t strip) const {  // first pixel of an interior strip
    return begin + strip * px - (strip > wide ? strip - wide : 0);
  }
};

// Absent when the edges are too many to be listed.
std::optional<RowCut> CutRow(const RowShape& row, int px_max);

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_ROW_CUT_H_
