// roofline/roof_plausibility.h: roofs that cannot be true. On a machine that others use, a probe finds less than there
// is, and a day's bounds would rest on it. Nothing is measured here; machine.h measures again what this refuses.
#ifndef RAFTER_ROOFLINE_ROOF_PLAUSIBILITY_H_
#define RAFTER_ROOFLINE_ROOF_PLAUSIBILITY_H_

#include <string>

#include "rafter/cpu.h"
#include "roofline/peaks.h"

namespace rafter::roofline {

// Why the roofs of this set and thread count cannot be true, e.g. "avx2, 2 threads: FMA peak 5.3 GFLOP/s, of one
// thread 97.7"; empty for plausible ones and where there are none. Refused are: figures that are 0 or not finite; a
// mix whose L1 has less than half of L3's bandwidth; and, of several threads, an FMA peak or bandwidth of L1 below
// 0.9 of one thread's. `one_thread_gflops`: the peak of one thread where `roofs` have none; 0 = unknown.
std::string Implausibility(const Roofs& roofs, Isa isa, int threads, double one_thread_gflops = 0);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_ROOF_PLAUSIBILITY_H_
