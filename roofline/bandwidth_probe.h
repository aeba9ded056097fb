// roofline/bandwidth_probe.h: measures bandwidth over the footprint (bandwidth_curve.h) with JIT'ed
// loops of full-width loads and stores. Each thread works on its own contiguous part, touched first
// by itself.
#ifndef RAFTER_ROOFLINE_BANDWIDTH_PROBE_H_
#define RAFTER_ROOFLINE_BANDWIDTH_PROBE_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/threads.h"
#include "roofline/bandwidth_curve.h"

namespace rafter::roofline {

struct SweepOptions {
  Isa isa = Isa::kAvx2;
  int threads = 1;
  ParallelFor* pool = nullptr;     // null: OpenMpThreads(); not used for one thread
  std::vector<double> footprints;  // see SweepFootprints
  double point_us = 12'000;        // time spent per point; at least 3 batches of at least one pass
  double non_temporal_from_bytes =
      0;  // footprints from here on also get non-temporal variants; 0 = none
  std::function<void(double done)> progress;  // fraction of the sweep that is done; may be empty
  std::function<void()> poll;                 // between batches; quick, may be empty, may throw to end the sweep
};

// Rising footprints in steps of 1.4x (quick: 2x) from 8 KiB (more with many threads: 4 KiB each) to
// max(4 * l3_bytes, 256 MiB) (quick: max(2 * l3_bytes, 64 MiB)), but never beyond
// `memory_limit_bytes`.
std::vector<double> SweepFootprints(double l3_bytes, int threads, double memory_limit_bytes,
                                    bool quick);

// One curve per mix, then those with non-temporal stores (2:1, copy, store).
// kUnsupported: no such ISA or no executable memory; kOutOfMemory; kInvalidArgument: no footprints,
// or more threads than the pool has.
Result<std::vector<BandwidthCurve>> MeasureBandwidth(const SweepOptions& options);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_BANDWIDTH_PROBE_H_
