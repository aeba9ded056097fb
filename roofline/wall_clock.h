// roofline/wall_clock.h: the clock of all probes and benchmarks. Not the time stamp counter: that
// runs at its own frequency and needs calibration; clock_gettime costs 20 to 30 ns where the clock
// source is tsc.
#ifndef RAFTER_ROOFLINE_WALL_CLOCK_H_
#define RAFTER_ROOFLINE_WALL_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace rafter::roofline {

// Nanoseconds since an arbitrary start, never slewed by the system's clock discipline.
inline int64_t NowNs() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// What one NowNs costs: the smallest difference per call over several batches.
double TimerCostNs() noexcept;

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_WALL_CLOCK_H_
