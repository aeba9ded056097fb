// kernels/conv/pointwise/plan.cc
#include "kernels/conv/pointwise/pointwise.h"
#include "kernels/conv/tile/tile_plan.h"
#include "kernels/inline_vector.h"

namespace rafter::pointwise {

namespace {

// All tensors of the problem, as (strides of the tensor, step between the pixels that are used).
struct View {
  Strides* strides;
  Size2 step;
};

InlineVector<View, 4> Views(tile::Geometry& g) {
  InlineVector<View, 4> views;
  views.push_back({&g.src, g.stride});
  views.push_back({&g.dst, {1, 1}});
  for (size_t i = 0; i < g.residuals.size(); ++i) {
    if (g.post_ops[i].kind == PostOpKind::kResidualAdd) views.push_back({&g.residuals[i], {1, 1}});
  }
  return views;
}

// Joins rows of pixels into one, and images into it, where every tensor allows.
void JoinRows(tile::Geometry& g) {
  const auto views = Views(g);
  for (const View& v : views) {
    if (v.strides->h * v.step.h != v.strides->w * v.step.w * g.out.w && g.out.h > 1) return;
  }
  // A used pixel is `stride.w` columns behind the last one also across rows.
  g.out = {1, g.out.h * g.out.w};
  for (const View& v : views) {
    if (v.strides->n != v.strides->w * v.step.w * g.out.w && g.n > 1) {
      g.in = {1, (g.out.w - 1) * g.stride.w + 1};
      return;
    }
  }
  g.out.w *= g.n;
  g.n = 1;
  g.in = {1, (g.out.w - 1) * g.stride.w + 1};
}

tile::Geometry JoinedGeometry(const ConvProblem& problem) {
  tile::Geometry g = tile::GeometryOf(problem);
  if (g.n > 0) JoinRows(g);
  return g;
}

}  // namespace

Offer Consider(const ConvProblem& problem, const PlanContext& context) {
  if (context.isa == Isa::kNone) return {"needs AVX2 and executable memory", 0};
  const ConvDesc& d = problem.desc;
  if (d.kernel != Size2{1, 1}) {
    return {{"the kernel is #x#, not 1x1", {d.kernel.h, d.kernel.w}}};
  }
  if (d.pad != Padding{}) return {"there is padding", 0};
  if (Refusal refusal = tile::LayoutRefusal(problem); !refusal.empty()) return {std::move(refusal)};
  return tile::ConsiderTiles("pointwise", JoinedGeometry(problem), context);
}

Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context) {
  return tile::TilePlan::Make("pointwise", JoinedGeometry(problem), context);
}

}  // namespace rafter::pointwise
