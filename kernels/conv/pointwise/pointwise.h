// kernels/conv/pointwise/pointwise.h: 1x1 convolution without padding, as a matrix product: pixels x input channels
// times input channels x output channels.
//
// Where neighbouring rows (and images) follow each other at one distance, all pixels form one long row, so
// that no tile stops at the end of an image row: 7 x 7 pixels are 49, not seven times 7. A strided input is
// read in place. Everything else is the tile engine's (kernels/conv/tile/spec.h).
#ifndef RAFTER_KERNELS_CONV_POINTWISE_POINTWISE_H_
#define RAFTER_KERNELS_CONV_POINTWISE_POINTWISE_H_

#include "kernels/conv/plan.h"

namespace rafter::pointwise {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::pointwise

#endif  // RAFTER_KERNELS_CONV_POINTWISE_POINTWISE_H_
