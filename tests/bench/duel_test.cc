// Tests of bench/duel with fake work: known ratios, drift, spikes, and work against itself.
#include "bench/duel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/bench/fake_stopwatch.h"

namespace rafter::bench {
namespace {

// Work of a mean length with noise, one spike in ten, and a clock that drifts by half during the
// run.
class FakeWork {
 public:
  FakeWork(FakeStopwatch& watch, std::mt19937_64& random, double mean_us, double noise = 0.01)
      : watch_(watch), random_(random), mean_us_(mean_us), noise_(noise) {}
  void operator()() {
    const double drift = 1 + 0.5 * std::sin(watch_.now_us * 1e-5);
    const double spike = random_() % 10 == 0 ? 10 : 1;
    watch_.now_us += mean_us_ * drift * spike * (1 + noise_ * normal_(random_));
  }

 private:
  FakeStopwatch& watch_;
  std::mt19937_64& random_;
  double mean_us_, noise_;
  std::normal_distribution<double> normal_;
};

DuelResult Fight(double ours_us, std::vector<double> others_us, uint64_t seed,
                 double noise = 0.01) {
  FakeStopwatch watch;
  std::mt19937_64 random(seed);
  std::vector<Work> contenders = {FakeWork(watch, random, ours_us, noise)};
  for (double other : others_us) contenders.push_back(FakeWork(watch, random, other, noise));
  DuelOptions options;
  options.seed = seed;
  options.sampling.budget_us = 2e5;
  options.sampling.relative_half_width = 0.002;
  return RunDuel(watch, contenders, options);
}

TEST(Duel, WorkAgainstItselfIsTheSame) {
  int same = 0;
  constexpr int kTrials = 60;
  for (uint64_t seed = 1; seed <= kTrials; ++seed) {
    const DuelResult result = Fight(100, {100}, seed);
    same += result.comparisons[1].verdict == Verdict::kSame;
    EXPECT_NE(result.comparisons[1].verdict, Verdict::kFaster);
    EXPECT_NE(result.comparisons[1].verdict, Verdict::kSlower);
    EXPECT_NEAR(result.comparisons[1].speedup, 1, 0.01);
  }
  EXPECT_GE(same, kTrials * 95 / 100);
}

TEST(Duel, FindsTheRatioInSpiteOfDriftAndSpikes) {
  const DuelResult result = Fight(100, {105, 95, 300}, 4);
  EXPECT_NEAR(result.comparisons[1].speedup, 1.05, 0.01);
  EXPECT_EQ(result.comparisons[1].verdict, Verdict::kFaster);
  EXPECT_NEAR(result.comparisons[2].speedup, 0.95, 0.01);
  EXPECT_EQ(result.comparisons[2].verdict, Verdict::kSlower);
  EXPECT_NEAR(result.comparisons[3].speedup, 3.0, 0.03);
  ASSERT_EQ(result.times.size(), 4u);
  EXPECT_GT(result.times[0].samples, 20);
  for (const Comparison& comparison : result.comparisons) {
    EXPECT_LE(comparison.ci_low, comparison.speedup);
    EXPECT_GE(comparison.ci_high, comparison.speedup);
  }
}

TEST(Duel, ShortWorkIsBatched) {
  const DuelResult result = Fight(0.5, {1.0}, 2);
  EXPECT_GE(result.times[0].inner,
            5);  // the drift and the spikes make single calls up to 15 times longer
  EXPECT_NEAR(result.comparisons[1].speedup, 2.0, 0.1);
}

TEST(Duel, OneContenderIsTimed) {
  const DuelResult result = Fight(100, {}, 3);
  ASSERT_EQ(result.times.size(), 1u);
  EXPECT_GT(result.times[0].median, 0);
}

TEST(Duel, DisturbedPairsAreLeftOut) {
  FakeStopwatch watch;
  int call = 0;
  const auto ours = [&] {
    watch.now_us += 60;
    if (++call % 5 == 0) {
      watch.now_us += 600;
      ++watch.evidence.preemptions;
    }
  };
  const auto other = [&] { watch.now_us += 60; };
  const std::vector<Work> contenders = {ours, other};
  DuelOptions options;
  options.sampling.min_samples = options.sampling.max_samples = 100;
  const DuelResult result = RunDuel(watch, contenders, options);
  EXPECT_DOUBLE_EQ(result.comparisons[1].speedup, 1);
  EXPECT_EQ(result.comparisons[1].verdict, Verdict::kSame);
  EXPECT_LT(result.comparisons[1].pairs, 100);
  EXPECT_GT(result.times[0].discarded, 0);
}

TEST(Duel, BudgetAndStopEndIt) {
  FakeStopwatch watch;
  const std::vector<Work> contenders = {[&] { watch.now_us += 1e6; }, [&] { watch.now_us += 2e6; }};
  DuelOptions options;
  DuelResult result = RunDuel(watch, contenders, options);
  EXPECT_EQ(result.times[0].samples, 3);
  EXPECT_EQ(result.comparisons[1].verdict, Verdict::kAmbiguous);  // three pairs prove nothing
  EXPECT_NEAR(result.comparisons[1].speedup, 2, 1e-9);
  std::atomic<bool> stop{true};
  options.sampling.stop = &stop;
  result = RunDuel(watch, contenders, options);
  EXPECT_EQ(result.times[0].samples, 0);
}

TEST(Duel, WhatComesBeforeABatchIsNotTimed) {
  FakeStopwatch watch;
  int flushes = 0, calls = 0;
  const std::vector<Work> contenders = {[&] { watch.now_us += 10, ++calls; }, [&] { watch.now_us += 20; }};
  DuelOptions options;
  options.sampling.budget_us = 1e5;
  options.before = {[&] { watch.now_us += 500, ++flushes; }, [&] { watch.now_us += 500; }};
  options.least_noise_floor = 0.015;
  const DuelResult result = RunDuel(watch, contenders, options);
  EXPECT_DOUBLE_EQ(result.times[0].median, 10);
  EXPECT_EQ(result.times[0].inner, 1) << "one call per sample, however short";
  EXPECT_EQ(calls, flushes + 1) << "nothing is warmed but the first call";
  EXPECT_DOUBLE_EQ(result.comparisons[1].speedup, 2);
  EXPECT_GE(result.noise_floor, 0.015);
}

TEST(Duel, Verdicts) {
  EXPECT_EQ(Judge(0.995, 1.005, 0), Verdict::kSame);
  EXPECT_EQ(Judge(1.002, 1.008, 0), Verdict::kSame);
  EXPECT_EQ(Judge(1.016, 1.02, 0), Verdict::kFaster);
  EXPECT_EQ(Judge(1.016, 1.03, 0.02), Verdict::kAmbiguous);  // below the noise floor on one side
  EXPECT_EQ(Judge(1.011, 1.02, 0), Verdict::kAmbiguous);     // weights at another place do that
  EXPECT_EQ(Judge(0.97, 0.985, 0), Verdict::kSlower);
  EXPECT_EQ(Judge(0.98, 0.99, 0), Verdict::kAmbiguous);
  EXPECT_EQ(Judge(0.97, 1.03, 0), Verdict::kAmbiguous);
  EXPECT_EQ(Judge(0.985, 1.015, 0.016), Verdict::kSame);  // the floor widens the band
  EXPECT_EQ(Judge(0.97, 1.03, 0.05), Verdict::kAmbiguous);  // but never beyond 2 %
  EXPECT_EQ(Judge(1.5, 1.6, 0.05), Verdict::kFaster);
  EXPECT_STREQ(VerdictName(Verdict::kAmbiguous), "AMBIGUOUS");
  EXPECT_EQ(Compare({}, 0).verdict, Verdict::kAmbiguous);
}

}  // namespace
}  // namespace rafter::bench
