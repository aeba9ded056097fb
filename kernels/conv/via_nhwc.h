// kernels/conv/via_nhwc.h: lets an algorithm that wants channels together serve every layout: the source is copied
// to NHWC scratch, the algorithm runs there, the result is copied to its own layout. Residuals are copied too. Of the
// source of a 1x1 kernel with a stride only the used pixels are copied, also from NHWC. Images of one pixel lie in
// NCHW as they do in NHWC: they are renamed, not copied.
//
// Where one tensor is NCHW and the other one not, algorithms that want pixels together get the same through NCHW
// scratch: the copied tensor is often the smaller one (1x1, 64 to 256 channels from NHWC to NCHW).
//
// Not for problems that the algorithm takes as they are. The copies cost what a memory copy costs; their time is
// part of the prediction.
#ifndef RAFTER_KERNELS_CONV_VIA_NHWC_H_
#define RAFTER_KERNELS_CONV_VIA_NHWC_H_

#include "kernels/conv/plan.h"

namespace rafter::via_nhwc {

using ConsiderFunction = Offer(const ConvProblem&, const PlanContext&);
using MakePlanFunction = Result<std::unique_ptr<ConvPlan>>(const ConvProblem&, const PlanContext&);

// `through`: NHWC or NCHW.
Offer Consider(ConsiderFunction inner, const ConvProblem& problem, const PlanContext& context,
               Layout through = Layout::kNhwc);
// The plan's algorithm is the inner one's name with "+reorder".
Result<std::unique_ptr<ConvPlan>> MakePlan(MakePlanFunction inner, const ConvProblem& problem,
                                           const PlanContext& context, Layout through = Layout::kNhwc);

// The same as rows of the dispatch table.
template <ConsiderFunction inner, Layout through = Layout::kNhwc>
Offer ConsiderRow(const ConvProblem& problem, const PlanContext& context) {
  return Consider(inner, problem, context, through);
}
template <MakePlanFunction inner, Layout through = Layout::kNhwc>
Result<std::unique_ptr<ConvPlan>> MakePlanRow(const ConvProblem& problem, const PlanContext& context) {
  return MakePlan(inner, problem, context, through);
}

}  // namespace rafter::via_nhwc

#endif  // RAFTER_KERNELS_CONV_VIA_NHWC_H_
