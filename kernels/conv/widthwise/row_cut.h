// kernels/conv/widthwise/row_cut.h: how an output row is cut into tiles, once per plan, and which
// lanes each tap of a tile at the ends of the row reaches.
//
// All tiles but the last one or two have the same width. Tiles whose taps are all inside the image
// run without masks; the others carry, per kernel column, a code and lane masks (spec.h). The last
// vector of a row is moved back so that it ends with the row; only rows shorter than a vector store
// a part of one.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_ROW_CUT_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_ROW_CUT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/widthwise/geometry.h"

namespace rafter::widthwise {

// Neighbouring tiles of equal kind.
struct Column {
  int64_t x = 0;      // first pixel
  int64_t count = 1;  // tiles side by side
  int vecs = 1;
  int64_t shift = 0;   // pixels by which the last vector starts earlier than it would
  int tail_lanes = 0;  // 0: all of them
  int64_t codes = -1;  // tiles with masks (always alone): index into RowCut::codes
  int64_t masks = 0;   // … and into RowCut::masks

  bool is_edge() const { return codes >= 0; }
  bool operator==(const Column&) const = default;
};

struct RowCut {
  std::vector<Column> columns;
  std::vector<uint8_t> codes;  // TapCode, kernel.w per edge tile
  std::vector<int32_t> masks;  // per edge tile: [kw][vector (two with stride 2)][lane]
  int64_t tiles = 0;
};

// Rows of g.out.w pixels in tiles of at most `max_vecs` vectors. `even_ends`: the last whole tile and what is left
// behind it are cut into halves, so that no tile is too narrow to keep the FMA pipes busy. `sorts_lanes`: inputs are
// loaded as every other element of two vectors. Absent when the tables of the edges would be too long.
std::optional<RowCut> CutRow(const Geometry& g, int lanes, int max_vecs, bool even_ends, bool sorts_lanes);

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_ROW_CUT_H_
