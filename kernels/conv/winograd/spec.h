// kernels/conv/winograd/spec.h: the contracts between the driver and the three generated kernels: what the code
// depends on (specs = keys of the code cache) and what changes per call (args).
//
//   input    reads the inputs of tiles, writes one value per position into V:      V[position][tile][input channel]
//   product  M[position] = V[position] * U[position], tiles x output channels:     M[position][tile][output channel]
//   output   reads M, writes the outputs of tiles with bias and post-ops
//
// All distances are in bytes. Fields that kernels change are filled anew for each call.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_SPEC_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "kernels/conv/winograd/axis.h"
#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::winograd {

struct InputSpec {
  Isa isa;
  Axis rows, columns;
  bool scattered;  // inputs are found through InputArgs::pixels
};

// One call transforms `count` items: a tile's vectors of channels, or neighbouring tiles of one vector.
struct InputArgs {
  const float* src;        // first input of the first item; all of its rows and columns are readable
  float* v;                // position 0
  int64_t src_row, src_px; // between rows and columns of inputs
  int64_t v_plane;         // between positions
  int64_t v_column;        // in_h * v_plane
  int64_t count;           // at least 1
  int64_t src_step, v_step;
  // Scattered: instead of src and its strides, row * in_w + column of the inputs, and where each item begins behind
  // them: src_offset, src_offset + src_step, …
  int64_t src_offset;
  const float* pixels[kMaxInputs * kMaxInputs];
};
using InputFunction = void(InputArgs*);

// What happens to the lanes of a vector behind `lanes` channels.
enum class Tail : uint8_t {
  kNone,    // all lanes are channels
  kMasked,  // neither read (residuals) nor written
  kZeroed,  // written as zero
};

struct OutputSpec {
  Isa isa;
  Axis rows, columns;
  Tail tail;
  uint32_t lanes;     // used ones; 0 with Tail::kNone
  uint64_t post_ops;  // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain
};

struct OutputArgs {
  const float* m;           // position 0 of the first item
  float* dst;               // first output of the first item
  const float* bias;        // of its channels
  int64_t m_plane, m_column;  // between positions; in_h * m_plane
  int64_t dst_row, dst_px;
  int64_t count;            // at least 1
  int64_t m_step, dst_step;
  int64_t channel_step;     // of bias and scales
  int64_t pixels;           // bit row * out_w + column: that output exists
  const int32_t* tail_mask; // kMasked: lanes, -1 used, 0 not
  const float* post_params; // {alpha, beta} per post-op
  const float* residual[kMaxPostOps];  // by index of the post-op; same position as dst
  int64_t residual_row[kMaxPostOps], residual_px[kMaxPostOps], residual_step[kMaxPostOps];
  const float* scale[kMaxPostOps];     // by index of the post-op
};
using OutputFunction = void(OutputArgs*);

// A register tile: px tiles (or px - 1) by vecs vectors of output channels, each sum in `parts` that are added at the
// end. 2: even and odd input channels; 4: these of the first kParkedChannels and of the others.
struct ProductSpec {
  Isa isa;
  uint8_t px, vecs, parts;
  uint8_t prefetches;  // lines per four input channels
  uint8_t channels;    // input channels, written out without loops; 0: any number (k_by_4, k_rest)
};

inline constexpr int kParkedChannels = 8;
// Accumulators of a sum.
constexpr int Accumulators(int parts) { return parts > 1 ? 2 : 1; }

struct ProductArgs {
  const float* v;
  const float* u;         // panels in the order of use: position, panel
  float* m;               // position 0, first panel of the call
  int64_t positions, panels;  // at least 1
  int64_t wide, narrow;   // register tiles of px and px - 1 tiles; together at least 1
  int64_t k_by_4, k_rest; // input channels = 4 * k_by_4 + k_rest
  int64_t v_row, v_plane;
  int64_t m_row, m_plane;
  int64_t u_panel;        // bytes of a panel
  int64_t u_skip;         // from the last panel of a position to the first of the next one, less u_panel
  // The kernel's own.
  int64_t panels_left, tiles_left, rests_left;
  const float* v_tile;
  float *m_panel, *m_tile;
  int64_t v_step, m_step;  // between register tiles
};
using ProductFunction = void(ProductArgs*);

static_assert(std::has_unique_object_representations_v<InputSpec> &&
              std::has_unique_object_representations_v<OutputSpec> &&
              std::has_unique_object_representations_v<ProductSpec>);

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_SPEC_H_
