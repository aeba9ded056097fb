// kernels/conv/direct/direct.h: spatial convolution, vectorised over output channels, for NHWC and NCHWc with any
// kernel, stride, dilation, padding and group count.
//
// It lays the problem out for the tile engine row by row: no im2col, no padded copy, no multiplication by padding.
// Groups whose pixels lie far apart are copied a few rows at a time (kernels/conv/tile/staging.h).
// Rows at the top and bottom run fewer kernel rows; tiles at the ends of a row skip, per kernel column, the
// pixels whose tap lies outside. Loop order and threads: kernels/conv/tile/driver.cc; the register tile:
// kernels/conv/tile/spec.h.
//
// Limits: an output channel is a lane, so fewer output channels per group than lanes waste the rest; rows
// shorter than a tile leave accumulators idle.
#ifndef RAFTER_KERNELS_CONV_DIRECT_DIRECT_H_
#define RAFTER_KERNELS_CONV_DIRECT_DIRECT_H_

#include "kernels/conv/plan.h"

namespace rafter::direct {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::direct

#endif  // RAFTER_KERNELS_CONV_DIRECT_DIRECT_H_
