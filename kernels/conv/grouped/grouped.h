// kernels/conv/grouped/grouped.h: grouped convolutions in NHWC with few channels per group (ResNeXt: 4 or 8).
//
// The lanes of a vector hold several groups: 8 lanes are 2 groups of 4 channels, or 4 of 2. One load brings the
// inputs of all these groups, a permute within quarters of the register gives each output lane the i-th input of its
// group; three kernel columns use each such vector while their weights stay in registers (strip/spec.h has the
// picture). Other counts (3, 5, 6, 7, different ones in and out) use a general permute or one broadcast per group and
// leave lanes idle where oc/group does not divide them. Groups of a vector and more, and those for which it is
// predicted to be faster, are cut as in splitk, group by group.
//
// Order of the sum: kernel rows, input channels of the group, kernel columns, one chain of fused multiply-adds.
// (Groups that are cut as in splitk: its order.)
//
// Limits: at least two groups, both tensors NHWC, no depthwise, at most 64 channels per group in and out.
#ifndef RAFTER_KERNELS_CONV_GROUPED_GROUPED_H_
#define RAFTER_KERNELS_CONV_GROUPED_GROUPED_H_

#include <memory>

#include "kernels/conv/plan.h"

namespace rafter::grouped {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::grouped

#endif  // RAFTER_KERNELS_CONV_GROUPED_GROUPED_H_
