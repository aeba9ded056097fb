// bench/duel.h: compares pieces of work in one process, by alternation.
//
// Each round times one batch of every contender, in a random order (forwards, then backwards, which
// makes ABBA for two). Contender 0 is "ours"; ratios are formed within a round, so whatever slows
// the machine for longer than a round cancels. The result is the median of the log ratios with a
// bootstrap interval over rounds. In every tenth round contender 0 is timed twice: the ratio of the
// two batches must be 1 and its spread is the noise floor below which no difference is claimed.
#ifndef RAFTER_BENCH_DUEL_H_
#define RAFTER_BENCH_DUEL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "bench/sampler.h"
#include "bench/statistics.h"

namespace rafter::bench {

enum class Verdict { kFaster, kSlower, kSame, kAmbiguous };

// "FASTER", "SLOWER", "SAME", "AMBIGUOUS": of contender 0 against the other.
const char* VerdictName(Verdict verdict) noexcept;

// Speed-up of contender 0: time of the other / time of contender 0.
struct Comparison {
  double speedup = 1, ci_low = 1, ci_high = 1;
  int64_t pairs = 0;
  Verdict verdict = Verdict::kAmbiguous;
};

// From the logarithms of the pairs' ratios. `noise_floor` is a relative difference (0.002 = 0.2 %).
Comparison Compare(std::span<const double> log_ratios, double noise_floor, uint64_t seed = 1);

// SAME: the interval lies within ±max(1.5 %, floor), which is never taken wider than 2 %. FASTER, SLOWER: it lies
// beyond the floor on that side, and beyond 1.5 %.
Verdict Judge(double ci_low, double ci_high, double noise_floor) noexcept;

// The same beside other work, which may have slowed one side only: by up to what it took of the core and of the roof
// that binds (the shares of `ours`). The interval is widened by that much; without a share nothing can be said.
Verdict JudgeOnBusyMachine(double ci_low, double ci_high, double noise_floor, const TimeStats& ours) noexcept;

struct DuelOptions {
  SamplingOptions sampling;  // the budget is for all contenders together
  // One untimed call before each batch: the other contenders may have pushed the data out of the
  // caches.
  bool warm_call = true;
  uint64_t seed = 1;  // order of the rounds
  // One per contender or none: called before its batches, outside of the timed stretch. Then a batch is one call and
  // nothing is warmed.
  std::vector<Work> before;
  double least_noise_floor = 0;  // known from the run's calibration
};

struct DuelResult {
  std::vector<TimeStats> times;  // one per contender
  std::vector<Comparison>
      comparisons;         // [i]: contender 0 against contender i; [0] is 0 against itself
  double noise_floor = 0;  // relative, from contender 0 against itself
};

// At least one contender; with exactly one it is Measure plus the noise floor.
DuelResult RunDuel(Stopwatch& watch, std::span<const Work> contenders, const DuelOptions& options);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_DUEL_H_
