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
  const auto bound = bounds.EndCase(Cost(1e9, 1), {}, EffectiveIsa(), 1, 1e9, bench::CacheMode::kHot);
  EXPECT_EQ(bound.binding, "compute");
  EXPECT_GT(bound.peak_gflops, 0.1);
  EXPECT_FALSE(bound.disturbed);
  ASSERT_EQ(bounds.series().size(), 1u);
  EXPECT_EQ(bounds.series()[0].gflops.size(), 1u);
}

TEST_F(RoofBoundsTest, ProbesFarBelowTheDaysPeakAreNotBelieved) {
  RoofBounds bounds(MachineWithPeak(1e9), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  const auto bound = bounds.EndCase(Cost(1e15, 1), {}, EffectiveIsa(), 1, 1e6, bench::CacheMode::kHot);
  EXPECT_EQ(bound.peak_gflops, 1e9);
  EXPECT_TRUE(bound.disturbed);
}

TEST_F(RoofBoundsTest, ABandwidthThatTheCaseBeatsIsMeasuredAgain) {
  RoofBounds bounds(MachineWithPeak(1), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  constexpr double kBytes = 1 << 16, kTimeUs = 1000;  // 0.07 GB/s
  const auto bound = bounds.EndCase(Cost(1, kBytes), {}, EffectiveIsa(), 1, kTimeUs, bench::CacheMode::kHot);
  EXPECT_NE(bound.binding, "compute");
  EXPECT_LT(bound.bound_us, kTimeUs);
  EXPECT_FALSE(bounds.bandwidths().empty());
}

TEST_F(RoofBoundsTest, AColdBandwidthThatTheCaseBeatsIsMeasuredAgain) {
  RoofBounds bounds(MachineWithPeak(1), EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  constexpr double kBytes = 1 << 16, kTimeUs = 1000;
  const auto bound = bounds.EndCase(Cost(1, kBytes), {}, EffectiveIsa(), 1, kTimeUs, bench::CacheMode::kCold);
  EXPECT_LT(bound.bound_us, kTimeUs);
  EXPECT_FALSE(bounds.bandwidths().empty());
}

TEST_F(RoofBoundsTest, TheShareOfTheCoreIsKnownWhereTheDayHasAPeakWithLoads) {
  for (const auto& [with_load, low, high] : {std::tuple{0.0, 1.0, 1.0}, {1e-3, 1.0, 1.0}, {1e9, 0.0, 0.5}}) {
    roofline::Machine machine = MachineWithPeak(0.001);
    machine.roofs.peaks[0].with_load_gflops = with_load;
    RoofBounds bounds(machine, EffectiveIsa());
    bounds.BeginCase(EffectiveIsa(), 1);
    const auto bound = bounds.EndCase(Cost(1e9, 1), {}, EffectiveIsa(), 1, 1e9, bench::CacheMode::kHot);
    EXPECT_GE(bound.core_share, low);
    EXPECT_LE(bound.core_share, high);
    EXPECT_GT(bound.core_share, 0);
  }
}

TEST_F(RoofBoundsTest, NoRoofsNoBound) {
  RoofBounds bounds(roofline::Machine{}, EffectiveIsa());
  bounds.BeginCase(EffectiveIsa(), 1);
  EXPECT_EQ(bounds.EndCase(Cost(1, 1), {}, EffectiveIsa(), 1, 1, bench::CacheMode::kHot).bound_us, 0);
}

}  // namespace
}  // namespace rafter::cli
