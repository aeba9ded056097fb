// bench/case_runner.h: measures one case: create, pack, verify, then time, alone or against a
// baseline.
//
// A kernel whose outputs differ from the exact sums is not timed: the result carries the error.
#ifndef RAFTER_BENCH_CASE_RUNNER_H_
#define RAFTER_BENCH_CASE_RUNNER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/baseline.h"
#include "bench/bounds.h"
#include "bench/cache_mode.h"
#include "bench/case_result.h"
#include "bench/pages.h"
#include "bench/sampler.h"
#include "bench/suite.h"
#include "rafter/conv.h"

namespace rafter::bench {

struct CaseOptions {
  Layout layout = Layout::kNhwc;
  int threads = 1;
  std::string algorithm;  // empty: the library chooses
  Accuracy accuracy = Accuracy::kDefault;
  Planning planning = Planning::kModel;
  CacheMode mode = CacheMode::kHot;
  bool bias = true;
  PostOps post_ops;                         // fused; factors of a kChannelScale are filled in
  double budget_us = 1.5e6;                 // for timing one case, all contenders together
  int creations = 7;                        // plans made to time creation
  uint64_t seed = 1;                        // data and order
  ParallelFor* pool = nullptr;              // threads of the calls; null: OpenMP
  Pages pages = Pages::kKept;               // of operators' results
  double cold_gb_per_s = 0;                 // of a reader of flushed lines, from CheckFlushing; 0 = unknown
  double least_noise_floor = 0;             // of comparisons, from the run's calibration
  const std::atomic<bool>* stop = nullptr;  // set from a signal handler: end now, with an error
};

class CaseRunner {
 public:
  // `bounds` and `baseline` may be null; both outlive the runner. The instruction set is the
  // process's (SetMaxIsa). The calling thread's OpenMP team size is set to options.threads while a
  // case runs.
  CaseRunner(const CaseOptions& options, Bounds* bounds, Baseline* baseline);

  // Never throws; everything that goes wrong is in the result's `error` or `vs_error`.
  CaseResult Run(const SuiteCase& suite_case) noexcept;

  // Least time of one call, from FLOPs and bytes; 0 where it is not known (operators, malformed cases).
  double CallUs(const SuiteCase& suite_case) const noexcept;

  // The same by the FLOPs of the algorithm that would run, for which a plan is made: Winograd's calls are shorter.
  double PlannedCallUs(const SuiteCase& suite_case) const noexcept;

  // Time that Run will need, for an ETA: grows with the predicted time of the case.
  double EstimateUs(const SuiteCase& suite_case) const noexcept;

 private:
  CaseOptions options_;
  Bounds* bounds_;
  Baseline* baseline_;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CASE_RUNNER_H_
