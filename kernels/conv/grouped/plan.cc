// kernels/conv/grouped/plan.cc
#include "kernels/conv/grouped/blocking.h"
#include "kernels/conv/grouped/grouped.h"
#include "kernels/conv/strip/strip_plan.h"

namespace rafter::grouped {

namespace {

constexpr int64_t kMaxChannels = 64;  // per group; larger groups fill vectors

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  if (problem.desc.groups == 1) return {"there is one group only", 0};
  const int lanes = jit::GetIsaInfo(context.isa).vec_lanes();
  if (problem.ic_g == 1 && problem.oc_g == 1) return {"depthwise: no channels to sum over", 0};
  if (problem.oc_g > kMaxChannels || problem.ic_g > kMaxChannels) {
    return {"more than 64 channels per group", 0};
  }
  if (problem.oc_g > lanes && problem.oc_g % lanes == 0) return {"groups fill whole vectors", 0};
  if (const char* refusal = strip::RefusalOf(problem)) return {refusal, 0};
  const strip::Layer layer = strip::LayerOf(problem, jit::GetIsaInfo(context.isa));
  return {"", strip::PredictUs(strip::JoinRows(problem), ChoosePieces(layer), context)};
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  const strip::Layer layer = strip::LayerOf(problem, jit::GetIsaInfo(context.isa));
  return strip::StripPlan::Make("grouped", PackedFormat::kGrouped, strip::JoinRows(problem),
                                ChoosePieces(layer), context);
}

}  // namespace rafter::grouped
