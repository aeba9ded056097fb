// kernels/conv/widthwise/spec.h: the contract between the driver and the generated kernel: what the
// code depends on (WidthSpec = key of the code cache) and what changes per call (WidthArgs).
//
// A tile is `rows` output rows of `vecs` vectors of neighbouring pixels, for `ocs` output channels:
//
//                  vecs vectors of pixels
//                ┌──────┬──────┬──────┐  per tap one (unaligned) load per vector of an
//   row 0, ocs   │ acc  │ acc  │ acc  │  input row, used for all output rows and channels,
//   row 1, ocs   │ acc  │ acc  │ acc  │  and one broadcast per weight
//                └──────┴──────┴──────┘
//
// One call adds one block of input channels (SumBlock in kernels/conv/problem.h). Loops inside:
// repeats of the tile, input rows, kernel columns, channels of the block, so each sum runs in the
// order of ADR 3. Where a loop has one step only (one channel, 1x1 kernels), the next one takes its
// place as the innermost one, the line.
//
// Output row r sees input row j of the tile as its kernel row j - r * q (q = stride / dilation,
// row_distance below). With P = (rows - 1) * q, input rows 0 … P - 1 are for the first output rows
// only, P … kh - 1 for all of them, kh … kh + P - 1 for the last ones only; this needs kh >= P.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_SPEC_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::widthwise {

inline constexpr int kMaxRows = 3;

struct WidthSpec {
  Isa isa;
  uint8_t vecs, ocs, rows;
  uint8_t row_distance;  // tiles of several rows: kernel rows between those that neighbours apply
                         // to one input row
  uint8_t columns;       // kernel columns written out, 0: a loop over them
  uint8_t unroll;        // taps of the line per pass of its loop
  uint8_t flags;         // below
  uint32_t tap_codes;  // edge kernels with `columns`: TapCode per kernel column, 4 bits each, first
                       // one lowest
  uint16_t tiles_ahead;    // outputs of the tile so many repeats later are prefetched; 0: none
  uint16_t over_channels;  // 1: repeats are tiles of the next channels, with weights of their own
  uint64_t post_ops;   // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain

  static constexpr uint8_t kEdge =
      1;  // columns may miss lanes: WidthArgs::masks (and tap_codes) are read
  static constexpr uint8_t kWhole = 2;  // the line has `unroll` taps: no loop
  static constexpr uint8_t kRest = 4;   // the taps of the line may be no multiple of `unroll`
  static constexpr uint8_t kStride2 =
      8;  // every other input; even ones are sorted out in registers
  static constexpr uint8_t kTable =
      16;  // where a column's inputs lie stands in WidthArgs::column_table
  static constexpr uint8_t kShift =
      32;  // the last vector starts earlier, overlapping the one before
  static constexpr uint8_t kTail = 64;      // the last vector is partly stored (edge kernels only)
  static constexpr uint8_t kPartial = 128;  // sums may come from and go to WidthArgs::partial

  bool operator==(const WidthSpec&) const = default;
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(std::has_unique_object_representations_v<WidthSpec>);

// Edge kernels, per kernel column: which vectors of the tile need their mask.
enum TapCode : uint8_t {
  kFull = 0,
  kFirstMasked = 1,
  kLastMasked = 2,
  kAllMasked = 3,
  kNoLanes = 15
};
inline constexpr int64_t kMaxColumns = 8;  // written out, as many as WidthSpec::tap_codes holds

// Steps in bytes. The kernel changes `repeats`, `src`, `dst`, the residuals and, with `over_channels`, `weights`,
// `bias` and `scale`: fill anew for each call.
struct WidthArgs {
  const float* src;  // first pixel of row 0 at the first input row, column and channel that are run
  const float* weights;      // [kh][kw][channel][ocs] of the block, at the same place
  float* dst;                // first pixel of row 0, first channel
  const float* bias;         // ocs values
  const float* post_params;  // {alpha, beta} per post-op
  int64_t repeats;           // how many tiles, at least 1
  int64_t src_repeat, dst_repeat, weights_repeat;  // the last one with `over_channels` only
  int64_t has_taps;  // 0: every tap is outside of the image
  int64_t rows;      // input rows that all output rows of the tile use
  // Several rows: of the P input rows before those, the first ones are skipped; of the P behind
  // them, the first ones are run.
  int64_t rows_skipped, rows_behind;
  int64_t columns;                    // at least 1
  int64_t line_by_unroll, line_rest;  // taps of the line: unroll * line_by_unroll + line_rest
  int64_t src_row, src_column, src_line;
  int64_t weights_row;       // several rows: from an output row's weights to those of the next one
                             // (negative)
  int64_t weights_column;    // edge kernels: past a column
  int64_t finite_weights;    // edge kernels: no weight is infinite or NaN
  const uint8_t* tap_codes;  // edge kernels without `columns`: TapCode per column
  const int32_t* masks;  // edge kernels: per column and vector (two with kStride2) one lane mask
  const int64_t* column_table;  // kTable: byte offsets, per column
  // kPartial: unfinished sums, a vector each, and what to do: start from them instead of zero; end
  // by storing them, without bias, post-ops and output.
  float* partial;
  int64_t load_partial, store_partial;
  int64_t src_shift, dst_shift;  // kShift: of the last vector; zero or less
  int64_t dst_row, dst_channel;
  const int32_t* tail_mask;  // kTail: lane mask of the last vector
  int64_t tail_lanes;
  const float* residual[kMaxPostOps];  // by index of the post-op; same position as dst
  int64_t residual_row[kMaxPostOps], residual_channel[kMaxPostOps], residual_repeat[kMaxPostOps];
  const float* scale[kMaxPostOps];  // by index of the post-op; ocs values
};
static_assert(std::is_standard_layout_v<WidthArgs>);

using WidthFunction = void(WidthArgs*);

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_SPEC_H_
