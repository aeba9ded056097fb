// roofline/fork_join_probe.h: what waking and joining a team of threads costs: an empty parallel
// run. Part of the expected time of a kernel, never of its bound.
#ifndef RAFTER_ROOFLINE_FORK_JOIN_PROBE_H_
#define RAFTER_ROOFLINE_FORK_JOIN_PROBE_H_

#include <string>

#include "rafter/threads.h"

namespace rafter::roofline {

struct ForkJoinCost {
  std::string backend;  // "openmp", "workers"
  int threads = 0;
  double min_us = 0, median_us = 0;
};

// Runs `threads` empty tasks up to 500 times, at most about `budget_us`.
ForkJoinCost MeasureForkJoin(ParallelFor& pool, const std::string& backend, int threads,
                             double budget_us = 20'000);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_FORK_JOIN_PROBE_H_
