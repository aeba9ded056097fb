// kernels/conv/widthwise/widthwise.h: convolution vectorised over output width: lanes are
// neighbouring outputs of a row, weights are broadcast. For NCHW in and out, whose rows are read
// and written in place.
//
// It is the way for few output channels, few channels per group, few input channels, 1-D signals
// and 1x1 kernels in NCHW: all lanes are used whatever the channel counts are. Per tap one load per
// vector of pixels serves all output channels (and, for tiles of several rows, all output rows) of
// a register tile; see spec.h.
//
// Nothing outside of an image is read and padding does not show, not even under infinite weights:
// rows outside are skipped, and the tiles at the ends of a row run edge kernels, which mask the
// lanes that a tap does not reach. The last vector of a row is moved back to end with the row, so
// that lanes are computed twice rather than stored partly. 1x1 kernels over dense planes see the
// image as one long row. With stride 2 even inputs are sorted out in registers.
//
// With larger strides, and wherever the predictions are in favour, the inputs of a strip of rows are
// copied first (stage.h): that sorts them once for all output channels, keeps planes of channels from
// sharing their sets of L1, and puts zeros beside the rows, so that no tile needs masks.
//
// A kernel call runs tiles beside or below each other. Where rows are short or images small, it runs the same tile for
// one tile of channels, or one group, after the other, each with its own weights.
//
// Order of each sum: as ADR 3 says: blocks of input channels, kernel rows, kernel columns, channels
// of the block.
//
// Limits: rows shorter than a few vectors waste lanes (7 pixels use 7 of 8 or of 16), so
// channel-rich small images are better transposed ("direct+reorder").
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_WIDTHWISE_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_WIDTHWISE_H_

#include "kernels/conv/plan.h"

namespace rafter::widthwise {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_WIDTHWISE_H_
