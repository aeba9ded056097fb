// bench/bounds.h: where a case's lower bound of time comes from. Implemented on top of roofline/.
#ifndef RAFTER_BENCH_BOUNDS_H_
#define RAFTER_BENCH_BOUNDS_H_

#include <string>

#include "bench/cache_mode.h"
#include "bench/sampler.h"
#include "bench/statistics.h"
#include "rafter/cost.h"
#include "rafter/cpu.h"

namespace rafter::bench {

struct BoundResult {
  double bound_us = 0;  // no execution can be faster; 0 = unknown
  std::string
      binding;  // the roof that sets it: "compute", "L1", "L2", "L3", "DRAM"; empty = unknown
  double compute_us = 0, memory_us = 0;  // the bound is the larger one
  // Which level holds the bytes, whatever binds: "L1", "L2", "L3", "DRAM"; empty = unknown.
  std::string data_level{};
  double peak_gflops = 0;  // that the bound was computed with
  // The probes beside the case cannot be right, since the case beat them or they fell far short: the day's peak was
  // used instead.
  bool disturbed = false;
  // Of the algorithm itself where it does something else than the direct sum; 0 = it does not, or unknown.
  double own_bound_us = 0;
  std::string own_binding{};
  // Rate of FMAs that load an operand, beside the case and typically, against the day's best at the same clock. Below
  // 1: others use the cores, the hyper-thread next door for one. An FMA on registers alone does not feel it.
  double core_share = 1;
  // Of the day's best of the roof that binds, what probes between the samples found; the bound is with that much.
  // 0 = not probed, or not believed.
  double roof_share = 0;
};

// What a pass over memory moves, in explicit bytes.
struct PassBytes {
  double load_bytes = 0, store_bytes = 0;
  bool in_place = false;
};

class Bounds {
 public:
  virtual ~Bounds() = default;
  // Called just before a case is timed: measures the best arithmetic peak of the moment (about a millisecond). `isa` is
  // the set that the kernel uses; kNone for the reference.
  virtual void BeginCase(Isa isa, int threads) = 0;
  // What is to be probed between the samples of the case: the roof that will bind it, on the team of OpenMP. Valid
  // until EndCase; may be empty. `own`: what the algorithm itself does, Conv::work().
  virtual ShareProbe ProbeFor(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads, CacheMode mode) {
    (void)cost, (void)own, (void)isa, (void)threads, (void)mode;
    return {};
  }
  // Called just after the case, with the times of its calls: measures again, and once more where the time seems to
  // beat the bound.
  virtual BoundResult EndCase(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                              const TimeStats& time, CacheMode mode) = 0;
  // The same for an operator whose bytes bind it, with warm caches.
  virtual ShareProbe ProbeForPass(const PassBytes& bytes, Isa isa, int threads) {
    (void)bytes, (void)isa, (void)threads;
    return {};
  }
  virtual BoundResult EndPass(const PassBytes& bytes, Isa isa, int threads, const TimeStats& time) {
    (void)bytes, (void)isa, (void)threads, (void)time;
    return {};
  }
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BOUNDS_H_
