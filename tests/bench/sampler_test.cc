// Tests of bench/sampler with a clock that only the work moves, and one look at the real clock.
#include "bench/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "tests/bench/fake_stopwatch.h"

namespace rafter::bench {
namespace {

TEST(Sampler, CalibratesTheBatchOnce) {
  for (double call_us : {0.02, 0.7, 3.0, 49.0, 51.0, 1000.0}) {
    FakeStopwatch watch;
    const int64_t inner = CalibrateInner(
        watch, [&] { watch.now_us += call_us; }, 50);
    EXPECT_GE(static_cast<double>(inner) * call_us, 50 * 0.999) << call_us;
    EXPECT_LE(static_cast<double>(inner) * call_us, 50 * 1.3 + call_us) << call_us;
  }
  FakeStopwatch frozen;  // work too short for the clock
  EXPECT_GE(CalibrateInner(
                frozen, [] {}, 50),
            1000);
}

TEST(Sampler, SlowFirstCallsDoNotSpoilTheCalibration) {
  FakeStopwatch watch;
  int calls = 0;
  const int64_t inner = CalibrateInner(
      watch, [&] { watch.now_us += calls++ < 2 ? 400 : 1; }, 50);
  EXPECT_GE(inner, 50);
}

TEST(Sampler, StopsWhenTheMedianIsKnown) {
  FakeStopwatch watch;
  SamplingOptions options;
  const TimeStats stats = Measure(
      watch, [&] { watch.now_us += 10; }, options);
  EXPECT_EQ(stats.samples, options.min_samples);
  EXPECT_DOUBLE_EQ(stats.median, 10);
  EXPECT_EQ(stats.inner, 5);
  EXPECT_EQ(stats.discarded, 0);
  EXPECT_FALSE(stats.noisy);
}

// Noise of two modes: each takes half of the time, a sample and the probe before it share it. Medians of both would
// jump between the modes; the paired share does not.
TEST(Sampler, SharesArePairedWithSamples) {
  FakeStopwatch watch;
  std::mt19937 random(1);
  double slow = 1;
  SamplingOptions options;
  options.min_samples = options.max_samples = 401;
  int warm = 0;
  options.share = [&] {
    slow = random() % 2 == 0 ? 1 : 2;
    warm = 1;
    return MachineShare{0.9 / slow, 1 / slow};
  };
  int cold_calls = 0;
  const TimeStats stats = Measure(
      watch,
      [&] {
        watch.now_us += 60 * slow;
        if (warm > 0) ++cold_calls, warm = 0;
      },
      options);
  EXPECT_NEAR(stats.median * stats.roof_share, 60 * 0.9, 1e-9);
  EXPECT_NEAR(stats.median * stats.core_share, 60, 1e-9);
  EXPECT_EQ(cold_calls, 401) << "an untimed call follows each probe";
  options.share = {};
  EXPECT_EQ(Measure(watch, [&] { watch.now_us += 60; }, options).roof_share, 0);
}

TEST(Sampler, StopsWithTheBudget) {
  FakeStopwatch watch;
  SamplingOptions options;
  options.budget_us = 10e3;
  std::mt19937 random(1);
  const TimeStats stats = Measure(
      watch, [&] { watch.now_us += 50 + static_cast<double>(random() % 50); }, options);
  EXPECT_LT(watch.now_us, 11e3);
  EXPECT_GT(stats.samples, 50);
  watch.now_us = 0;
  const TimeStats slow = Measure(
      watch, [&] { watch.now_us += 1e6; }, options);
  EXPECT_EQ(slow.samples, 1) << "one call takes more than the budget: no more of them";
  options.budget_us = 1.5e6;
  EXPECT_EQ(Measure(watch, [&] { watch.now_us += 0.6e6; }, options).samples, 3);
}

TEST(Sampler, DiscardsOnOutsideEvidenceOnly) {
  FakeStopwatch watch;
  SamplingOptions options;
  options.sample_us = 10;
  int call = 0;
  const auto work = [&] {
    ++call;
    watch.now_us += 10;
    if (call % 10 == 4) watch.now_us += 90;  // a slow call without evidence stays
    if (call % 10 == 7) {
      watch.now_us += 90;
      ++watch.evidence.preemptions;
    }
    if (call % 10 == 9) watch.evidence.cpu ^= 1;
  };
  options.min_samples = options.max_samples = 100;
  const TimeStats stats = Measure(watch, work, options);
  EXPECT_EQ(stats.discarded, 20);
  EXPECT_EQ(stats.samples, 80);
  EXPECT_DOUBLE_EQ(stats.median, 10);
}

TEST(Sampler, KeepsEverythingWhenAlmostAllIsDisturbed) {
  FakeStopwatch watch;
  SamplingOptions options;
  options.max_samples = 50;
  int call = 0, undisturbed_every = 8;
  const auto work = [&] {
    watch.now_us += 60;
    if (++call % undisturbed_every != 0) {
      watch.now_us += 60;
      ++watch.evidence.preemptions;
    }
  };
  const TimeStats few = Measure(watch, work, options);
  EXPECT_TRUE(few.noisy);
  EXPECT_EQ(few.samples, 50);
  EXPECT_EQ(few.discarded, 0);
  undisturbed_every = 4;  // a dozen undisturbed ones are enough
  const TimeStats enough = Measure(watch, work, options);
  EXPECT_TRUE(enough.noisy);
  EXPECT_LT(enough.samples, 15);
  EXPECT_EQ(enough.samples + enough.discarded, 50);
  EXPECT_DOUBLE_EQ(enough.median, 60);
}

TEST(Sampler, StolenTimeMarksWhatLiesBetweenItsReadings) {
  std::vector<Sample> samples(6);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].steal_readings = static_cast<int64_t>(i / 2);  // 0 0 1 1 2 2
    samples[i].stolen_ticks = i / 2 >= 2 ? 8 : 7;             // it rose between readings 1 and 2
  }
  MarkStolen(samples);
  std::vector<bool> disturbed;
  for (const Sample& sample : samples) disturbed.push_back(sample.disturbed);
  EXPECT_EQ(disturbed, (std::vector<bool>{false, false, true, true, false, false}));
}

