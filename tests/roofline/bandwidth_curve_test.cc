// Tests of roofline/bandwidth_curve.h with made-up points: exact values.
#include "roofline/bandwidth_curve.h"

#include <gtest/gtest.h>

namespace rafter::roofline {
namespace {

BandwidthCurve Curve(std::vector<BandwidthPoint> points) {
  return {Isa::kAvx2, 1, Mix::kLoad, false, std::move(points)};
}

TEST(Mix, NamesAreReadBack) {
  for (const Mix mix : kAllMixes) EXPECT_EQ(ParseMix(MixName(mix)), mix);
  EXPECT_EQ(ParseMix("both"), std::nullopt);
}

TEST(Mix, StoreSharesCountExplicitBytes) {
  EXPECT_EQ(StoreShare(Mix::kLoad), 0);
  EXPECT_DOUBLE_EQ(StoreShare(Mix::kTwoToOne), 1.0 / 3);
  EXPECT_EQ(StoreShare(Mix::kCopy), 0.5);
  EXPECT_EQ(StoreShare(Mix::kInPlace), 0.5);
  EXPECT_EQ(StoreShare(Mix::kStore), 1);
}

TEST(Interpolate, GivesThePointsThemselves) {
  const BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}, {16000, 10, 0}});
  EXPECT_DOUBLE_EQ(Interpolate(curve, 1000), 100);
  EXPECT_DOUBLE_EQ(Interpolate(curve, 4000), 25);
  EXPECT_DOUBLE_EQ(Interpolate(curve, 16000), 10);
}

TEST(Interpolate, IsStraightInLogarithms) {
  const BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}});
  // Half of the way from 1000 to 4000 is 2000; half of the way from 100 to 25 is 50.
  EXPECT_NEAR(Interpolate(curve, 2000), 50, 1e-9);
}

TEST(Interpolate, IsConstantBeyondTheEnds) {
  const BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}});
  EXPECT_EQ(Interpolate(curve, 0), 100);
  EXPECT_EQ(Interpolate(curve, 1), 100);
  EXPECT_EQ(Interpolate(curve, 1e12), 25);
}

TEST(Interpolate, OfNothingIsZero) { EXPECT_EQ(Interpolate(Curve({}), 1000), 0); }

TEST(Interpolate, OfOnePointIsThatPoint) {
  EXPECT_EQ(Interpolate(Curve({{1000, 7, 0}}), 10), 7);
  EXPECT_EQ(Interpolate(Curve({{1000, 7, 0}}), 1e6), 7);
}

TEST(WindowMaximum, TakesAPointInsideTheWindow) {
  const BandwidthCurve curve = Curve({{1000, 10, 0}, {1400, 50, 0}, {1960, 20, 0}});
  // 1300: window 1040 … 1625 holds the peak at 1400.
  EXPECT_DOUBLE_EQ(WindowMaximum(curve, 1300), 50);
}

TEST(WindowMaximum, TakesTheLowerEndOnAFallingCurve) {
  const BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}});
  EXPECT_NEAR(WindowMaximum(curve, 2000), Interpolate(curve, 1600), 1e-12);
  EXPECT_NEAR(Interpolate(curve, 1600), 62.5, 1e-9);  // here bandwidth is 100000 / footprint
}

TEST(WindowMaximum, TakesTheUpperEndOnARisingCurve) {
  const BandwidthCurve curve = Curve({{1000, 10, 0}, {4000, 40, 0}});
  EXPECT_NEAR(WindowMaximum(curve, 2000), 25, 1e-9);
}

TEST(WindowMaximum, EndsOfTheWindowAreInside) {
  const BandwidthCurve curve = Curve({{800, 30, 0}, {1000, 10, 0}, {1250, 20, 0}});
  EXPECT_EQ(WindowMaximum(curve, 1000), 30);
}

TEST(RaiseCurve, PassesThroughAHigherPoint) {
  BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}});
  RaiseCurve(curve, {2000, 60, 0});
  EXPECT_EQ(curve.points.size(), 3u);
  EXPECT_EQ(Interpolate(curve, 2000), 60);
  RaiseCurve(curve, {4000, 30, 0});  // in the place of the old one
  EXPECT_EQ(curve.points.size(), 3u);
  EXPECT_EQ(Interpolate(curve, 4000), 30);
  RaiseCurve(curve, {9000, 40, 0});
  EXPECT_EQ(Interpolate(curve, 1e6), 40);
}

TEST(RaiseCurve, NeverLowers) {
  const BandwidthCurve before = Curve({{1000, 100, 0}, {4000, 25, 0}});
  BandwidthCurve curve = before;
  RaiseCurve(curve, {2000, 40, 0});
  RaiseCurve(curve, {500, 90, 0});
  EXPECT_EQ(curve.points.size(), before.points.size());
}

TEST(WindowMaximum, IsConstantFarBeyondTheEnds) {
  const BandwidthCurve curve = Curve({{1000, 100, 0}, {4000, 25, 0}});
  EXPECT_EQ(WindowMaximum(curve, 10), 100);
  EXPECT_EQ(WindowMaximum(curve, 1e9), 25);
}

}  // namespace
}  // namespace rafter::roofline
