// bench/contest.h: times a prepared convolution of ours against a baseline in its layouts.
#ifndef RAFTER_BENCH_CONTEST_H_
#define RAFTER_BENCH_CONTEST_H_

#include "bench/baseline.h"
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
};

// Prepares the baseline in the case's layout, in the one it chooses and in NCHW16c, checks its
// outputs, drops what a short trial shows to be more than 10 % slower than its fastest (never the
// case's own layout), and runs the duel. Fills time, noise_floor, vs_same, vs_best and vs_error of
// `result`.
void RunContest(const ContestSetup& setup, const Work& ours, Stopwatch& watch,
                const DuelOptions& options, CaseResult& result);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CONTEST_H_
