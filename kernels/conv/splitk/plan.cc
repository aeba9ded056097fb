// kernels/conv/splitk/plan.cc
#include "kernels/conv/splitk/splitk.h"
#include "kernels/conv/strip/strip_plan.h"

namespace rafter::splitk {

namespace {

// Beyond so many output channels the idle lanes of the last vector are less than a tenth.
constexpr int64_t kMaxChannels = 128;

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  if (problem.desc.groups != 1) return {"there are several groups", 0};
  const strip::Layer layer = strip::LayerOf(problem, jit::GetIsaInfo(context.isa));
  if (layer.oc_g > layer.lanes && layer.oc_g % layer.lanes == 0) {
    return {"output channels fill whole vectors", 0};
  }
  if (layer.oc_g > kMaxChannels) return {"few lanes of so many output channels are idle", 0};
  if (const char* refusal = strip::RefusalOf(problem)) return {refusal, 0};
  return {"", strip::PredictUs(strip::JoinRows(problem), strip::SplitGroup(layer), context)};
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  const strip::Layer layer = strip::LayerOf(problem, jit::GetIsaInfo(context.isa));
  return strip::StripPlan::Make("splitk", PackedFormat::kSplitK, strip::JoinRows(problem),
                                strip::SplitGroup(layer), context);
}

}  // namespace rafter::splitk
