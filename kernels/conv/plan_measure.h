// kernels/conv/plan_measure.h: how long plans of one problem take on this machine. The only place
// under kernels/ that reads a clock, and only when the caller asked for Planning::kMeasure (ADR 8).
#ifndef RAFTER_KERNELS_CONV_PLAN_MEASURE_H_
#define RAFTER_KERNELS_CONV_PLAN_MEASURE_H_

#include <span>

#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "rafter/memory_pool.h"
#include "rafter/status.h"

namespace rafter {

struct Contender {
  const ConvPlan* plan = nullptr;
  double us = 0;  // of one call with warm caches: the minimum over all rounds
};

// Runs the plans of `problem` (n >= 1) by turns on random data, on OpenMpThreads(), and fills in their
// times. Tensors, weights and scratch come from `pool`, null: from one that ends with the call.
// kOutOfMemory. May throw bad_alloc. Takes about 3 ms per contender, or 5 rounds of slow ones.
Status MeasurePlans(const ConvProblem& problem, MemoryPool* pool, std::span<Contender> contenders);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_PLAN_MEASURE_H_
