// roofline/clock_probe.h: the core's clock without hardware counters: chains of dependent
// instructions of known latency. For explanations (FLOP per cycle); bounds and efficiencies use
// times only.
#ifndef RAFTER_ROOFLINE_CLOCK_PROBE_H_
#define RAFTER_ROOFLINE_CLOCK_PROBE_H_

#include "rafter/status.h"

namespace rafter::roofline {

struct ClockEstimate {
  double ghz = 0;       // 0: unknown, the two chains disagree by more than 2 %
  double imul_ghz = 0;  // by imul r,r (3 cycles)
  double add_ghz = 0;   // by add r,r (1 cycle; never add r,imm: recent cores fold those)
};

// Of the calling thread, about 3 ms per repetition count of 30. kUnsupported without executable
// memory.
Result<ClockEstimate> MeasureClock(int repetitions = 30);

// The mean of both when they agree within 2 %, else unknown.
ClockEstimate CombineClocks(double imul_ghz, double add_ghz) noexcept;

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_CLOCK_PROBE_H_
