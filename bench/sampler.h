// bench/sampler.h: times a piece of work in short batches until the median is known well enough.
//
// A sample is the mean time of `inner` calls in a row, at least about 50 us together: long against
// the clock's cost (about 25 ns), short against a scheduler tick. `inner` is calibrated once, then
// fixed. A sample is discarded only on outside evidence: the thread was preempted, moved to another
// CPU, or the hypervisor stole time. Sampling ends when the 95 % interval of the median is narrow,
// or with the budget.
#ifndef RAFTER_BENCH_SAMPLER_H_
#define RAFTER_BENCH_SAMPLER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/statistics.h"

namespace rafter::bench {

// What the system says about disturbances so far; two readings around a sample are compared.
struct Evidence {
  int64_t preemptions = 0;  // involuntary context switches
  int cpu = -1;
  // Time stolen by the hypervisor is read now and then only; `steal_readings` counts the readings.
  int64_t stolen_ticks = 0;
  int64_t steal_readings = 0;
};

// The clock, replaceable in tests.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual double NowUs() = 0;
  virtual Evidence ReadEvidence() = 0;
};

// CLOCK_MONOTONIC_RAW, getrusage (of the thread, or with threads > 1 of the process), sched_getcpu
// and the steal time of /proc/stat (read at most every 10 ms, its resolution).
std::unique_ptr<Stopwatch> MakeSystemStopwatch(int threads);

using Work = std::function<void()>;

// What the machine gives at a moment, of its best at any time: 1 = everything.
struct MachineShare {
  double roof = 0;  // of the roof that binds the work; 0 = not probed
  double core = 0;  // of FMAs that load an operand, at the same clock
};
// A probe of some tens of microseconds. May leave other data in the caches.
using ShareProbe = std::function<MachineShare()>;

struct SamplingOptions {
  double sample_us = 50;               // shortest batch
  double budget_us = 1e6;              // for everything: calibration, warming up, samples
  double relative_half_width = 0.005;  // of the median's 95 % interval: good enough
  int min_samples = 20;
  // Called before every sample, outside of the timed stretch (to flush caches): then a sample is one call.
  Work before;
  // Asked before each sample, outside of the timed stretch; unless `before` empties the caches, an untimed call fills
  // them again. Sample and probe share whatever noise lasts longer than both, so that it cancels in their product.
  ShareProbe share;
  int max_samples = 2000;
  const std::atomic<bool>* stop = nullptr;  // set from a signal handler: end now
};

struct Sample {
  double us = 0;  // per call
  bool disturbed = false;
  int64_t stolen_ticks = 0, steal_readings = 0;  // as known at its end
  MachineShare share;                            // just before it
};

// Calls `work` until it is warm, then finds how many calls make a batch of `sample_us`: at least 1.
int64_t CalibrateInner(Stopwatch& watch, const Work& work, double sample_us);

// Times one batch of `inner` calls.
Sample TimeBatch(Stopwatch& watch, const Work& work, int64_t inner);

// Marks the samples (in order of time) that were taken between two readings of the stolen time that
// differ.
void MarkStolen(std::span<Sample> samples);

// Undisturbed samples that are enough to go by, however many others there are.
inline constexpr size_t kEnoughUndisturbed = 10;

// Whether `clean` undisturbed values out of `all` are used alone: half of them, or enough.
constexpr bool UseUndisturbedOnly(size_t clean, size_t all) noexcept {
  return clean * 2 >= all || clean >= kEnoughUndisturbed;
}

// Statistics of the undisturbed samples, or of all where those are too few. Shares are those that take the median time
// to the median of time x share: paired, since time and share may have two modes each, between which medians jump.
TimeStats SummarizeSamples(const std::vector<Sample>& samples, int64_t inner);

// Samples that are taken however soon the budget is exhausted: three, or one where that alone took twice the budget.
constexpr size_t LeastSamples(double elapsed_us, double budget_us) noexcept {
  return elapsed_us > 2 * budget_us ? 1 : 3;
}

// The whole procedure. With the budget exhausted LeastSamples() are there, unless stopped.
TimeStats Measure(Stopwatch& watch, const Work& work, const SamplingOptions& options);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_SAMPLER_H_
