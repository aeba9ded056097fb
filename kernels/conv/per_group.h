// kernels/conv/per_group.h: grouped convolutions in NCHW whose algorithm works in NHWC (via_nhwc.h), group by group:
// the scratch holds the channels of one group, so that it stays in L2, its pixels lie next to each other instead of all
// channels apart, and threads take whole groups.
//
// Packed weights are those of the groups, one after the other, each as if it were a convolution of its own. The order
// of each sum is the inner algorithm's; it does not know how many groups there are.
#ifndef RAFTER_KERNELS_CONV_PER_GROUP_H_
#define RAFTER_KERNELS_CONV_PER_GROUP_H_

#include "kernels/conv/plan.h"
#include "kernels/conv/via_nhwc.h"

namespace rafter::per_group {

// Many groups of enough channels in NCHW. A matter of the layer: packed weights depend on it.
bool Applies(const ConvProblem& problem);

Offer Consider(via_nhwc::ConsiderFunction inner, const ConvProblem& problem, const PlanContext& context);
// `inner` packs its weights as PackedFormat::kPanels.
Result<std::unique_ptr<ConvPlan>> MakePlan(via_nhwc::MakePlanFunction inner, const ConvProblem& problem,
                                           const PlanContext& context);

// Rows of the dispatch table: as via_nhwc's where there is nothing to do group by group.
template <via_nhwc::ConsiderFunction inner>
Offer ConsiderRow(const ConvProblem& problem, const PlanContext& context) {
  return Applies(problem) ? Consider(inner, problem, context) : via_nhwc::Consider(inner, problem, context);
}
template <via_nhwc::MakePlanFunction inner>
Result<std::unique_ptr<ConvPlan>> MakePlanRow(const ConvProblem& problem, const PlanContext& context) {
  return Applies(problem) ? MakePlan(inner, problem, context) : via_nhwc::MakePlan(inner, problem, context);
}

}  // namespace rafter::per_group

#endif  // RAFTER_KERNELS_CONV_PER_GROUP_H_
