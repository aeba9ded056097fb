// tests/cli/roof_bounds_test.cc: which peak bounds a case, and bounds of this machine that no case beats.
#include "cli/roof_bounds.h"

#include <gtest/gtest.h>

#include <tuple>

#include "jit/executable_memory.h"
#include "roofline/peaks.h"

namespace rafter::cli {
namespace {

TEST(ChoosePeak, TakesTheProbeThatIsNearTheDaysPeak) {
  EXPECT_EQ(ChoosePeak(95, 100, 80).gflops, 95);
  EXPECT_FALSE(ChoosePeak(95, 100, 80).disturbed);
  EXPECT_EQ(ChoosePeak(103, 100, 80).gflops, 103);
}

TEST(ChoosePeak, DistrustsAProbeFarBelowTheDaysPeak) {
  EXPECT_EQ(ChoosePeak(50, 100, 40).gflops, 100);
  EXPECT_TRUE(ChoosePeak(50, 100, 40).disturbed);
  EXPECT_TRUE(ChoosePeak(0, 100, 40).disturbed);
}

TEST(ChoosePeak, DistrustsAProbeThatTheCaseBeats) {
  EXPECT_EQ(ChoosePeak(92, 100, 97).gflops, 100);
  EXPECT_TRUE(ChoosePeak(92, 100, 97).disturbed);
}

TEST(ChoosePeak, ACaseBeyondEveryPeakStaysVisible) {
  EXPECT_EQ(ChoosePeak(101, 100, 120).gflops, 101);
  EXPECT_FALSE(ChoosePeak(101, 100, 120).disturbed);
}

TEST(ChoosePeak, BelievesTheShareUnlessTheCaseBeatsIt) {
  EXPECT_EQ(ChoosePeak(0.6, 99, 100, 50).gflops, 60);
  EXPECT_FALSE(ChoosePeak(0.6, 99, 100, 50).disturbed);
  EXPECT_EQ(ChoosePeak(0.6, 99, 100, 70).gflops, 99);
  EXPECT_EQ(ChoosePeak(0, 99, 100, 50).gflops, 99) << "not probed";
}

TEST(ProbeAgain, UntilTheProbeIsCredible) {
  EXPECT_TRUE(ProbeAgain(50, 100, 40));
  EXPECT_TRUE(ProbeAgain(98, 100, 99));
  EXPECT_FALSE(ProbeAgain(98, 100, 97));
}

roofline::Machine MachineWithPeak(double gflops) {
  roofline::Machine machine;
  machine.roofs.peaks.push_back({EffectiveIsa(), 1, gflops, 0, 0});
  roofline::BandwidthCurve curve{EffectiveIsa(), 1, roofline::Mix::kLoad, false, {}};
  curve.points.push_back({1e4, 0.001, 0.001});  // far below what any machine reaches
  machine.roofs.curves.push_back(curve);
  return machine;
}

ConvCost Cost(double flops, double bytes) {
  ConvCost cost;
  cost.flops_valid = flops;
  cost.src_bytes = cost.bytes = bytes;
  return cost;
}

bench::TimeStats Took(double us, double roof_share = 0) {
  bench::TimeStats time;
  time.median = us;
  time.roof_share = roof_share;
  return time;
}

class RoofBoundsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (EffectiveIsa() == Isa::kNone || !jit::ExecutableMemoryAllowed()) {
      GTEST_SKIP() << "no code can be run";
    }
  }
};

