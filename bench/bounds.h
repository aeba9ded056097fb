// bench/bounds.h: where a case's lower bound of time comes from. Implemented on top of roofline/.
#ifndef RAFTER_BENCH_BOUNDS_H_
#define RAFTER_BENCH_BOUNDS_H_

#include <string>

#include "rafter/cost.h"
#include "rafter/cpu.h"

namespace rafter::bench {

struct BoundResult {
  double bound_us = 0;  // no execution can be faster; 0 = unknown
  std::string
      binding;  // the roof that sets it: "compute", "L1", "L2", "L3", "DRAM"; empty = unknown
};

class Bounds {
 public:
  virtual ~Bounds() = default;
  // Measures the arithmetic peak anew (about a millisecond) and uses it in Bound from now on.
  // Called just before a case is timed, so that changes of the clock cancel in the efficiency.
  virtual void RefreshPeak(Isa isa, int threads) = 0;
  // `isa` is the set that the kernel uses; kNone for the reference.
  virtual BoundResult Bound(const ConvCost& cost, Isa isa, int threads) = 0;
};

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BOUNDS_H_
