// kernels/conv/depthwise/channel_spec.h: the contract between the driver and the channel kernel
// (lanes = channels, for NHWC and NCHWc): what the code depends on (ChannelSpec = key of the code
// cache) and what changes per call.
//
// A tile is `rows` x `columns` neighbouring outputs of one vector of channels, all sums in
// registers. The kernel walks down the input rows of the tile once. An input is multiplied by all
// taps of all output rows that it reaches while it is in a register:
//
//   window of (columns - 1) * stride + kw inputs     2 output rows, 3 kernel rows, stride 1:
//   x0  x1  x2  x3  x4 ...                             input row 0: output 0 by kernel row 0
//   |- out 0 -|                                        input row 1: outputs 0, 1 by 1, 0
//       |- out 1 -|                                    input row 2: outputs 0, 1 by 2, 1
//           |- out 2 -|                                input row 3: output 1 by 2
//
// Where most weights of a small kernel fit the registers beside the sums, they stay there while the
// tile goes down the image (kHeld, channel_held_emitter.cc). Other small kernels roll on from input
// row to input row (kRolling, rolling.h). For the rest, input rows that reach the same output rows
// form a segment; its length is a count in ChannelArgs, so kernel height, vertical stride, dilation
// and padding are no part of the code. Every output is one chain of FMAs in the order (kh, kw),
// whatever the tile.
//
// Image sizes, strides in memory and counts of tiles are arguments; the code is bounded by kernel
// width, stride, tile shape and what the padding cuts off a tile, which is at most the padding.
//
// Loops inside: tiles along the row, vectors of channels, segments, rows of a segment.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_SPEC_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "kernels/conv/depthwise/rolling.h"
#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::depthwise {

// Channels per block of packed weights, and of the largest blocked layout.
inline constexpr int64_t kBlock = 16;
// Of one tap: the distance from one to the next.
inline constexpr int kTapBytes = static_cast<int>(kBlock * sizeof(float));

// Kernel columns that one kernel covers; longer rows go in pieces of this many, with the sums
// parked in between.
inline constexpr int64_t kMaxTaps = 31;
inline constexpr int kMaxRows = 5;
inline constexpr int kMaxColumns = 9;

struct ChannelSpec {
  Isa isa;
  uint8_t kw;      // kernel columns, at most kMaxTaps
  uint8_t stride;  // columns between the windows of neighbouring outputs; 0 when there is one
                   // column only
  uint8_t columns, rows;
  uint8_t skip_first, skip_last;  // columns of the window that lie outside the image, at either end
  uint8_t flags;
  // kRolling, kHeld: kernel rows, and rows between the windows of neighbouring outputs; otherwise 0.
  uint8_t kh, row_stride;
  uint8_t exact;        // kMaskedDst: so many columns at the end of a tile write their lanes only, the others whole
                        // vectors: what lies behind their lanes is overwritten by the next columns
  uint8_t prefetch;     // lines behind each input of a new row; kNextTile; 0: none
  uint8_t streams;      // outputs may be stored past the caches: ChannelArgs::streams is read
  uint8_t access;       // kPairs, kQuarters; 0: neither
  uint8_t blocks;       // kRolling: kLongBlocks, kShortBlocks; 0: any
  uint8_t ahead;        // kNextTile: so many KB beyond it
  uint64_t post_ops;  // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain

  static constexpr uint8_t kPermuted =
      1;  // several outputs per input channel: inputs pass a permutation
  static constexpr uint8_t kMaskedSrc = 2;  // fewer input channels than lanes
  static constexpr uint8_t kMaskedDst =
      4;  // fewer output channels than lanes, the others are not written
  static constexpr uint8_t kZeroedDst = 8;  // … the others are written as zero
  static constexpr uint8_t kPartial = 16;   // sums may come from and go to ChannelArgs::partial
  static constexpr uint8_t kRolling =
      32;  // the tile rolls down the image, `rows` outputs of a column in flight
  static constexpr uint8_t kSameSteps =
      64;  // outputs of a row lie as far apart as inputs (src_columns, dst_columns)

  static constexpr uint8_t kHeld =
      128;  // most weights stay in registers while the tile goes down the image

  static constexpr uint8_t kNextTile = 255;  // prefetches the new columns of the tile to the right

  // A tile is two neighbouring vectors of channels deep: kRolling, NHWC, vectors of 8.
  static constexpr uint8_t kPairs = 1;
  static constexpr uint8_t kQuarters = 2;  // kPermuted: four neighbouring inputs are enough for 8 outputs

