// bench/sampler.cc: calibration, batches and the stop rule.
#include "bench/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rafter::bench {
namespace {

constexpr int64_t kMaxInner = 1 << 20;

bool Stopped(const SamplingOptions& options) {
  return options.stop != nullptr && options.stop->load(std::memory_order_relaxed);
}

double ElapsedUs(Stopwatch& watch, const Work& work, int64_t calls) {
  const double start = watch.NowUs();
  for (int64_t i = 0; i < calls; ++i) work();
  return watch.NowUs() - start;
}

}  // namespace

int64_t CalibrateInner(Stopwatch& watch, const Work& work, double sample_us) {
  // The first call also warms up, and any call may be disturbed: the shortest of a few counts. Long
  // calls make a sample on their own.
  double call_us = ElapsedUs(watch, work, 1);
  constexpr int kTrials = 3;
  for (int i = 1; i < kTrials && call_us < sample_us * 20; ++i) {
    call_us = std::min(call_us, ElapsedUs(watch, work, 1));
  }
  // Grow until a batch lasts long enough to be measured, then scale; the minimum of two runs
  // rejects a disturbance of either.
  int64_t calls = 1;
  while (call_us * static_cast<double>(calls) < sample_us && calls < kMaxInner) {
    const double wanted = sample_us / std::max(call_us, 1e-3);
    // At least an eighth more, so that a clock too coarse for the work ends the search, too.
    calls = std::clamp<int64_t>(static_cast<int64_t>(std::ceil(wanted)), calls + calls / 8 + 1,
                                calls * 10);
    calls = std::min(calls, kMaxInner);
    const double first = ElapsedUs(watch, work, calls), second = ElapsedUs(watch, work, calls);
    call_us = std::min(first, second) / static_cast<double>(calls);
  }
  return calls;
}

Sample TimeBatch(Stopwatch& watch, const Work& work, int64_t inner) {
  const Evidence before = watch.ReadEvidence();
  Sample sample;
  sample.us = ElapsedUs(watch, work, inner) / static_cast<double>(inner);
  const Evidence after = watch.ReadEvidence();
  sample.disturbed = after.preemptions != before.preemptions || after.cpu != before.cpu ||
                     after.stolen_ticks != before.stolen_ticks;
  sample.stolen_ticks = after.stolen_ticks;
  sample.steal_readings = after.steal_readings;
  return sample;
}

void MarkStolen(std::span<Sample> samples) {
  if (samples.empty()) return;
  // Backwards: `next` is the value of the first reading after the one that the sample knew.
  int64_t reading = samples.back().steal_readings, value = samples.back().stolen_ticks;
  int64_t next = value;
  for (size_t i = samples.size(); i-- > 0;) {
    Sample& sample = samples[i];
    if (sample.steal_readings != reading) {
      next = value;
      reading = sample.steal_readings;
      value = sample.stolen_ticks;
    }
    if (next > sample.stolen_ticks) sample.disturbed = true;
  }
}

namespace {

// Median of time x share over median of time; 0 where a sample has no share.
double PairedShare(std::span<const Sample> samples, bool clean_only, double MachineShare::*share, double median) {
  std::vector<double> products;
  for (const Sample& sample : samples) {
    if (clean_only && sample.disturbed) continue;
    if (!(sample.share.*share > 0)) return 0;
    products.push_back(sample.us * (sample.share.*share));
  }
  return products.empty() || !(median > 0) ? 0 : Median(std::move(products)) / median;
}

}  // namespace

TimeStats SummarizeSamples(const std::vector<Sample>& samples, int64_t inner) {
  std::vector<double> clean;
  for (const Sample& sample : samples) {
    if (!sample.disturbed) clean.push_back(sample.us);
  }
  const size_t disturbed = samples.size() - clean.size();
  const bool clean_only = UseUndisturbedOnly(clean.size(), samples.size());
  if (!clean_only) {
    clean.clear();
    for (const Sample& sample : samples) clean.push_back(sample.us);
  }
  TimeStats stats = Summarize(std::move(clean));
  stats.discarded = clean_only ? static_cast<int64_t>(disturbed) : 0;
  stats.inner = inner;
  stats.roof_share = PairedShare(samples, clean_only, &MachineShare::roof, stats.median);
  stats.core_share = PairedShare(samples, clean_only, &MachineShare::core, stats.median);
  stats.noisy = disturbed * 2 > samples.size();
  return stats;
}

TimeStats Measure(Stopwatch& watch, const Work& work, const SamplingOptions& options) {
  const double start = watch.NowUs();
  const int64_t inner = options.before ? 1 : CalibrateInner(watch, work, options.sample_us);
  if (options.before) work();  // pages, code
  std::vector<Sample> samples;
  while (!Stopped(options) && samples.size() < static_cast<size_t>(options.max_samples)) {
    MachineShare share;
    if (options.share) {
      share = options.share();
      if (!options.before) work();
    }
    if (options.before) options.before();
    samples.push_back(TimeBatch(watch, work, inner));
    samples.back().share = share;
    const double elapsed = watch.NowUs() - start;
    if (elapsed >= options.budget_us && samples.size() >= LeastSamples(elapsed, options.budget_us)) break;
    // Looking at the statistics after every sample would cost more than the samples.
    if (samples.size() < static_cast<size_t>(options.min_samples) || samples.size() % 10 != 0)
      continue;
    MarkStolen(samples);
    const TimeStats stats = SummarizeSamples(samples, inner);
    const double half_width = (stats.ci_high - stats.ci_low) / 2;
    if (!stats.noisy && half_width <= options.relative_half_width * stats.median) break;
  }
  MarkStolen(samples);
  return SummarizeSamples(samples, inner);
}

}  // namespace rafter::bench
