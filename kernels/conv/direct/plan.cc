// kernels/conv/direct/plan.cc
#include "kernels/conv/direct/direct.h"
#include "kernels/conv/tile/tile_plan.h"

namespace rafter::direct {

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  const ConvDesc& d = problem.desc;
  if (context.steps_aside && d.kernel == Size2{1, 1} && d.pad == Padding{}) {
    return {"pointwise does the same in longer rows"};
  }
  if (Refusal refusal = tile::LayoutRefusal(problem); !refusal.empty()) return {std::move(refusal)};
  return tile::ConsiderTiles("direct", tile::GeometryOf(problem), context);
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  return tile::TilePlan::Make("direct", tile::GeometryOf(problem), context);
}

}  // namespace rafter::direct
