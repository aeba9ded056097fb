// kernels/pooling/spec.h: the contracts between the pooling kernels and their driver.
//
// Channels in the lanes (NHWC and blocked layouts): one call of a channel kernel computes `outputs` neighbouring pixels
// of some output rows whose windows have the same taps inside the image, for `groups` groups of `vecs` vectors of
// channels:
//
//   for output row; for output; for group; for row of taps; for column of taps:  acc = max or sum with the vectors
//
// Columns in the lanes (NCHW): a window is taken apart. A rows kernel reduces the rows of taps of a few output rows to
// lines in the first-level cache, between values of the padding that the driver has put at their ends, then along them:
//
//   line[x] = over rows of taps: src[row][x]             out[j] = over taps k: line[j * stride + k * dilation]
//
// Several lines at a time, so that stores of a line are done before its parts are loaded at other offsets.
//
// The plane kernel reduces whole images to one number each (global pooling).
//
// Maximum: vmaxps loses a NaN in its first source. Exact kernels compare every tap with itself or a neighbour; what is
// unordered sets all bits of the result. Fast ones add up all taps instead, in units that are idle then: where the sum
// is NaN, because of a NaN or of both infinities, the caller computes again with an exact one.

#ifndef RAFTER_KERNELS_POOLING_SPEC_H_
#define RAFTER_KERNELS_POOLING_SPEC_H_

#include <cstdint>

#include "rafter/cpu.h"

namespace rafter::pooling {

// What is done with the last vector of a group that has fewer channels than lanes.
enum class Tail : uint8_t {
  kNone,   // there is none
  kLanes,  // only its channels are read and written (NHWC)
  kZero,   // all lanes are in memory; those behind the last channel become zero (blocked layouts)
};

enum class Reduction : uint8_t { kSum, kFastMax, kExactMax };

struct ChannelSpec {
  Isa isa = Isa::kNone;
  Reduction reduction = Reduction::kSum;
  uint8_t vecs = 1;            // of a group
  uint8_t rows = 0, cols = 0;  // of taps; 0: any number, told by each call
  Tail tail = Tail::kNone;
  // Several outputs are computed together (a call's `outputs` counts such bundles), at most kMostBundle. Their windows
  // are `stride` columns apart, the taps of a window neighbours (col_step apart), so that each column of taps is
  // reduced once for all windows that share it. Not with exact maxima, Tail::kLanes, more than kMostBakedRows rows, or
  // windows of which more than kMostLive share a column; rows and cols are told.
  uint8_t bundle = 1, stride = 0;
  // Stores go past the caches: dst and its steps are multiples of 64 bytes (pixels of 8 channels that follow each
  // other: of 32), the tail is kNone; the caller orders them (FinishStores in kernels/store_choice.h).
  bool non_temporal = false;
};
inline constexpr int kMostBundle = 8, kMostLive = 4, kMostBakedRows = 4;

struct ChannelArgs {
  const float* src;             // first tap of the first output
  float* dst;
  int64_t output_rows;          // at least 1
  int64_t src_row_step, dst_row_step;  // bytes from output row to output row
  int64_t outputs, groups;      // at least 1
  int64_t src_group_step, dst_group_step;  // bytes from group to group
  int64_t rows, cols;           // of taps, at least 1
  int64_t src_step, dst_step;   // bytes from output to output, or from bundle to bundle
  int64_t dst_output_step;      // bytes from output to output of a bundle
  int64_t row_step, col_step;   // bytes from tap to tap; col_step of a bundle: from column to column, whatever cols is
  const int32_t* mask;          // kLanes: a vector; kZero: a group of vectors; -1 where a channel is
  int64_t tail_lanes;           // kLanes
  float divisor;                // averages
  float sum;                    // result of fast kernels: NaN where the maxima may be wrong
  int64_t left;                 // the kernel's own
};
using ChannelFunction = void(ChannelArgs*);

struct RowsSpec {
  Isa isa = Isa::kNone;
  Reduction reduction = Reduction::kSum;
  uint8_t rows = 0;    // of taps, at most kMostBakedRows; 0: any number
  uint8_t cols = 0;    // of taps; 0: any number
  uint8_t stride = 1;  // 1, 2; 0: any, by gathers
  bool dense = false;  // the dilation along the row is 1
  // Of the image in a line, and of outputs along it: then all vectors are written out. 0: any number.
  uint8_t columns = 0, outputs = 0;
};
inline constexpr int kMostBakedColumns = 128;

// Reads and writes whole vectors of lines, counts rounded up.
struct RowsArgs {
  const float* src;                       // first tap of the first output row, at the line's first column of the image
  float* dst;
  int64_t output_rows;                    // at least 1
  int64_t src_output_step, dst_output_step;  // bytes from output row to output row
  int64_t rows, row_step;                 // of taps, at least 1; bytes
  float* lines;                           // place of that column in the first line
  int64_t first_tap;                      // bytes from there to the first output's first tap: negative or 0
  int64_t lines_at_once, line_pitch;      // at least 1; bytes
  int64_t columns;                        // of the image in a line, may be 0
  int64_t outputs;                        // of a row, at least 1
  int64_t cols, col_step;                 // taps, bytes from tap to tap
  int64_t stride;                         // elements from output to output
  const float* counts;                    // averages: taps along the row for each output, whole vectors
  const int32_t *column_mask, *output_mask;  // a vector, -1 for the first columns (outputs) % lanes
  float divisor_rows;                     // averages: taps along the column
  float sum;                              // result of fast kernels: NaN where the maxima may be wrong
  int64_t batch;                          // the kernel's own
};
using RowsFunction = void(RowsArgs*);

struct PlaneSpec {
  Isa isa = Isa::kNone;
  bool max = false;
  uint8_t count = 0;  // columns of a plane of one row, at most kMostBakedColumns: all vectors are written out. 0: any
};

struct PlaneArgs {
  const float* src;
  float* dst;
  int64_t planes;          // at least 1
  int64_t src_plane_step, dst_plane_step;  // bytes from plane to plane
  int64_t count;           // columns, at least 1
  int64_t rows, row_step;  // at least 1; bytes
  const int32_t* mask;     // a vector, -1 for the first count % lanes
  float divisor;
};
using PlaneFunction = void(PlaneArgs*);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_SPEC_H_
