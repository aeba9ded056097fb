// kernels/conv/gemm/spec.h: the contract between the driver and the generated kernel: what the code depends on
// (GemmSpec = key of the code cache) and what changes per call (GemmArgs).
//
// A tile is `vecs` vectors of pixels by `ocs` output channels:
//
//           vecs vectors of pixels
//         ┌──────┬──────┬──────┐   per k: `vecs` loads of X from the panel, `ocs` broadcasts
//   ocs   │ acc  │ acc  │ acc  │   of weights, vecs * ocs FMAs
//         └──────┴──────┴──────┘
//
// One call runs `repeats` tiles of channels below each other over the same panel, each over the same pass of k.
#ifndef RAFTER_KERNELS_CONV_GEMM_SPEC_H_
#define RAFTER_KERNELS_CONV_GEMM_SPEC_H_

#include <cstdint>
#include <type_traits>

#include "rafter/cpu.h"
#include "rafter/post_ops.h"

namespace rafter::gemm {

inline constexpr int kPanelChannels = 2;  // output channels whose weights of one k are neighbours
inline constexpr int kMaxPanels = 6;      // per tile
inline constexpr int kMaxVecs = 3;

struct GemmSpec {
  Isa isa;
  uint8_t vecs;
  uint8_t ocs;
  uint8_t flags;      // below
  uint16_t unroll;    // k per pass of the loop
  uint16_t copies;    // kStaged: lines that each pass of the loop copies, as far as GemmArgs::copy_passes says
  uint64_t post_ops;  // PostOpKind, 8 bits each, first operation lowest; 0 ends the chain

  static constexpr uint8_t kTail = 1;     // the last vector is partly stored
  static constexpr uint8_t kPartial = 2;  // sums may come from and go to GemmArgs::partial
  // One vector and one channel; lanes are left out where GemmArgs::mask_offset finds 0.
  static constexpr uint8_t kCareful = 4;
  // X is read from the planes where it lies (GemmArgs::plane), and the panel is written on the way.
  static constexpr uint8_t kInPlace = 8;
  // X is read from the rows of a stage (GemmArgs::plane): no panel.
  static constexpr uint8_t kStaged = 16;

  bool operator==(const GemmSpec&) const = default;
  bool has(uint8_t flag) const { return (flags & flag) != 0; }
};
static_assert(std::has_unique_object_representations_v<GemmSpec>);

// Steps in bytes. The kernel changes what it steps along: fill anew for each call.
struct GemmArgs {
  float* src;            // the panel: [k][vecs * lanes]
  const float* weights;  // [panel of kPanelChannels][k][channel of the panel], at the first k of the pass
  float* dst;            // first pixel, first channel
  const float* bias;     // of the first channel
  const float* post_params;  // {alpha, beta} per post-op
  int64_t repeats;           // tiles of channels, at least 1
  int64_t steps, rest;       // k of the pass: unroll * steps + rest
  int64_t weights_panel;     // from a panel of weights to the next
  int64_t weights_repeat, dst_repeat;
  int64_t dst_channel;
  // kPartial: unfinished sums, a vector each, tile after tile, and what to do: start from them instead of zero; end
  // by storing them, without bias, post-ops and output.
  float* partial;
  int64_t load_partial, store_partial;
  const int32_t* tail_mask;  // kTail: lane mask of the last vector
  int64_t tail_lanes;
  const float* plane;                  // kInPlace, kStaged: first pixel of the first k of the pass
  int64_t plane_step;                  // from a k to the next
  int64_t plane_ahead, dst_ahead;      // how far from what is read (kInPlace) and written lines are prefetched; also
                                       // how far from residuals
  // kStaged: lines of the next segment that are copied meanwhile, by so many passes of the loop of each tile of
  // channels: runs of copy_run lines, of the present one copy_left are left (both at least 1), so many bytes from the
  // end of a run to the next one. The lines copy_ahead bytes behind them are prefetched.
  const float* copy_from;
  float* copy_to;
  int64_t copy_passes, copy_left, copy_run, copy_from_step, copy_to_step, copy_ahead;
  int64_t line, mask_offset;           // kCareful: from a k to the next in the panel; from the panel to its masks
  const float* residual[kMaxPostOps];  // by index of the post-op; same position as dst
  int64_t residual_channel[kMaxPostOps], residual_repeat[kMaxPostOps];
  const float* scale[kMaxPostOps];  // by index of the post-op; of the first channel
};
static_assert(std::is_standard_layout_v<GemmArgs>);

using GemmFunction = void(GemmArgs*);

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_SPEC_H_
