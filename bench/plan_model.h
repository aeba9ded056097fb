// bench/plan_model.h: the second of the three numbers of a case: bound (what the hardware allows), model (what
// the plan knows it needs), measured; and the gap between the first two as named losses.
//
// The losses come from the algorithm's own prediction by asking "what if": the same problem is predicted on a machine
// that forks for nothing, whose caches deliver everything at once, that has load ports and chains without end, with
// channels or rows that fill every lane; each difference is the loss of what was idealised away. What is left above the
// compute bound is what tiles and loops cost. Everything is scaled to the peak that was measured beside the case, and
// of each kind of loss only that part counts which execution out of order was seen not to hide.
//
// Two losses are not in the prediction: "streams", what arithmetic does not hide of the time of compulsory bytes, and
// "shared core", what others took of the cores meanwhile (BoundResult::core_share). An algorithm that computes
// something else than the direct sum (Winograd) is modelled above its own bound.
//
// In the cold modes the bound is that of memory, and what is hidden of it is another matter: packed weights are read in
// one sweep that the prefetchers know how to run ahead of; activations come in rows, whose first lines everybody waits
// for. They are charged whole, at the rate of a plain reader of flushed lines ("cold start").
#ifndef RAFTER_BENCH_PLAN_MODEL_H_
#define RAFTER_BENCH_PLAN_MODEL_H_

#include <string>
#include <vector>

#include "bench/bounds.h"
#include "bench/case_result.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "runtime/machine_model.h"

namespace rafter::bench {

struct PlanModelRequest {
  const ConvProblem* problem = nullptr;
  std::string algorithm;  // as Conv::algorithm() names it
  Isa isa = Isa::kNone;
  int threads = 1;
  Accuracy accuracy = Accuracy::kDefault;
  CacheMode mode = CacheMode::kHot;
  double cold_gb_per_s = 0;  // of a plain reader of flushed lines (ColdCheck); 0 = unknown
};

struct PlanModel {
  double model_us = 0;       // bound + all losses; 0 = no model
  std::vector<Loss> losses;  // largest first, those below 0.5 % of the model in one "small losses"
};

// Nothing without a bound, and where the algorithm refuses or does not exist.
PlanModel ModelPlan(const PlanModelRequest& request, const BoundResult& bound);

// The machine model whose FMA peak is `peak_gflops` on `threads` threads: only its clock differs.
MachineModel AtPeak(const MachineModel& model, Isa isa, int threads, double peak_gflops);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_PLAN_MODEL_H_
