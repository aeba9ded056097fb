// kernels/conv/winograd/winograd.h: Winograd's minimal filtering: kernels of 3x3, 1x3 and 3x1 with stride 1 by fewer
// multiplications.
//
//   6x6 inputs of a tile ──B^T d B──▶ 36 values ──▶ ┐
//                                                    × ──▶ 36 sums over channels ──A^T m A──▶ 4x4 outputs
//   3x3 taps (packed once) ──G g G^T──▶ 36 values ──▶ ┘
//
// 36 products per pair of channels instead of 144: up to 4 times the speed of a direct sum at the FMA peak; 2x2 tiles
// need 16 instead of 36 with smaller errors, 4x2 and 2x4 lie between. For each of the 36 positions the sums of all
// tiles are one matrix product, tiles x input channels x output channels (spec.h), which takes most of the time.
//
// Loop order: blocks of tiles whose transformed inputs V and products M stay in L2, as a rule; per block all weights
// are read front to back once, a panel ahead where they come from beyond L2. Threads take blocks; where there are few
// tiles (7x7, 14x14) they share each block's tiles, then its output channels. Bias and post-ops run in the registers of
// the output transform. Padding is zeros that are found, not stored: tiles that reach into it get their inputs through
// a table of pointers (NHWC) or a strip (NCHW, blocks).
//
// NHWC: groups of few channels are transformed several at a time, so that whole lines and pages are used while they are
// at hand, and inputs and outputs beyond L2 are prefetched while products are computed.
//
// Order of the sum: per position one chain over the input channels (two, even and odd ones, up to 48 channels), then
// the output transform. Tiles start at the image's first output, so bits depend on an output's place in the image,
// but not on threads, batch or blocks.
//
// Limits: stride 1, no dilation, at least 16 input channels per group (errors of shorter sums are too large beside
// those of direct ones), padding of at most 2 on each side; groups in blocked layouts start at a block. Not with
// Accuracy::kStrict. Points and errors: axis.h, docs/adr/0010, and docs/accuracy.md.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_

#include <memory>

#include "kernels/conv/plan.h"
#include "kernels/conv/winograd/axis.h"

namespace rafter::winograd {

// The rows of the dispatch table: outputs per tile, rows x columns.
inline constexpr char kFourName[] = "winograd_f4", kTwoName[] = "winograd_f2";
inline constexpr char kFourTwoName[] = "winograd_f4x2", kTwoFourName[] = "winograd_f2x4";
inline constexpr TileShape kFourTile{Axis::kFour, Axis::kFour}, kTwoTile{Axis::kTwo, Axis::kTwo};
inline constexpr TileShape kFourTwoTile{Axis::kFour, Axis::kTwo}, kTwoFourTile{Axis::kTwo, Axis::kFour};

Offer Consider(const ConvProblem& problem, const PlanContext& context, TileShape tile);
Result<std::unique_ptr<ConvPlan>> MakePlan(const char* algorithm, const ConvProblem& problem,
                                           const PlanContext& context, TileShape tile);

template <const TileShape& tile>
Offer ConsiderRow(const ConvProblem& problem, const PlanContext& context) {
  return Consider(problem, context, tile);
}
template <const auto& name, const TileShape& tile>
Result<std::unique_ptr<ConvPlan>> MakePlanRow(const ConvProblem& problem, const PlanContext& context) {
  return MakePlan(name, problem, context, tile);
}

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
