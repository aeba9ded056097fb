// kernels/conv/depthwise/plan.cc: which problems depthwise takes, and with which kernels.
#include <algorithm>

#include "kernels/conv/depthwise/channel_plan.h"
#include "kernels/conv/depthwise/depthwise.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_plan.h"

namespace rafter::depthwise {

namespace {

bool IsNchw(const ConvProblem& problem) {
  return problem.desc.src.layout == Layout::kNchw || problem.desc.dst.layout == Layout::kNchw;
}

bool TooManyPhases(const Size2& stride, const Size2& dilation, const ConvProblem& problem) {
  return std::min(dilation.h, problem.oh) > kMaxPhases ||
         std::min(dilation.w, problem.ow) > kMaxPhases || stride.h < 1;
}

Offer ConsiderWidth(const ConvProblem& problem, const PlanContext& context) {
  if (const char* reason = WidthRefusal(problem, context.isa); *reason != '\0') return {reason, 0};
  Offer offer;
  offer.predicted_us = ChooseWidthBlocking(GeometryOf(problem, false), context.isa,
                                           *context.machine, context.threads)
                           .predicted_us;
  return offer;
}

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  const ConvDesc& d = problem.desc;
  if (problem.ic_g != 1) return {"a group has more than one input channel", 0};
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  if (!OffsetsFit(problem))
    return {"sizes, padding, strides or dilations lead too far for its offsets", 0};
  if (TooManyPhases(d.stride, d.dilation, problem))
    return {"the dilation leaves too many separate phases", 0};
  if (IsNchw(problem)) return ConsiderWidth(problem, context);
  const Geometry g = GeometryOf(problem, d.kernel.w == 1 && d.kernel.h > 1);
  Offer offer;
  offer.predicted_us =
      ChooseChannelBlocking(g, ChannelIsa(g, context.isa), *context.machine, context.threads)
          .predicted_us;
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  return IsNchw(problem) ? WidthPlan::Make(problem, context) : ChannelPlan::Make(problem, context);
}

}  // namespace rafter::depthwise
