// bench/contest.h: times a prepared convolution of ours against a baseline in its layouts.
#ifndef RAFTER_BENCH_CONTEST_H_
#define RAFTER_BENCH_CONTEST_H_

#include <vector>

#include "bench/baseline.h"
#include "bench/cache_mode.h"
#include "bench/case_result.h"
#include "bench/case_tensors.h"
#include "bench/duel.h"
#include "kernels/conv/problem.h"

namespace rafter::bench {

// What takes part besides ours.
struct ContestSetup {
  const ConvProblem* problem = nullptr;
  const CaseTensors* tensors = nullptr;
  Baseline* baseline = nullptr;
  int threads = 1;
  CacheMode mode = CacheMode::kHot;
  std::vector<Memory> our_weights, our_memory;  // what our calls touch besides the tensors
};

// Flushes what `mode` wants cold before a call that touches `weights` and, unless only weights are cold, `rest`.
// Empty for kHot.
Work FlushFor(CacheMode mode, std::vector<Memory> weights, std::vector<Memory> rest);

// The memory of the case's own tensors.
std::vector<Memory> MemoryOf(const CaseTensors& tensors);

// Prepares the baseline in the case's layout, in the one it chooses and in NCHW16c, checks its
// outputs, drops what a short trial shows to be more than 10 % slower than its fastest (never the
// case's own layout), and runs the duel. Fills time, noise_floor, vs_same, vs_best and vs_error of
// `result`.
void RunContest(const ContestSetup& setup, const Work& ours, Stopwatch& watch,
                const DuelOptions& options, CaseResult& result);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CONTEST_H_