TEST(Sampler, StopFlagEndsIt) {
  FakeStopwatch watch;
  std::atomic<bool> stop{true};
  SamplingOptions options;
  options.stop = &stop;
  EXPECT_EQ(Measure(
                watch, [&] { watch.now_us += 60; }, options)
                .samples,
            0);
}

TEST(Sampler, WhatComesBeforeASampleIsNotTimed) {
  FakeStopwatch watch;
  SamplingOptions options;
  options.budget_us = 1e5;
  options.before = [&] { watch.now_us += 300; };
  const TimeStats stats = Measure(watch, [&] { watch.now_us += 2; }, options);
  EXPECT_DOUBLE_EQ(stats.median, 2);
  EXPECT_EQ(stats.inner, 1);
}

TEST(Sampler, SystemStopwatchRuns) {
  const std::unique_ptr<Stopwatch> watch = MakeSystemStopwatch(1);
  const double before = watch->NowUs();
  const Evidence evidence = watch->ReadEvidence();
  EXPECT_GE(evidence.cpu, 0);
  EXPECT_GE(evidence.steal_readings, 1);
  EXPECT_GE(watch->NowUs(), before);
  double sum = 0;
  SamplingOptions options;
  options.budget_us = 20e3;
  const TimeStats stats = Measure(
      *watch,
      [&] {
        for (int i = 0; i < 1000; ++i) sum += static_cast<double>(i) * 0.5;
        asm volatile("" : "+m"(sum));
      },
      options);
  EXPECT_GT(stats.median, 0);
  EXPECT_GE(stats.samples, 3);
}

}  // namespace
}  // namespace rafter::bench
