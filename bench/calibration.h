// bench/calibration.h: the method against itself: a few cases of a run are compared with themselves (A against A)
// before the others are compared with another library. What differs from 1 is the error of the method on this machine
// at this time, and no smaller difference is claimed.
#ifndef RAFTER_BENCH_CALIBRATION_H_
#define RAFTER_BENCH_CALIBRATION_H_

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "bench/case_runner.h"
#include "bench/suite.h"

namespace rafter::bench {

struct Calibration {
  int cases = 0;                                     // that could be timed
  int same = 0, ambiguous = 0;                       // verdicts; the rest is wrong
  double median_deviation = 0, worst_deviation = 0;  // |speed-up - 1|
  // Below which the run claims nothing: the worst deviation, at most 10 %.
  double noise_floor() const noexcept;
};

// Compares up to `most` cases, spread over the list, with themselves; `budget_us` for all. `options` as for the run.
Calibration Calibrate(std::span<const SuiteCase> cases, const CaseOptions& options, int most, double budget_us);

nlohmann::ordered_json ToJson(const Calibration& calibration);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CALIBRATION_H_
