// Tests of bench/duel with fake work: known ratios, drift, spikes, and work against itself.
#include "bench/duel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

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

// A neighbour on the core that comes and goes: everything takes 1.4 times as long while it is there. Stretches last
// `mean_regime_us` on average, each length as likely as in a queue.
class NoisyMachine {
 public:
  NoisyMachine(FakeStopwatch& watch, double mean_regime_us, uint64_t seed)
      : watch_(watch), random_(seed), mean_us_(mean_regime_us), until_us_(Length()) {}

  void Spend(double us) {
    us *= 1 + 0.01 * jitter_(random_);
    while (us > 0) {
      if (watch_.now_us >= until_us_) slow_ = !slow_, until_us_ = watch_.now_us + Length();
      const double factor = slow_ ? 1.4 : 1;
      const double part = std::min(us, (until_us_ - watch_.now_us) / factor);
      watch_.now_us += part * factor + 1e-6;
      us -= part;
    }
  }

 private:
  double Length() { return std::exponential_distribution<double>(1 / mean_us_)(random_); }

  FakeStopwatch& watch_;
  std::mt19937_64 random_;
  std::normal_distribution<double> jitter_;
  double mean_us_;
  bool slow_ = false;
  double until_us_;
};

Comparison FightInNoise(double call_us, double ratio, double regime_us, uint64_t seed) {
  FakeStopwatch watch;
  NoisyMachine machine(watch, regime_us, seed);
  const std::vector<Work> contenders = {[&] { machine.Spend(call_us); }, [&] { machine.Spend(call_us * ratio); }};
  DuelOptions options;
  options.seed = seed;
  options.sampling.budget_us = std::max(1.5e6, 6000 * call_us);
  return RunDuel(watch, contenders, options).comparisons[1];
}

TEST(Duel, VerdictsAreRightWhileRegimesSwitch) {
  constexpr uint64_t kSeeds = 12;
  for (const double call_us : {40.0, 1000.0}) {
    for (const double regime_us : {1e3, 1e4, 1e5}) {
      const std::string where = "calls of " + std::to_string(call_us) + ", regimes of " + std::to_string(regime_us);
      uint64_t same = 0, faster = 0, slower = 0;
      for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
        const Verdict even = FightInNoise(call_us, 1, regime_us, seed).verdict;
        const Verdict more = FightInNoise(call_us, 1.05, regime_us, seed).verdict;
        const Verdict less = FightInNoise(call_us, 1 / 1.05, regime_us, seed).verdict;
        same += even == Verdict::kSame, faster += more == Verdict::kFaster, slower += less == Verdict::kSlower;
        // Never wrong, at worst undecided.
        EXPECT_TRUE(even == Verdict::kSame || even == Verdict::kAmbiguous) << where;
        EXPECT_TRUE(more == Verdict::kFaster || more == Verdict::kAmbiguous) << where;
        EXPECT_TRUE(less == Verdict::kSlower || less == Verdict::kAmbiguous) << where;
      }
      if (regime_us <= call_us) continue;  // each call is a sum of both regimes: no pair is quiet
      EXPECT_GE(same, kSeeds - 2) << where;
      EXPECT_GE(faster, kSeeds - 2) << where;
      EXPECT_GE(slower, kSeeds - 2) << where;
    }
  }
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
  EXPECT_EQ(result.times[0].samples, 1) << "one round takes more than the budget";
  EXPECT_EQ(result.comparisons[1].verdict, Verdict::kAmbiguous);  // one pair proves nothing
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
  EXPECT_EQ(Judge(1.002, 1.014, 0), Verdict::kSame);
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

// The same spread that many pairs prove is no proof from a few.
TEST(Duel, FewPairsMustBeClearer) {
  std::vector<double> few, many;
  for (int i = 0; i < 24; ++i) few.push_back(-0.0195 + 0.003 * (i % 2 == 0 ? 1 : -1));
  for (int i = 0; i < 4; ++i) many.insert(many.end(), few.begin(), few.end());
  EXPECT_EQ(Compare(many, 0).verdict, Verdict::kSlower);
  EXPECT_EQ(Compare(few, 0).verdict, Verdict::kAmbiguous);
  for (double& one : few) one -= 0.03;
  EXPECT_EQ(Compare(few, 0).verdict, Verdict::kSlower) << "5 % are seen";
}

// Beside other work one side may have been slowed by what that took, and no more.
TEST(Duel, AllowsForWhatOthersTook) {
  TimeStats ours;
  EXPECT_EQ(JudgeOnBusyMachine(2, 2.1, 0, ours), Verdict::kAmbiguous) << "nothing was probed";
  ours.core_share = 0.8;
  EXPECT_EQ(JudgeOnBusyMachine(2, 2.1, 0, ours), Verdict::kFaster);
  EXPECT_EQ(JudgeOnBusyMachine(1.26, 1.3, 0, ours), Verdict::kAmbiguous);
  EXPECT_EQ(JudgeOnBusyMachine(0.5, 0.55, 0, ours), Verdict::kSlower);
  EXPECT_EQ(JudgeOnBusyMachine(0.999, 1.001, 0, ours), Verdict::kAmbiguous) << "one may be slower by a fifth";
  ours.core_share = 1.02;
  EXPECT_EQ(JudgeOnBusyMachine(0.999, 1.001, 0, ours), Verdict::kSame) << "another core is busy";
  ours.roof_share = 0.5;
  EXPECT_EQ(JudgeOnBusyMachine(1.9, 2, 0, ours), Verdict::kAmbiguous);
}

}  // namespace
}  // namespace rafter::bench
