// kernels/conv/winograd/winograd.h: fewer multiplications for kernels of 3x3, 1x3 and 3x1 with stride 1.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_

#include <memory>

#include "kernels/conv/plan.h"
#include "kernels/conv/winograd/axis.h"

namespace rafter::winograd {

// The rows of the dispatch table: outputs per tile, rows x columns.
inline constexpr char kFourName[] = "winograd_f4", kTwoName[] = "winograd_f2";
inline constexpr char kFourTwoName[] = "winograd_f4x2", kTwoFourName[] = "winograd_f2x4";
inline constexpr TileShape kFourTile{Axis::kFour, Axis::kFour}, kTwoTile{Axis::kTwo, Axis::kTwo};
inline constexpr TileShape kFourTwoTile{Axis::kFour, Axis::kTwo}, kTwoFourTile{Axis::kTwo, Axis::kFour};

Offer Consider(const ConvProblem& problem, const PlanContext& context, TileShape tile);
Result<std::unique_ptr<ConvPlan>> MakePlan(const char* algorithm, const ConvProblem& problem,
                                           const PlanContext& context, TileShape tile);

template <const TileShape& tile>
Offer ConsiderRow(const ConvProblem& problem, const PlanContext& context) {
  return Consider(problem, context, tile);
}
template <const auto& name, const TileShape& tile>
Result<std::unique_ptr<ConvPlan>> MakePlanRow(const ConvProblem& problem, const PlanContext& context) {
  return MakePlan(name, problem, context, tile);
}

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_WINOGRAD_H_
