// kernels/conv/depthwise/depthwise.h: convolution in which every output looks at one input channel (groups = input
// channels), with any channel multiplier, kernel, stride, dilation, padding, and 1-D in either direction.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_

#include "kernels/conv/plan.h"

namespace rafter::depthwise {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
