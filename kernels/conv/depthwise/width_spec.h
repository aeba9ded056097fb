// kernels/conv/depthwise/width_spec.h: the contract between the driver and the width kernel (lanes
// = neighbouring output columns of one channel, for NCHW): what the code depends on (WidthSpec =
// key of the code cache) and what changes.
//
// A tile is `vecs` vectors of output columns; it rolls down the plane of its channel (rolling.h)
// with `rows` output rows in registers. A tap is an unaligned load at its column offset, used by
// all output rows that the input row reaches; weights are broadcast. Every output is one chain of
// FMAs in the order (kh, kw).
//
// With a horizontal stride of 2 two neighbouring taps are the even and the odd lanes of the same two loads.
//
// Weights stay in registers where those suffice (width_registers.h), else every row broadcasts them
// again. Loads, not FMAs, bound this kernel: with one load per FMA Zen 3 reaches 75 % of its peak, 512@14 took
// 51 us with 1.8 loads per FMA and takes 36 with 0.9.
//
// At the border of the image some taps of the first and the last vector of a tile may lie outside: a
// table says which lanes are inside; the others are not loaded, and enter no sum (width_border_emitter.cc).
//
// A plane of few short rows (plane_rows) is one tile whose code has no loops.
//
// Where output rows cannot all roll (some reach no input row, or too many are in flight for the registers), tiles take
// a band of a few output rows, one after the other along the row (width_band_emitter.cc). So they do where kernels have
// one row: going down, they would leave every line after a few vectors and gain nothing (lines, width_line_emitter.cc).
//
// Loops inside: channels, tiles along the row, input rows; of bands all of them.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_SPEC_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "kernels/conv/depthwise/rolling.h"
#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::depthwise {

// Most taps of a kernel all of whose weights stay in registers.
inline constexpr int kMaxHeldWidthTaps = 9;
// Taps whose inputs come of two loads, by shifts within quarters of a register.
inline constexpr int kTapsPerShift = 4;

// A run of equal tiles of a band: what differs between runs, as in WidthSpec.
struct WidthRunSpec {
  uint8_t vecs, flags;
  uint16_t first_taps, last_taps;

  bool operator==(const WidthRunSpec&) const = default;
};
inline constexpr int kMaxBandRuns = 8;

struct WidthSpec {
  Isa isa;
  uint8_t kh, kw;
  uint8_t row_stride;  // input rows (of the phase) between output rows
  uint8_t rows;        // output rows in flight
  uint8_t vecs;
  uint8_t flags;
  // One tile is the whole plane of a channel (or a phase of it, kPhases), its rows known to the code: so many outputs;
  // 0: rows and tiles are counted at run time.
  uint8_t plane_rows;
  uint16_t first_taps, last_taps;  // kernel columns that are masked in the first and the last vector
  uint8_t first_row, last_rows;    // plane_rows: as in RollingCounts
  uint8_t band_runs;  // so many runs; 0: tiles roll. `vecs` is that of the widest, `flags` are those of all
  uint8_t unused;
  uint64_t post_ops;  // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain
  WidthRunSpec runs[kMaxBandRuns];

  static constexpr uint8_t kStride2 = 1;  // every other input column
  static constexpr uint8_t kEdge = 2;  // WidthArgs::masks and vec_step are read
  static constexpr uint8_t kPartial =
      4;  // the last vector stores its first `last_lanes` lanes only (kEdge)
  static constexpr uint8_t kDilated = 8;  // taps lie `tap_step` apart instead of one column
  // Rows of outputs follow each other: the lanes behind a row may be stored, since the next row is stored later. Not
  // those of the last row of a tile, which is at WidthArgs::last_row (kPartial).
  static constexpr uint8_t kSpills = 16;
  static constexpr uint8_t kFarAhead = 32;  // inputs are prefetched WidthArgs::ahead (not kDilated)

  static constexpr uint8_t kWholeRow = 128;  // the tile is a row: going down, it reads memory in order
  static constexpr uint8_t kPhases = 64;  // plane_rows: WidthArgs::tiles phases of rows, each one tile

  bool operator==(const WidthSpec&) const = default;
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
  bool is_lines() const { return band_runs > 0 && kh == 1 && rows == 1 && !has(kDilated); }
  bool is_masked(int tap, int vec) const {
    return ((vec == 0 ? first_taps : 0) >> tap & 1) != 0 ||
           ((vec > 0 && vec + 1 == vecs ? last_taps : 0) >> tap & 1) != 0;
  }
};
static_assert(std::has_unique_object_representations_v<WidthSpec>);

// One entry of the mask table, [tap][first or last vector]: -1 used, 0 not. Inputs: what lies inside the image. With
// stride 2 a tap loads two vectors of them, and the lanes of its products are in the order of Assembler::EvenLanes.
struct TapMasks {
  int32_t inputs[2][16] = {};
  int32_t products[16] = {};
};

// A run of a band at run time.
struct WidthBandRun {
  int64_t tiles;
  int64_t src_begin, dst_begin;  // bytes from the start of a row
  int64_t vec_step;              // kEdge: as in WidthArgs
  const TapMasks* masks;
  const int32_t* last_mask;
  int64_t last_lanes;
};

// Changed by the kernel while it runs; fill anew for each call.
struct WidthArgs {
  const float*
      src;  // first tap of the first output of the first tile (may lie outside), first channel
  float* dst;
  const float* weights;  // first tap of the first channel; its bias lies kBlock floats before, taps
                         // kBlock floats apart
  int64_t channels, tiles;           // at least 1; tiles of a row, or phases of rows that are alike
  int64_t src_channel, dst_channel;  // bytes between channels
  int64_t src_tile, dst_tile;        // bytes between tiles
  int64_t src_row, dst_row;  // bytes between kernel rows of the input, and between output rows
  int64_t tap_step;          // bytes between kernel columns
  int64_t vec_step;          // kEdge: bytes between the outputs of the first and the last vector
  const TapMasks* masks;
  const int32_t* last_mask;  // kPartial: 16 lanes, -1 used
  int64_t last_lanes;
  int64_t ahead;     // kFarAhead: bytes
  int64_t last_row;  // kSpills: bytes from the first to the last output row
  int64_t careful;   // whether a weight of the block of channels is not finite; -1: the kernel finds out
  RollingCounts rolling;
  // Bands: `src` and `dst` are at the start of their rows (src at the first tap of the first column).
  const WidthBandRun* runs;
  int64_t bands, rest;    // of `rows` output rows; of one each behind those
  int64_t above, inside;  // input rows from the first tap on that lie above the image; that do not lie below it
  const float* post_params;            // {alpha, beta} per post-op
  const float* scale[kMaxPostOps];     // by index of the post-op, of the first channel
  const float* residual[kMaxPostOps];  // same position as dst
  int64_t residual_channel[kMaxPostOps], residual_tile[kMaxPostOps], residual_row[kMaxPostOps];
  // The kernel's own.
  int64_t tiles_left, bands_left, above_now, inside_now;
  const float *band_src, *band_row;
  float* band_dst;
  const float* band_residual[kMaxPostOps];
  const void* enter;
  const float* src_now;
  float* dst_now;
  const float* residual_now[kMaxPostOps];
  const float* residual_row_now[kMaxPostOps];
  // Weights of the channel at hand whose lanes outside the image are zero: [masked tap and vector][kernel row].
  alignas(64) float masked_weights[2 * kMaxHeldWidthTaps][16];
};
static_assert(std::is_standard_layout_v<WidthArgs>);

using WidthFunction = void(WidthArgs*);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_SPEC_H_
