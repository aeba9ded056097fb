// kernels/conv/strip/spec.h: the contract between the driver and the generated strip kernel: what the code depends
// on (StripSpec = key of the code cache) and what changes per call (StripArgs).
//
// The strip engine computes convolutions whose output channels do not fill a vector. A strip is px neighbouring
// output pixels of one row times `vecs` accumulators each; what the lanes of an accumulator are is the Feed:
//
//   feed          lanes (8 of them)                             one step consumes
//   kBroadcast1   o0 o1 o2 o3 o4 o5 o6 o7                       1 input channel, vbroadcastss
//   kBroadcast2   o0 o0 o1 o1 o2 o2 o3 o3, of channels k, k+1   2 input channels, vbroadcastsd
//   kVector       o0 o0 o0 o0 o0 o0 o0 o0, of k, k+1, … k+7     8 input channels, plain load
//   kInLane       g0 g0 g0 g0 g1 g1 g1 g1 (o0 … o3 each)        one channel of each group, in-lane permute
//   kPermute      any groups whose inputs fit one vector        channel i of each group, vpermps
//   kBlend        any few groups                                channel i of each group, one broadcast per group
//
// so that all lanes do useful multiplications with 1, 2, 4, … output channels, or 2 … 8 channels per group. The
// accumulators of kBroadcast2 and kVector hold parts of sums, which are added at the end.
//
// A step multiplies its inputs with all `columns` kernel columns at once. With one accumulator per pixel each
// input is brought into a register once for all columns that use it; with several, once per column.
//
//   for strip in strips                        (neighbouring strips of a row, or the next groups' channels)
//     for kh in rows                           only rows inside the image
//       for c in column groups                 one, unless the kernel is wider than kMaxColumns
//         for step in input channels
//           for kw in columns                  only pixels that this column reaches
//             sums[p][v] += feed(src[p, kw]) * weights[kw][v]
//     add the parts of each sum; bias; post-ops; store
#ifndef RAFTER_KERNELS_CONV_STRIP_SPEC_H_
#define RAFTER_KERNELS_CONV_STRIP_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::strip {

enum class Feed : uint8_t { kBroadcast1, kBroadcast2, kVector, kInLane, kPermute, kBlend };

// Whether the lanes belong to several groups; the steps are then unrolled in the code.
constexpr bool HoldsGroups(Feed feed) { return feed >= Feed::kInLane; }

// kInLane: the input channel of its group that an output channel sees in a step. Neighbours that see the same one
// cost nothing (vmovsldup and vmovshdup are loads), so groups of 4 take the other half's channels last.
constexpr int InLaneInput(int channels, int step, int output) {
  return channels == 2 ? step : (output / 2 * 2 + step) % 4;
}

struct StripSpec {
  Isa isa;
  Feed feed;
  uint8_t px, vecs;
  uint8_t columns;     // kernel columns per step
  uint8_t rest;        // input channels of a last, shorter step (kBroadcast2, kVector); 0: none
  uint8_t groups;      // per vector; 1 unless HoldsGroups(feed)
  uint8_t ic;          // input channels per group, when HoldsGroups(feed); else 0
  // Pixels of the input row, counted from the strip's first and last tap, that are outside of the image.
  uint16_t skip_first, skip_last;
  uint16_t stride, dilation;   // along the row
  int32_t src_px;      // bytes between input pixels; below, of output pixels: properties of the layer in NHWC
  uint16_t channels;   // output channels of a strip, all groups together
  // Lines fetched ahead: per step, from src + StripArgs::prefetch_offset on; or kPrefetchUnits.
  uint16_t prefetch;
  int64_t dst_px;
  uint64_t post_ops;   // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain

  bool operator==(const StripSpec&) const = default;
};
static_assert(std::has_unique_object_representations_v<StripSpec>);

// StripSpec::prefetch: once per strip, the lines at StripArgs::prefetch_offset of all input pixels, and those at
// dst_prefetch_offset of all outputs.
inline constexpr uint16_t kPrefetchUnits = 0xffff;

// Changed by the kernel while it runs; fill anew for each call.
struct StripArgs {
  const float* src;        // first input channel at the first tap that is run; may lie outside of the image
  const float* weights;    // at the first tap that is run
  const float* bias;       // one vector per pattern of result_map.h
  float* dst;              // first output channel of the first pixel
  int64_t strips;          // at least 1
  int64_t src_step, weights_step, bias_step, dst_step;  // bytes between strips
  int64_t rows;            // kernel rows to run; 0: no tap at all
  int64_t column_groups;   // at least 1
  int64_t chunks;          // full steps per tap, when the feed holds one group
  int64_t src_row_step, weights_row_step, src_column_step;  // bytes
  int64_t prefetch_offset;     // bytes from src to what the next strip reads first from outer caches
  int64_t prefetch_step;       // bytes per step
  int64_t dst_prefetch_offset; // as prefetch_offset, from dst; kPrefetchUnits only
  const int32_t* rest_mask;    // lanes that a shorter load reads: -1 used, 0 not
  const float* post_params;    // {alpha, beta} per post-op
  const float* residual[kMaxPostOps];   // by index of the post-op; same position as dst
  int64_t residual_px[kMaxPostOps], residual_step[kMaxPostOps];
  const float* scale[kMaxPostOps];      // by index of the post-op; laid out as bias, and stepped like it
  alignas(64) float lanes[16];          // the kernel's own: residuals on their way into lanes
};
static_assert(std::is_standard_layout_v<StripArgs>);

using StripFunction = void(StripArgs*);

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_SPEC_H_
