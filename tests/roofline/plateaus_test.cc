// Tests of roofline/plateaus.h with made-up curves.
#include "roofline/plateaus.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

const LevelCapacities kReported{32 * kKiB, 512 * kKiB, 32 * kMiB};

BandwidthCurve FlatLevels(double l1, double l2, double l3, double dram) {
  return LeveledCurve(Isa::kAvx2, 1, Mix::kLoad, l1, l2, l3, dram);
}

// A repeatable disturbance of at most `share`.
void Disturb(BandwidthCurve& curve, double share) {
  for (size_t i = 0; i < curve.points.size(); ++i) {
    curve.points[i].gb_per_s *= 1 + share * std::sin(static_cast<double>(i) * 12.9898);
  }
}

TEST(FindPlateaus, FindsFourLevels) {
  const std::vector<Plateau> plateaus = FindPlateaus(FlatLevels(240, 120, 60, 20));
  ASSERT_EQ(plateaus.size(), 4u);
  EXPECT_DOUBLE_EQ(plateaus[0].gb_per_s, 240);
  EXPECT_DOUBLE_EQ(plateaus[1].gb_per_s, 120);
  EXPECT_DOUBLE_EQ(plateaus[2].gb_per_s, 60);
  EXPECT_DOUBLE_EQ(plateaus[3].gb_per_s, 20);
  EXPECT_LE(plateaus[0].last_bytes, 32 * kKiB);
  EXPECT_GT(plateaus[1].first_bytes, 32 * kKiB);
}

TEST(FindPlateaus, BearsNoise) {
  BandwidthCurve curve = FlatLevels(240, 120, 80, 20);
  Disturb(curve, 0.04);
  EXPECT_EQ(FindPlateaus(curve).size(), 4u);
}

TEST(FindPlateaus, LeavesOutPointsOnASlope) {
  BandwidthCurve curve = FlatLevels(240, 120, 60, 20);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    // Each level begins with a point half-way down.
    if (curve.points[i].gb_per_s < 0.7 * curve.points[i - 1].gb_per_s && i % 2 == 0) {
      curve.points[i].gb_per_s *= 1.5;
    }
  }
  EXPECT_EQ(FindPlateaus(curve).size(), 4u);
}

TEST(FindPlateaus, JoinsLevelsOfTheSameSpeed) {
  EXPECT_EQ(FindPlateaus(FlatLevels(240, 60, 58, 20)).size(), 3u);
}

TEST(FindPlateaus, OfAFlatCurveIsOne) {
  EXPECT_EQ(FindPlateaus(FlatLevels(20, 20, 20, 20)).size(), 1u);
}

TEST(FindPlateaus, IgnoresALowStart) {
  BandwidthCurve curve = FlatLevels(240, 120, 60, 20);
  curve.points.front().gb_per_s = 150;  // loop overhead of the smallest footprint
  const std::vector<Plateau> plateaus = FindPlateaus(curve);
  ASSERT_EQ(plateaus.size(), 4u);
  EXPECT_DOUBLE_EQ(plateaus[0].gb_per_s, 240);
}

TEST(FindPlateaus, OfNothingIsNothing) { EXPECT_TRUE(FindPlateaus(BandwidthCurve{}).empty()); }

TEST(FindPlateaus, OfOnePointIsOne) {
  EXPECT_EQ(FindPlateaus({Isa::kAvx2, 1, Mix::kLoad, false, {{8192, 100, 100}}}).size(), 1u);
}

void ExpectNear(double measured, double size) {
  EXPECT_GT(measured, size / 1.4);
  EXPECT_LT(measured, size * 1.4);
}

TEST(MeasuredCapacities, AreBetweenThePlateaus) {
  const LevelCapacities found = MeasuredCapacities(FlatLevels(240, 120, 60, 20), kReported);
  ExpectNear(found.l1_bytes, 32 * kKiB);
  ExpectNear(found.l2_bytes, 512 * kKiB);
  ExpectNear(found.l3_bytes, 32 * kMiB);
}

TEST(MeasuredCapacities, NeedNoReportedSizes) {
  const LevelCapacities found = MeasuredCapacities(FlatLevels(240, 120, 60, 20), {});
  ExpectNear(found.l1_bytes, 32 * kKiB);
  ExpectNear(found.l2_bytes, 512 * kKiB);
  ExpectNear(found.l3_bytes, 32 * kMiB);
}

TEST(MeasuredCapacities, FindTheShareOfAGuest) {
  const LevelCapacities host{32 * kKiB, 512 * kKiB, 384 * kMiB};
  ExpectNear(MeasuredCapacities(FlatLevels(240, 120, 60, 20), host).l3_bytes, 32 * kMiB);
}

TEST(MeasuredCapacities, SkipALevelWithoutAnEdge) {
  const LevelCapacities found = MeasuredCapacities(FlatLevels(240, 60, 60, 20), kReported);
  ExpectNear(found.l1_bytes, 32 * kKiB);
  EXPECT_EQ(found.l2_bytes, 0);
  ExpectNear(found.l3_bytes, 32 * kMiB);
}

TEST(MeasuredCapacities, OfAFlatCurveAreUnknown) {
  const LevelCapacities found = MeasuredCapacities(FlatLevels(20, 20, 20, 20), kReported);
  EXPECT_EQ(found.l1_bytes + found.l2_bytes + found.l3_bytes, 0);
}

TEST(CrossCheck, TakesTheSmallerOfTwoKnownSizes) {
  const LevelCapacities checked = CrossCheck({100, 200, 0}, {80, 0, 300});
  EXPECT_EQ(checked.l1_bytes, 80);
  EXPECT_EQ(checked.l2_bytes, 200);
  EXPECT_EQ(checked.l3_bytes, 300);
}

TEST(LevelOf, EndsAreInside) {
  EXPECT_EQ(LevelOf(kReported, 0), Level::kL1);
  EXPECT_EQ(LevelOf(kReported, 32 * kKiB), Level::kL1);
  EXPECT_EQ(LevelOf(kReported, 32 * kKiB + 1), Level::kL2);
  EXPECT_EQ(LevelOf(kReported, kMiB), Level::kL3);
  EXPECT_EQ(LevelOf(kReported, 33 * kMiB), Level::kDram);
}

TEST(LevelOf, SkipsLevelsThatDoNotExist) {
  EXPECT_EQ(LevelOf({32 * kKiB, 512 * kKiB, 0}, kMiB), Level::kDram);
  EXPECT_EQ(LevelOf({}, 1), Level::kDram);
}

TEST(LevelName, NamesEach) {
  EXPECT_STREQ(LevelName(Level::kL1), "L1");
  EXPECT_STREQ(LevelName(Level::kL2), "L2");
  EXPECT_STREQ(LevelName(Level::kL3), "L3");
  EXPECT_STREQ(LevelName(Level::kDram), "DRAM");
}

}  // namespace
}  // namespace rafter::roofline
