// kernels/conv/winograd/work.h: what the algorithm itself computes and moves, for its own roofline bound.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_WORK_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_WORK_H_

#include "kernels/conv/winograd/blocking.h"
#include "kernels/conv/winograd/pack.h"
#include "rafter/cost.h"

namespace rafter::winograd {

AlgorithmWork WorkOf(const ConvProblem& problem, const Geometry& g, const PackLayout& layout, const Blocking& blocking);

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_WORK_H_
