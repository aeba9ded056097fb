// kernels/conv/tile/spec.h: the contract between the driver and the generated tile kernel: what the code
// depends on (TileSpec = key of the code cache) and what changes per call (TileArgs).
//
// One kernel computes `tiles` neighbouring tiles of one output row. A tile is px output pixels times oc_vecs
// vectors of output channels, all in registers:
//
//              oc_vecs vectors of output channels (panels of packed weights)
//            ┌────────┬────────┐
//   pixel 0  │ acc    │ acc    │   per input channel: one load per vector, one broadcast per pixel,
//   pixel 1  │ acc    │ acc    │   px * oc_vecs FMAs
//   …        │        │        │
//   px - 1   │ acc    │ acc    │
//            └────────┴────────┘
//
// Loops inside: tiles, blocks of input channels (SumBlock), kernel rows, kernel columns, channels of the block. So
// every output is one chain of FMAs in the order (channel block, kh, kw, channel), whatever the tile.
#ifndef RAFTER_KERNELS_CONV_TILE_SPEC_H_
#define RAFTER_KERNELS_CONV_TILE_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::tile {

// What happens to the last vector of a tile when it is only partly filled.
enum class Tail : uint8_t {
  kNone,        // all lanes are channels
  kMasked,      // other lanes are not written (NHWC)
  kZeroed,      // other lanes are written as zero (blocked layouts)
  kZeroedHalf,  // as kZeroed, and the upper half of the vector does not exist in memory
};

// Where the vectors of one pixel lie in the output.
enum class DstOrder : uint8_t {
  kContiguous,  // one behind the other (NHWC)
  kPerBlock,    // one vector per channel block
  kPairs,       // two vectors per channel block (16-channel blocks, 8 lanes); tiles start at even vectors
  kHalves,      // one vector fills two channel blocks (8-channel blocks, 16 lanes)
};

struct TileSpec {
  Isa isa;
  uint8_t px, oc_vecs;
  Tail tail;
  DstOrder dst_order;
  // Edge kernels: how many of the first / last pixels may be outside the image at some tap.
  uint8_t skip_first, skip_last;
  uint8_t flags;      // kEdge, kPieces, kPartial, kRest, kStream, kAhead
  uint64_t post_ops;  // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain
  // Not 0: the sum is one block in one piece of this many channels per column, written out without loops (short
  // loops end in mispredicted branches); BlockParams' counts are not read.
  uint32_t steps;
  uint32_t next_lines;  // kPieces: lines behind the last pixel that are prefetched in each piece, for the next tile

  static constexpr uint8_t kEdge = 1;    // columns may miss pixels of the tile: TileArgs::columns is read
  static constexpr uint8_t kPieces = 2;  // channels of a block lie in several pieces (NCHW8c, NCHW16c)
  static constexpr uint8_t kPartial = 4; // sums may come from and go to TileArgs::partial
  static constexpr uint8_t kRest = 8;    // channels of the last piece are no multiple of 4: k_rest is read
  static constexpr uint8_t kStream = 16; // outputs may be stored past the caches: TileArgs::stream is read
  static constexpr uint8_t kAhead = 32;  // the inputs of the next tile are prefetched instead of TileArgs::prefetch

  bool operator==(const TileSpec&) const = default;
  bool is_edge() const { return (flags & kEdge) != 0; }
  bool has_pieces() const { return (flags & kPieces) != 0; }
  bool has_partial() const { return (flags & kPartial) != 0; }
  bool may_stream() const { return (flags & kStream) != 0; }
  bool has_rest() const { return (flags & kRest) != 0; }
  bool fetches_ahead() const { return (flags & kAhead) != 0; }
};
static_assert(std::has_unique_object_representations_v<TileSpec>);

// Which pixels of a tile one kernel column reaches, for edge kernels: index of the code to run.
//   0            all pixels
//   1 … F        all but the first i                 (F = skip_first)
//   F+1 … F+L    all but the last i - F              (L = skip_last)
//   kNoPixels    none
inline constexpr uint8_t kNoPixels = 255;

// Counts and steps that differ between full and last channel block. Steps in bytes.
struct BlockParams {
  int64_t pieces = 1;            // 1 without kPieces
  int64_t k_by_4 = 0;            // channels per piece / 4, but for the last piece:
  int64_t k_by_4_last = 0, k_rest = 0;  // channels = 4 * k_by_4_last + k_rest
  int64_t src_piece_step = 0;    // after each piece (kPieces)
  int64_t src_kw_step = 0;       // after a kernel column: to the next one's first channel
  int64_t src_skip = 0;          // kNoPixels: past a column in the input, pieces and step included
  int64_t weights_skip = 0;      // … and in the weights
  int64_t weights_row_offset = 0;  // from a block's first weight to the first row that is run

  int64_t quads() const { return (pieces - 1) * k_by_4 + k_by_4_last; }
};

// Changed by the kernel while it runs; fill anew for each call.
struct TileArgs {
  const float* src;       // first pixel of the first tile at the first tap that is run
  const float* weights;   // panel of the first vector, first block that is run, row 0
  float* dst;             // first pixel of the first tile, first vector
  const float* bias;      // of the first vector; oc_vecs full vectors
  float* partial;         // unfinished sums, px * oc_vecs vectors per tile; see the two flags
  const int32_t* tail_mask;   // 16 lanes, -1 used, 0 not (tail kinds other than kNone)
  const float* post_params;   // {alpha, beta} per post-op
  const uint8_t* columns;     // edge kernels: one index per kernel column
  int64_t tiles;          // at least 1
  int64_t src_px, dst_px; // bytes between neighbouring pixels of a tile
  int64_t src_tile, dst_tile; // bytes between tiles
  int64_t panel;          // bytes between panels
  int64_t dst_block;      // bytes between channel blocks of the output
  int64_t blocks;         // channel blocks to run, at least 1; the last one uses `last`
  int64_t rows;           // kernel rows to run; 0: no tap at all
  int64_t columns_count;  // kernel columns, at least 1
  int64_t src_row_step;   // bytes, after the last column of a row
  int64_t src_block_step, weights_block_step;  // bytes between channel blocks
  // One line per four input channels is prefetched into L2 from here, `prefetch_step` (64 or 0) bytes further
  // each time: weights of the next pass, while this one computes.
  const float* prefetch;
  int64_t prefetch_step;
  // kAhead only, bytes: from a tile's inputs to those that are fetched meanwhile; from the last pixel of a tile to the
  // first one's next line.
  int64_t ahead, ahead_back;
  // kPartial only:
  int64_t load_partial;   // start from `partial` instead of zero
  int64_t store_partial;  // end by storing to `partial`: no bias, no post-ops, no output
  int64_t stream;         // kStream only: store past the caches; dst and its strides are multiples of 64 bytes
  BlockParams full, last;
  const float* residual[kMaxPostOps];   // by index of the post-op; same position as dst
  int64_t residual_px[kMaxPostOps], residual_tile[kMaxPostOps], residual_block[kMaxPostOps];
  const float* scale[kMaxPostOps];      // by index of the post-op, of the first vector; full vectors
  // The kernel's own counters.
  int64_t blocks_left, rows_left, pieces_left, ahead_left;
  const float* src_at_block;
  const float* weights_at_block;
};
static_assert(std::is_standard_layout_v<TileArgs>);

using TileFunction = void(TileArgs*);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_SPEC_H_