TEST_F(RoofBoundsTest, ADaysPeakThatWasTooLowRises) {
  RoofBounds bounds(MachineWithPeak(0.001), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  const auto bound = bounds.EndCase(Cost(1e9, 1), {}, EffectiveIsa(), 1, Took(1e9), bench::CacheMode::kHot);
  EXPECT_EQ(bound.binding, "compute");
  EXPECT_GT(bound.peak_gflops, 0.1);
  EXPECT_FALSE(bound.disturbed);
  ASSERT_EQ(bounds.series().size(), 1u);
  EXPECT_EQ(bounds.series()[0].gflops.size(), 1u);
}

TEST_F(RoofBoundsTest, ProbesFarBelowTheDaysPeakAreNotBelieved) {
  RoofBounds bounds(MachineWithPeak(1e9), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  const auto bound = bounds.EndCase(Cost(1e15, 1), {}, EffectiveIsa(), 1, Took(1e6), bench::CacheMode::kHot);
  EXPECT_EQ(bound.peak_gflops, 1e9);
  EXPECT_TRUE(bound.disturbed);
}

TEST_F(RoofBoundsTest, ABandwidthThatTheCaseBeatsIsMeasuredAgain) {
  RoofBounds bounds(MachineWithPeak(1), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  constexpr double kBytes = 1 << 16, kTimeUs = 1000;  // 0.07 GB/s
  const auto bound = bounds.EndCase(Cost(1, kBytes), {}, EffectiveIsa(), 1, Took(kTimeUs), bench::CacheMode::kHot);
  EXPECT_NE(bound.binding, "compute");
  EXPECT_LT(bound.bound_us, kTimeUs);
  EXPECT_FALSE(bounds.bandwidths().empty());
}

TEST_F(RoofBoundsTest, AColdBandwidthThatTheCaseBeatsIsMeasuredAgain) {
  RoofBounds bounds(MachineWithPeak(1), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  constexpr double kBytes = 1 << 16, kTimeUs = 1000;
  const auto bound = bounds.EndCase(Cost(1, kBytes), {}, EffectiveIsa(), 1, Took(kTimeUs), bench::CacheMode::kCold);
  EXPECT_LT(bound.bound_us, kTimeUs);
  EXPECT_FALSE(bounds.bandwidths().empty());
}

TEST_F(RoofBoundsTest, TheShareOfTheCoreIsKnownWhereTheDayHasAPeakWithLoads) {
  for (const auto& [with_load, low, high] : {std::tuple{0.0, 1.0, 1.0}, {1e-3, 1.0, 1.0}, {1e9, 0.0, 0.5}}) {
    roofline::Machine machine = MachineWithPeak(0.001);
    machine.roofs.peaks[0].with_load_gflops = with_load;
    RoofBounds bounds(machine, EffectiveIsa());
    bounds.BeginCase(EffectiveIsa(), 1);
    const auto bound = bounds.EndCase(Cost(1e9, 1), {}, EffectiveIsa(), 1, Took(1e9), bench::CacheMode::kHot);
    EXPECT_GE(bound.core_share, low);
    EXPECT_LE(bound.core_share, high);
    EXPECT_GT(bound.core_share, 0);
  }
}

// The probes see this machine; only what the bound makes of a share is known.
TEST_F(RoofBoundsTest, TheBoundCountsOnTheShareThatWasProbed) {
  RoofBounds bounds(MachineWithPeak(1e9), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  const ConvCost cost = Cost(1e15, 1);  // 1000 us at the day's peak
  const bench::ShareProbe probe = bounds.ProbeFor(cost, {}, EffectiveIsa(), 1, bench::CacheMode::kHot);
  ASSERT_TRUE(probe);
  const bench::MachineShare share = probe();
  EXPECT_GT(share.roof, 0);
  EXPECT_LT(share.roof, 1e-3) << "no machine reaches a tenth of a percent of such a peak";
  const auto bound = bounds.EndCase(cost, {}, EffectiveIsa(), 1, Took(4e3, 0.5), bench::CacheMode::kHot);
  EXPECT_DOUBLE_EQ(bound.bound_us, 2e3);
  EXPECT_DOUBLE_EQ(bound.roof_share, 0.5);
  EXPECT_FALSE(bound.disturbed);
  bounds.BeginCase(EffectiveIsa(), 1);
  EXPECT_TRUE(bounds.ProbeFor(cost, {}, EffectiveIsa(), 1, bench::CacheMode::kHot));
  const auto beaten = bounds.EndCase(cost, {}, EffectiveIsa(), 1, Took(1.5e3, 0.5), bench::CacheMode::kHot);
  EXPECT_DOUBLE_EQ(beaten.bound_us, 1e3) << "faster than half of the peak allows: the day's peak";
  EXPECT_EQ(beaten.roof_share, 0);
}

TEST_F(RoofBoundsTest, TheLevelThatBindsIsProbed) {
  roofline::Machine machine = MachineWithPeak(1e9);
  machine.roofs.levels.push_back({EffectiveIsa(), 1, {}, {32e3, 512e3, 8e6}});
  RoofBounds bounds(machine, EffectiveIsa());
  for (const double bytes : {8e3, 200e3, 4e6}) {
    bounds.BeginCase(EffectiveIsa(), 1);
    const bench::PassBytes pass{bytes, 0, false};
    const bench::ShareProbe probe = bounds.ProbeForPass(pass, EffectiveIsa(), 1);
    ASSERT_TRUE(probe);
    for (int i = 0; i < 3; ++i) {
      EXPECT_GT(probe().roof, 0);
      EXPECT_LE(probe().roof, 1) << "of the best so far";
    }
    const double whole_us = bytes / 1e3 / 0.001;  // at the 0.001 GB/s of the curve
    const auto bound = bounds.EndPass(pass, EffectiveIsa(), 1, Took(10 * whole_us, 0.25));
    EXPECT_DOUBLE_EQ(bound.bound_us, 4 * whole_us);
    EXPECT_EQ(bound.roof_share, 0.25);
  }
}

TEST_F(RoofBoundsTest, NoRoofsNoBound) {
  RoofBounds bounds(roofline::Machine{}, EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  EXPECT_EQ(bounds.EndCase(Cost(1, 1), {}, EffectiveIsa(), 1, Took(1), bench::CacheMode::kHot).bound_us, 0);
}

}  // namespace
}  // namespace rafter::cli
