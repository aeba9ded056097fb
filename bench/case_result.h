// bench/case_result.h: what is known about one measured case. Written by CaseRunner, read by the
// reports.
#ifndef RAFTER_BENCH_CASE_RESULT_H_
#define RAFTER_BENCH_CASE_RESULT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/statistics.h"

namespace rafter::bench {

// Against another library in one of its layouts.
struct VersusResult {
  std::string library, version, implementation, layout;
  double time_us = 0;  // median per call
  double create_us = 0;
  double speedup = 0;  // its time / our time, median over pairs
  double ci_low = 0, ci_high = 0;
  std::string verdict;  // "FASTER", "SLOWER", "SAME", "AMBIGUOUS": ours against it
};

// A part of the time above the bound that the plan's own model accounts for.
struct Loss {
  std::string name;  // "idle lanes", "fork-join" …
  double us = 0;
  std::string why;  // with the numbers of the case: "oc 60 fills 7.5 of 8 vectors"
};

// The loss that is nobody's fault here: what other programs took of the cores meanwhile.
inline constexpr const char* kSharedCore = "shared core";

// The error of a case that was not finished because the user ended the run.
inline constexpr const char* kInterrupted = "interrupted";

// What an algorithm did that does something else than the direct sum (Winograd).
struct OwnWork {
  double flops = 0, bytes = 0;     // compulsory bytes, with the weights as they are packed
  double intermediate_bytes = 0;   // written and read again
  double gflops = 0;               // flops / median
  double bound_us = 0;             // 0 = unknown
  std::string binding;
};

struct CaseResult {
  std::string descriptor;  // short form, reproduces the geometry that was measured
  std::string name;
  std::string layout;  // "NHWC"
  int threads = 1;
  std::string isa;        // that the kernel uses: "avx2"
  std::string algorithm;  // "direct"
  std::string kernel;
  std::string post_ops;  // that are fused: "residual_add+relu"
  std::string mode = "hot";  // what the caches hold before a call: "hot", "cold-weights", "cold"
  // The values of a sweep that made this case: {"oc", 64}, {"kh", 3}; empty without a sweep.
  std::vector<std::pair<std::string, int64_t>> sweep;
  TimeStats time;
  bool no_work = false;  // a batch of 0: the time is that of a call
  double create_us = 0;  // plan creation with an empty code cache, without packing of weights
  double flops_valid = 0, flops_nominal = 0, bytes = 0;
  double gflops = 0;    // flops_valid / median; with `own` they are effective and may exceed the peak
  double gb_per_s = 0;  // memory-bound operators: bytes / median, their main figure; 0 for convolutions
  double bound_us = 0;  // of the direct sum; 0 = unknown
  std::string binding;
  double peak_gflops = 0;  // that the bound was computed with; 0 = unknown
  bool disturbed = false;  // that is the day's peak, since the probes beside the case fell short
  double core_share = 1;   // see bounds.h: below 1 others used the cores
  double roof_share = 0;   // see bounds.h: what the bound counts on of the binding roof's best; 0 = not probed
  std::optional<OwnWork> own;
  double efficiency = 0;  // bound_us / median, with `own` its bound_us / median
  // bound (with `own` its bound) + the sum of the losses: what the plan knows it needs, and what others took of the
  // cores; 0 = unknown. What was measured beyond it nobody has explained.
  double model_us = 0;
  std::vector<Loss> losses;
  double busy_cpus = 0;  // CPUs that other work kept busy meanwhile, on average; -1 = not known
  int64_t verified_outputs = 0;
  double max_error = 0;    // largest absolute difference from the exact sums
  double noise_floor = 0;  // relative, ours against ours; 0 without a comparison
  std::optional<VersusResult> vs_same, vs_best;
  std::string vs_error;  // why the comparison is missing or partial; the case itself is fine
  std::string error;     // the case failed or is unfinished: nothing but the description is valid
};

// What reports show as the bound: that of the algorithm that ran. The direct sum's stands beside it.
inline double ShownBoundUs(const CaseResult& result) noexcept {
  return result.own && result.own->bound_us > 0 ? result.own->bound_us : result.bound_us;
}
inline const std::string& ShownBinding(const CaseResult& result) noexcept {
  return result.own && result.own->bound_us > 0 ? result.own->binding : result.binding;
}

// GFLOP/s of convolutions, GB/s of memory-bound operators.
inline double MainFigure(const CaseResult& result) noexcept {
  return result.gb_per_s > 0 ? result.gb_per_s : result.gflops;
}

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CASE_RESULT_H_
