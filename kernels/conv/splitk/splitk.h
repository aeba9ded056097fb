// kernels/conv/splitk/splitk.h: convolutions in NHWC whose output channels do not fill vectors: 1 … 7 of them, or 17,
// 21, 24 under 16 lanes.
//
// A vector of 8 lanes holds 8 output channels, or 4 of them for two input channels at once, or 1 for eight; the parts
// are added at the end (strip/spec.h has the picture). The output channels are cut into pieces of such kinds at the
// least predicted cost: 17 = 2 vectors of 8 + 1 channel over eight inputs; 12 = 3 vectors of 4 over two inputs;
// 3 = 3 vectors over eight inputs. Loop order, threads, register tile: kernels/conv/strip.
//
// Order of the sum: kernel rows, steps of 1, 2 or 8 (16) input channels, kernel columns; each lane is a chain of
// fused multiply-adds of its own. Then the lanes of an output are added: neighbours where a step has 2; else
// (16 lanes: l and l + 8 first) lanes 0 + 2 and 1 + 3 of each half, these two, then both halves. Which kind a channel
// belongs to depends on the layer and the vector width only.
//
// Limits: one group, both tensors NHWC. Full vectors of many output channels belong to direct and pointwise.
#ifndef RAFTER_KERNELS_CONV_SPLITK_SPLITK_H_
#define RAFTER_KERNELS_CONV_SPLITK_SPLITK_H_

#include <memory>

#include "kernels/conv/plan.h"

namespace rafter::splitk {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::splitk

#endif  // RAFTER_KERNELS_CONV_SPLITK_SPLITK_H_
