// kernels/pooling/spec.h: the contracts between the pooling kernels and their driver.
//
// Channels in the lanes (NHWC and blocked layouts): one call of a channel kernel computes `outputs` neighbouring pixels
// of an output row whose windows have the same taps inside the image, for `groups` groups of `vecs` vectors of
// channels:
//
//   for output; for group; for row of taps; for column of taps:  acc = max or sum with the group's vectors
//
// Columns in the lanes (NCHW): a window is taken apart. The vertical kernel reduces the rows of taps of one output row
// to a line, the driver puts the value of the padding at both ends, and the horizontal kernel reduces along the line:
//
//   line[x] = over rows of taps: src[row][x]             out[j] = over taps k: line[j * stride + k * dilation]
//
// The plane kernel reduces a whole image to one number (global pooling).
//
// Maximum: vmaxps loses a NaN in its first source, so every tap is also compared with itself or a neighbour; what is
// unordered sets all bits of the result.
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

struct ChannelSpec {
  Isa isa = Isa::kNone;
  bool max = false;
  uint8_t vecs = 1;            // of a group
  uint8_t rows = 0, cols = 0;  // of taps; 0: any number, told by each call
  Tail tail = Tail::kNone;
  // Blocked layouts have few vectors per output: so many outputs are computed together (a call's `outputs` counts such
  // bundles), which lie `stride` blocks apart in the source. `groups` is then 1.
  uint8_t bundle = 1, stride = 0;
};

struct ChannelArgs {
  const float* src;             // first tap of the first output
  float* dst;
  int64_t outputs, groups;      // at least 1
  int64_t rows, cols;           // of taps, at least 1
  int64_t src_step, dst_step;   // bytes from output to output
  int64_t row_step, col_step;   // bytes from tap to tap
  const int32_t* mask;          // kLanes: a vector; kZero: a group of vectors; -1 where a channel is
  int64_t tail_lanes;           // kLanes
  float divisor;                // averages
};
using ChannelFunction = void(ChannelArgs*);

struct LineSpec {
  Isa isa = Isa::kNone;
  bool max = false;
};

// The vertical kernel: writes whole vectors to the line, count rounded up.
struct VerticalArgs {
  const float* src;
  float* line;
  int64_t count;           // columns, at least 1
  int64_t rows, row_step;  // at least 1; bytes
  const int32_t* mask;     // a vector, -1 for the first count % lanes
};
using VerticalFunction = void(VerticalArgs*);

struct HorizontalSpec {
  Isa isa = Isa::kNone;
  bool max = false;
  uint8_t stride = 1;  // 1, 2; 0: any, by gathers
  uint8_t cols = 0;    // of taps; 0: any number
};

// Reads whole vectors of outputs from the line, count rounded up.
struct HorizontalArgs {
  const float* line;
  float* dst;
  int64_t count;           // outputs, at least 1
  int64_t cols, col_step;  // taps, bytes from tap to tap
  int64_t stride;          // elements from output to output
  const float* counts;     // averages: taps along the row for each output, whole vectors
  const int32_t* mask;     // a vector, -1 for the first count % lanes
  float rows;              // averages: taps along the column
};
using HorizontalFunction = void(HorizontalArgs*);

struct PlaneArgs {
  const float* src;
  float* dst;              // one float
  int64_t count;           // columns, at least 1
  int64_t rows, row_step;  // at least 1; bytes
  const int32_t* mask;     // a vector, -1 for the first count % lanes
  float divisor;
};
using PlaneFunction = void(PlaneArgs*);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_SPEC_H_
