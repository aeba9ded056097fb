// bench/bounds.h: where a case's lower bound of time comes from. Implemented on top of roofline/.
#ifndef RAFTER_BENCH_BOUNDS_H_
#define RAFTER_BENCH_BOUNDS_H_

#include <string>

#include "bench/cache_mode.h"
#include "rafter/cost.h"
#include "rafter/cpu.h"

namespace rafter::bench {

struct BoundResult {
  double bound_us = 0;  // no execution can be faster; 0 = unknown
  std::string
      binding;  // the roof that sets it: "compute", "L1", "L2", "L3", "DRAM"; empty = unknown
  double compute_us = 0, memory_us = 0;  // the bound is the larger one
  double peak_gflops = 0;  // that the bound was computed with
  // The probes beside the case stayed far below the day's peak: that one was used instead.
  bool disturbed = false;
  // Of the algorithm itself where it does something else than the direct sum; 0 = it does not, or unknown.
  double own_bound_us = 0;
  std::string own_binding{};
  // Rate of FMAs that load an operand, beside the case and typically, against the day's best at the same clock. Below
  // 1: others use the cores, the hyper-thread next door for one. An FMA on registers alone does not feel it.
  double core_share = 1;
};

// What a pass over memory moves, in explicit bytes.
struct PassBytes {
  double load_bytes = 0, store_bytes = 0;
  bool in_place = false;
};

class Bounds {
 public:
  virtual ~Bounds() = default;
  // Called just before a case is timed: measures the arithmetic peak (about a millisecond), so that
  // changes of the clock cancel in the efficiency. `isa` is the set that the kernel uses; kNone for
  // the reference.
  virtual void BeginCase(Isa isa, int threads) = 0;
  // Called just after it, with the time that one call took: measures again, and once more where the
  // time seems to beat the bound. `own`: what the algorithm itself did, Conv::work().
  virtual BoundResult EndCase(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads, double time_us,
                              CacheMode mode) = 0;
  // The same for an operator whose bytes bind it, with warm caches.
  virtual BoundResult EndPass(const PassBytes& bytes, Isa isa, int threads, double time_us) {
    (void)bytes, (void)isa, (void)threads, (void)time_us;
    return {};
  }
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BOUNDS_H_
