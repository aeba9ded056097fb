// kernels/conv/via_nhwc.h: lets an algorithm that wants channels together serve every layout: the source is copied
// to NHWC scratch, the algorithm runs there, the result is copied to its own layout. Residuals are copied too. Of the
// source of a 1x1 kernel with a stride only the used pixels are copied, also from NHWC. Images of one pixel lie in
// NCHW as they do in NHWC: they are renamed, not copied.
//
// Not for problems that the algorithm takes as they are. The copies cost what a memory copy costs; their time is
// part of the prediction.
#ifndef RAFTER_KERNELS_CONV_VIA_NHWC_H_
#define RAFTER_KERNELS_CONV_VIA_NHWC_H_

#include "kernels/conv/plan.h"

namespace rafter::via_nhwc {

using ConsiderFunction = Offer(const ConvProblem&, const PlanContext&);
using MakePlanFunction = Result<std::unique_ptr<ConvPlan>>(const ConvProblem&, const PlanContext&);

Offer Consider(ConsiderFunction inner, const ConvProblem& problem, const PlanContext& context);
// The plan's algorithm is the inner one's name with "+reorder".
Result<std::unique_ptr<ConvPlan>> MakePlan(MakePlanFunction inner, const ConvProblem& problem,
                                           const PlanContext& context);

// The same as rows of the dispatch table.
template <ConsiderFunction inner>
Offer ConsiderRow(const ConvProblem& problem, const PlanContext& context) {
  return Consider(inner, problem, context);
}
template <MakePlanFunction inner>
Result<std::unique_ptr<ConvPlan>> MakePlanRow(const ConvProblem& problem, const PlanContext& context) {
  return MakePlan(inner, problem, context);
}

}  // namespace rafter::via_nhwc

#endif  // RAFTER_KERNELS_CONV_VIA_NHWC_H_