  // All calls compute so many output rows (more, at most RollingShortRows) that a part of the code is not needed.
  static constexpr uint8_t kLongBlocks = 1, kShortBlocks = 2;

  bool operator==(const ChannelSpec&) const = default;
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  // Whether one call computes all output rows of a block.
  bool goes_down() const { return has(kRolling | kHeld); }
  int vecs() const { return access == kPairs ? 2 : 1; }
  int window() const { return (columns - 1) * stride + kw; }
};
static_assert(std::has_unique_object_representations_v<ChannelSpec>);

// Input rows that reach the same output rows of the tile. Order: prologue (output rows 0 … j, j <
// rows - 1), all rows, epilogue (output rows j … rows - 1, j > 0).
struct Segment {
  int64_t rows = 0;
  int64_t src = 0;  // bytes, from the first input row of the tile
  int64_t weights =
      0;  // bytes, from the first kernel row to that of the segment's first output row
};
inline constexpr int kMaxSegments = 2 * kMaxRows - 1;

// Output rows of one call (kHeld). Rows whose window reaches over the edge of the image, above or
// below, come first and last, one by one; those in between by tiles, and what is left of them too.
struct HeldRows {
  int64_t first_edges = 0, last_edges = 0;
  int64_t full = 0;  // tiles
  // Of the first row of either kind: the kernel rows [before, behind) lie inside the image, where a
  // row has them.
  int64_t first_before = 0, first_behind = 0, last_before = 0, last_behind = 0;
};

// Which inputs a vector of outputs takes its lanes from (kPermuted). In quarters: of the four that are loaded into both
// halves of the vector; else of a whole vector.
struct LaneSource {
  int64_t src = 0;         // bytes, from ChannelArgs::src
  int64_t unused[7] = {};  // the lanes are aligned to a vector
  int32_t lanes[16] = {};  // lane of the loaded vector
};

// Distances of columns in bytes: 1, 3, 5 and 7 columns; together with scaled addresses they reach 9
// columns.
struct ColumnSteps {
  int64_t by_1 = 0, by_3 = 0, by_5 = 0, by_7 = 0;
};

// Changed by the kernel while it runs; fill anew for each call.
struct ChannelArgs {
  const float*
      src;  // first row and column of the first tile's window (may lie outside), first vector
  float* dst;
  const float*
      weights;  // first tap of the first vector; its biases lie kBlock floats before (pack.h)
  int64_t tiles, vecs;         // at least 1; pairs of vectors where the tile is two deep
  int64_t src_tile, dst_tile;  // bytes between tiles
  ColumnSteps src_columns, dst_columns;
  int64_t src_row;           // bytes between kernel rows of the input
  int64_t dst_row;           // bytes between rows of the tile
  int64_t src_vec, dst_vec;  // bytes between vectors
  // Bytes to add on top behind each block of 16 channels (0 where blocks follow each other).
  int64_t src_block, dst_block, weights_block;
  // -(bytes of weights between the kernel rows that neighbouring output rows apply to the same
  // input row)
  int64_t weights_rows;
  Segment segments[kMaxSegments];
  RollingCounts rolling;    // kRolling
  HeldRows held;            // kHeld
  // kHeld: bytes between the windows of neighbouring output rows, and tiles.
  int64_t src_output_row, src_tile_rows;
  const int32_t* src_mask;  // 16 lanes, -1 used, 0 not
  const int32_t* dst_mask;
  const LaneSource* lanes;  // kPermuted: of the first vector
  int64_t streams;          // ChannelSpec::streams: outputs are aligned to vectors
  float* partial;           // kPartial: of the first tile and vector
  int64_t load_partial, store_partial;
  const float* post_params;            // {alpha, beta} per post-op
  const float* scale[kMaxPostOps];     // by index of the post-op, of the first vector; full vectors
  const float* residual[kMaxPostOps];  // same position as dst
  ColumnSteps residual_columns[kMaxPostOps];
  int64_t residual_row[kMaxPostOps], residual_tile[kMaxPostOps];
  int64_t residual_vec[kMaxPostOps], residual_block[kMaxPostOps];
  // The kernel's own: where the current vector is.
  int64_t before_now, behind_now;
  float* dst_now;
  const LaneSource* lanes_now;
  const float* scale_now[kMaxPostOps];
  const float* residual_now[kMaxPostOps];
  const float* residual_row_now[kMaxPostOps];
};
static_assert(std::is_standard_layout_v<ChannelArgs>);

using ChannelFunction = void(ChannelArgs*);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_SPEC_H_
