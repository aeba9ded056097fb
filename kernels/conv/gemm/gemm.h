// kernels/conv/gemm/gemm.h: convolution of NCHW planes as a matrix product. Lanes are neighbouring output pixels of
// an image, whatever their rows; weights are broadcast.
//
//   dst[oc][pixel] = sum over k of weights[oc][k] * X[k][pixel],   k = (input channel, kernel row, kernel column)
//
// X is never stored as a whole: for a segment of pixels and a pass of some hundred k its values are gathered into
// panels of one register tile's width (columns.h), which stay in L1 while all output channels pass over them. That
// pays where a gathered value serves many output channels: 1x1 kernels above all, whose channels lie in pages of their
// own, strides, and rows that do not fill vectors (14 pixels per row waste an eighth of the lanes when they are
// vectorised row by row, 196 per image waste a fiftieth).
//
// X of 1x1 kernels with stride 1 over dense planes lies in the planes as it is. Then the first tile of output channels
// reads it there and writes the panel on its way, for one tile of pixels at a time:
//
//   for each segment of pixels (an item; threads take items)
//     for each block of output channels
//       for each pass over k               weights of block and pass fit L2
//         for each tile of pixels          its panel stays in L1 or L2
//           for each tile of output channels
//
// Where inputs and outputs are much more than the caches hold, segments of such planes are staged (stage.h): their
// pixels are copied into rows of a buffer, one segment ahead of the sums, and outputs go from another buffer past the
// caches.
//
//   for each segment of pixels
//     for each tile of pixels
//       for each tile of output channels   (inside of the kernel)
//         some lines of the next segment are copied, others prefetched
//     outputs are copied
//
// 1x1 kernels with strides do the same as dense planes that fit, with panels that are picked from the planes
// (picker.h). Otherwise X is gathered first:
//
//   for each segment of pixels (an item; threads take items)
//     for each pass over k                 X of the pass is gathered: it fits L2
//       for each block of output channels  its weights of the pass stay in L2
//         for each tile of pixels          its panel stays in L1
//           for each tile of output channels (inside of the kernel)
//
// Sums of unfinished passes are parked per item. Order of each sum: as ADR 3 says: blocks of input channels, kernel
// rows, kernel columns, channels of the block.
//
// Padding is gathered as zeros, which is right for finite weights only; with infinite or NaN weights a careful kernel
// masks the lanes whose tap lies outside.
//
// Limits: planes of dst (and residuals) must be dense; few output channels do not earn the gathering (widthwise).
#ifndef RAFTER_KERNELS_CONV_GEMM_GEMM_H_
#define RAFTER_KERNELS_CONV_GEMM_GEMM_H_

#include "kernels/conv/plan.h"

namespace rafter::gemm {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_GEMM_H_
