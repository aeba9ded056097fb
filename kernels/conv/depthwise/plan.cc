// kernels/conv/depthwise/plan.cc: which problems depthwise takes, and with which kernels.
#include <algorithm>
#include <utility>

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

// Whether the width kernel would load about as often as it multiplies: kernels of many taps whose tiles, or rows, are
// one vector wide.
bool IsNarrow(const ConvProblem& problem, Isa isa) {
  const ConvDesc& d = problem.desc;
  if (d.kernel.w == 1) return false;  // 29x1 36@128x64 1046 us transposed, 274 in bands
  if (d.kernel.h * d.kernel.w < kManyTaps || d.kernel.h < kNarrowRows || d.stride.w > 2) return false;
  const int64_t columns = d.stride.w == 2 ? 2 * kNarrowColumns : kNarrowColumns;
  return problem.ow <= columns || (WidthVecs(problem, isa) < 2 && !PrefersBands(problem));
}

// Strips of channels, transposed: for short rows, which leave many lanes idle, for large kernels, and for what `width`
// refuses. Not by the models: the kernels of a layer should not depend on the size of its images more than needed.
Offer ConsiderTransposed(const ConvProblem& problem, const PlanContext& context,
                         const Offer& width) {
  if (width.refusal.empty() && problem.ow > kMostTransposedColumns && !IsNarrow(problem, context.isa))
    return {"NCHW with long rows", 0};
  if (const char* reason = TransposedRefusal(problem, context.isa); *reason != '\0')
    return {reason, 0};
  const Geometry g = TransposedGeometryOf(problem);
  const ChannelBlocking b =
      ChooseChannelBlocking(g, context.isa, *context.machine, context.threads);
  if (g.columns.out() < kTransposed && b.tile_rows < g.rows.out())
    return {"NCHW with narrow images of many rows", 0};
  Offer offer;
  offer.predicted_us = b.predicted_us;
  return offer;
}

Offer ConsiderNchw(const ConvProblem& problem, const PlanContext& context) {
  Offer width = ConsiderWidth(problem, context);
  Offer transposed = ConsiderTransposed(problem, context, width);
  return transposed.refusal.empty() ? std::move(transposed) : std::move(width);
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
  if (std::max({d.pad.top, d.pad.left, d.pad.bottom, d.pad.right}) > kMaxPad) return {"padding of more than 65536", 0};
  if (IsNchw(problem)) return ConsiderNchw(problem, context);
  const Geometry g = GeometryOf(problem, d.kernel.w == 1 && d.kernel.h > 1);
  Offer offer;
  offer.predicted_us =
      ChooseChannelBlocking(g, ChannelIsa(g, context.isa), *context.machine, context.threads)
          .predicted_us;
  return offer;
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  if (!IsNchw(problem)) return ChannelPlan::Make(problem, context);
  const Offer width = ConsiderWidth(problem, context);
  const bool transposes = ConsiderTransposed(problem, context, width).refusal.empty();
  return transposes ? ChannelPlan::Make(problem, context) : WidthPlan::Make(problem, context);
}

}  // namespace rafter::depthwise
