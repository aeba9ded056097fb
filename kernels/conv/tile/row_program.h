// kernels/conv/tile/row_program.h: how a stretch of an output row is cut into tiles, once per plan.
//
// Widths differ by at most one pixel (13 pixels at most 6 wide: 5 + 4 + 4, never 6 + 6 + 1). Tiles whose taps
// are all inside the image run together with one call; at the ends of the row each tile carries, per kernel
// column, which of its pixels that column reaches (edge kernels, see spec.h).
#ifndef RAFTER_KERNELS_CONV_TILE_ROW_PROGRAM_H_
#define RAFTER_KERNELS_CONV_TILE_ROW_PROGRAM_H_

#include <cstdint>
#include <optional>

#include "kernels/conv/tile/geometry.h"
#include "kernels/inline_vector.h"

namespace rafter::tile {

// Consecutive tiles of equal width and kind.
struct TileRun {
  int64_t begin = 0;     // first pixel, relative to the stretch
  int px = 0;
  int64_t tiles = 0;
  int64_t columns = -1;  // edge tiles (always alone): index into RowProgram::columns
  bool is_edge() const { return columns >= 0; }
  bool operator==(const TileRun&) const = default;
};

struct RowProgram {
  InlineVector<TileRun, 4> runs;
  InlineVector<uint8_t, 16> columns;  // kernel.w values per edge tile
  bool operator==(const RowProgram&) const = default;
};

// How far edge kernels of this width must be able to skip: a property of the layer, so that few kernels
// serve all image sizes.
struct EdgeSkips {
  uint8_t first = 0, last = 0;
};
EdgeSkips EdgeSkipsFor(const Geometry& g, int px);

// Pixels [begin, end) of a row in tiles of at most `px_max`. Absent when a tile's column would reach a
// middle part of the tile only (images narrower than the tile: use px_max = 1), or when the edges are too many
// to be listed.
std::optional<RowProgram> MakeRowProgram(const Geometry& g, int64_t begin, int64_t end, int px_max);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_ROW_PROGRAM_H_
