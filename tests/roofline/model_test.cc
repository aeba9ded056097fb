// Tests of roofline/model.h on roofs with round numbers: exact values.
#include "roofline/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

Bound MustBound(const Machine& machine, const Work& work, double peak_now = 0) {
  const Result<Bound> bound = BoundOf(machine, Isa::kAvx2, 1, work, peak_now);
  EXPECT_TRUE(bound.ok()) << bound.status().message();
  return bound.ok() ? *bound : Bound{};
}

TEST(WorkOf, StoresTheDestinationAndLoadsTheRest) {
  ConvCost cost;
  cost.flops_valid = 1000;
  cost.flops_nominal = 1500;
  cost.flops_extra = 70;
  cost.src_bytes = 10;
  cost.weights_bytes = 20;
  cost.residual_bytes = 40;
  cost.dst_bytes = 80;
  cost.bytes = 150;
  const Work work = WorkOf(cost);
  EXPECT_EQ(work.flops, 1000);
  EXPECT_EQ(work.load_bytes, 70);
  EXPECT_EQ(work.store_bytes, 80);
  EXPECT_FALSE(work.in_place);
}

TEST(BoundOf, ManyFlopsBindOnCompute) {
  const Bound bound = MustBound(MadeUpMachine(), {1e6, 50 * kKiB, 50 * kKiB});
  EXPECT_DOUBLE_EQ(bound.compute_us, 10);  // 1e6 FLOP at 100 GFLOP/s
  EXPECT_DOUBLE_EQ(bound.gb_per_s, 80);    // a copy in L2
  EXPECT_DOUBLE_EQ(bound.memory_us, 100 * kKiB / 80000);
  EXPECT_DOUBLE_EQ(bound.bound_us, 10);
  EXPECT_EQ(bound.binding, Binding::kCompute);
  EXPECT_EQ(bound.level, Level::kL2);
  EXPECT_DOUBLE_EQ(bound.bytes, 100 * kKiB);
  EXPECT_DOUBLE_EQ(bound.intensity, 1e6 / (100 * kKiB));
  EXPECT_DOUBLE_EQ(bound.ridge, 100.0 / 80);
}

TEST(BoundOf, FewFlopsBindOnTheLevelOfTheirBytes) {
  const Machine machine = MadeUpMachine();
  const struct {
    double bytes, gb_per_s;
    Binding binding;
  } cases[] = {{16 * kKiB, 160, Binding::kL1},
               {128 * kKiB, 80, Binding::kL2},
               {4 * kMiB, 40, Binding::kL3},
               {128 * kMiB, 16, Binding::kDram}};
  for (const auto& c : cases) {
    const Bound bound = MustBound(machine, {1, c.bytes / 2, c.bytes / 2});
    EXPECT_EQ(bound.binding, c.binding) << c.bytes;
    EXPECT_DOUBLE_EQ(bound.bound_us, c.bytes / (c.gb_per_s * 1000));
  }
}

TEST(BoundOf, IsTheSameOnBothSidesOfTheRidge) {
  const Machine machine = MadeUpMachine();
  const double bytes = 100 * kKiB;
  const Bound bound = MustBound(machine, {bytes * 100 / 80, bytes / 2, bytes / 2});
  EXPECT_NEAR(bound.compute_us, bound.memory_us, 1e-12);
  EXPECT_NEAR(bound.intensity, bound.ridge, 1e-12);
}

TEST(BoundOf, WorkWithoutFlopsIsBoundByBytes) {
  const Bound bound = MustBound(MadeUpMachine(), {0, 64 * kMiB, 64 * kMiB});
  EXPECT_EQ(bound.compute_us, 0);
  EXPECT_EQ(bound.binding, Binding::kDram);
}

TEST(BoundOf, WorkWithoutBytesIsBoundByFlops) {
  const Bound bound = MustBound(MadeUpMachine(), {1e5, 0, 0});
  EXPECT_DOUBLE_EQ(bound.bound_us, 1);
  EXPECT_EQ(bound.memory_us, 0);
  EXPECT_EQ(bound.intensity, 0);
}

TEST(BoundOf, NoWorkTakesNoTime) { EXPECT_EQ(MustBound(MadeUpMachine(), {}).bound_us, 0); }

TEST(BoundOf, ThePeakOfTheMomentReplacesTheStoredOne) {
  const Bound bound = MustBound(MadeUpMachine(), {1e6, 1, 1}, 50);
  EXPECT_DOUBLE_EQ(bound.compute_us, 20);
  EXPECT_EQ(bound.peak_gflops, 50);
}

TEST(BoundOf, NeverContainsForkJoin) {
  Machine machine = MadeUpMachine();
  const double before = MustBound(machine, {1e4, 1000, 1000}).bound_us;
  machine.roofs.fork_joins = {{"openmp", 1, 1000, 1000}};
  EXPECT_EQ(MustBound(machine, {1e4, 1000, 1000}).bound_us, before);
}

TEST(BoundOf, InPlaceWorkHasItsOwnCurveAndHalfTheFootprint) {
  const Bound bound = MustBound(MadeUpMachine(), {0, 400 * kKiB, 400 * kKiB, true});
  EXPECT_DOUBLE_EQ(bound.gb_per_s, 100);  // 400 KiB are in L2
  EXPECT_EQ(bound.level, Level::kL2);
  EXPECT_DOUBLE_EQ(bound.memory_us, 800 * kKiB / 100000);
}

TEST(BoundOf, NamesTheRoofsThatExist) {
  const Result<Bound> bound = BoundOf(MadeUpMachine(), Isa::kAvx2, 4, Work{1, 1, 1});
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(bound.status().message(), "roofs: none for avx2, 4 threads; known: avx2, 1 thread");
}

TEST(BoundOf, RefusesImpossibleWork) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Work& work : {Work{-1, 1, 1}, Work{1, nan, 1}, Work{1, 1, HUGE_VAL}}) {
    EXPECT_FALSE(BoundOf(MadeUpMachine(), Isa::kAvx2, 1, work).ok());
  }
}

double Mixed(double share, double bytes = 100 * kKiB) {
  return MixBandwidth(MadeUpMachine().roofs, Isa::kAvx2, 1, share, bytes);
}

TEST(MixBandwidth, GivesTheMeasuredMixes) {
  EXPECT_DOUBLE_EQ(Mixed(0), 120);
  EXPECT_DOUBLE_EQ(Mixed(1.0 / 3), 90);
  EXPECT_DOUBLE_EQ(Mixed(0.5), 80);
  EXPECT_DOUBLE_EQ(Mixed(1), 60);
}

TEST(MixBandwidth, InterpolatesTimeBetweenTheNearestMixes) {
  EXPECT_NEAR(Mixed(0.75), 1 / ((1.0 / 80 + 1.0 / 60) / 2), 1e-9);
  EXPECT_NEAR(Mixed(1.0 / 6), 1 / ((1.0 / 120 + 1.0 / 90) / 2), 1e-9);
  EXPECT_NEAR(Mixed(5.0 / 12), 1 / ((1.0 / 90 + 1.0 / 80) / 2), 1e-9);
}

TEST(MixBandwidth, WorksWithWhatWasMeasured) {
  Roofs roofs;
  roofs.curves = {LeveledCurve(Isa::kAvx2, 1, Mix::kCopy, 160, 80, 40, 16)};
  EXPECT_EQ(MixBandwidth(roofs, Isa::kAvx2, 1, 0, 16 * kKiB), 160);
  EXPECT_EQ(MixBandwidth(roofs, Isa::kAvx2, 1, 1, 16 * kKiB), 160);
  EXPECT_EQ(MixBandwidth(roofs, Isa::kAvx2, 2, 0.5, 16 * kKiB), 0);
  EXPECT_EQ(MixBandwidth(roofs, Isa::kAvx512, 1, 0.5, 16 * kKiB), 0);
}

TEST(MixBandwidth, NonTemporalStoresRaiseTheRoofOnlyWhereTheyWereMeasured) {
  Roofs roofs = MadeUpMachine().roofs;
  roofs.curves.push_back(
      {Isa::kAvx2, 1, Mix::kCopy, true, {{16 * kMiB, 41, 41}, {256 * kMiB, 25, 25}}});
  EXPECT_DOUBLE_EQ(MixBandwidth(roofs, Isa::kAvx2, 1, 0.5, 400 * kMiB), 25);
  EXPECT_DOUBLE_EQ(MixBandwidth(roofs, Isa::kAvx2, 1, 0.5, 4 * kMiB), 40);
  EXPECT_DOUBLE_EQ(MixBandwidth(roofs, Isa::kAvx2, 1, 0.5, 14 * kMiB), 41);
}

TEST(LevelBandwidth, IsTheBestOfTheLevel) {
  const Roofs roofs = MadeUpMachine().roofs;
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kL1, Mix::kLoad), 240);
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kL2, Mix::kLoad), 120);
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kL3, Mix::kLoad), 60);
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kDram, Mix::kLoad), 20);
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 8, Level::kDram, Mix::kLoad), 0);
}

TEST(LevelBandwidth, OfDramLeavesOutWhatTheCacheStillServes) {
  Roofs roofs = MadeUpMachine().roofs;
  for (BandwidthPoint& point : roofs.curves[0].points) {
    if (point.footprint_bytes > 32 * kMiB && point.footprint_bytes < 60 * kMiB) point.gb_per_s = 40;
  }
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kDram, Mix::kLoad), 20);
}

TEST(LevelBandwidth, OfACacheLeavesOutWhatTheOneBeforeStillServes) {
  Roofs roofs = MadeUpMachine().roofs;
  for (BandwidthPoint& point : roofs.curves[0].points) {
    if (point.footprint_bytes > 512 * kKiB && point.footprint_bytes < 1024 * kKiB) point.gb_per_s = 100;
  }
  EXPECT_EQ(LevelBandwidth(roofs, Isa::kAvx2, 1, Level::kL3, Mix::kLoad), 60);
}

TEST(RidgePoint, IsPeakOverBandwidth) {
  const Roofs roofs = MadeUpMachine().roofs;
  EXPECT_DOUBLE_EQ(RidgePoint(roofs, Isa::kAvx2, 1, Level::kDram), 100.0 / 16);
  EXPECT_DOUBLE_EQ(RidgePoint(roofs, Isa::kAvx2, 1, Level::kDram, Mix::kLoad), 5);
  EXPECT_EQ(RidgePoint(roofs, Isa::kAvx2, 3, Level::kDram), 0);
}

TEST(Efficiency, IsBoundOverTime) {
  EXPECT_DOUBLE_EQ(Efficiency(9, 10), 0.9);
  EXPECT_DOUBLE_EQ(Efficiency(11, 10), 1.1);  // never clipped
  EXPECT_EQ(Efficiency(1, 0), 0);
}

TEST(OverRoof, BeginsBeyondThreePercent) {
  EXPECT_FALSE(OverRoof(1.02, 1));
  EXPECT_TRUE(OverRoof(1.04, 1));
  EXPECT_FALSE(OverRoof(1, 0));
}

TEST(BindingName, NamesEach) {
  EXPECT_STREQ(BindingName(Binding::kCompute), "compute");
  EXPECT_STREQ(BindingName(Binding::kL1), "L1");
  EXPECT_STREQ(BindingName(Binding::kDram), "DRAM");
}

TEST(ColdBoundOf, TakesColdBytesFromMemory) {
  const Machine machine = MadeUpMachine();
  ConvCost cost;
  cost.flops_valid = 1;
  cost.src_bytes = 4e3;
  cost.weights_bytes = 8e3;
  cost.dst_bytes = 4e3;
  cost.bytes = 16e3;
  const Bound hot = BoundOf(machine, Isa::kAvx2, 1, WorkOf(cost)).value();
  const Bound weights = ColdBoundOf(machine, Isa::kAvx2, 1, cost, true).value();
  const Bound cold = ColdBoundOf(machine, Isa::kAvx2, 1, cost, false).value();
  EXPECT_LT(hot.bound_us, weights.bound_us);
  EXPECT_LT(weights.bound_us, cold.bound_us);
  EXPECT_EQ(cold.binding, Binding::kDram);
  const double memory = MixBandwidth(machine.roofs, Isa::kAvx2, 1, 0, 1e12);
  EXPECT_GE(weights.memory_us, cost.weights_bytes / memory * 1e-3);
  // Where arithmetic binds, cold caches change nothing.
  cost.flops_valid = 1e12;
  EXPECT_EQ(ColdBoundOf(machine, Isa::kAvx2, 1, cost, false).value().binding, Binding::kCompute);
  EXPECT_FALSE(ColdBoundOf({}, Isa::kAvx2, 1, cost, false).ok());
}

// Of an algorithm with packed weights of its own size.
TEST(ColdBoundOf, TakesTheAlgorithmsOwnWeights) {
  const Machine machine = MadeUpMachine();
  ConvCost cost;
  cost.flops_valid = 1;
  cost.src_bytes = cost.dst_bytes = 4e3;
  cost.weights_bytes = 8e3;
  cost.bytes = 16e3;
  AlgorithmWork work{true, 1, 4e3 + 32e3, 4e3, 0, 0};
  const Bound direct = ColdBoundOf(machine, Isa::kAvx2, 1, cost, true).value();
  const Bound own = ColdBoundOf(machine, Isa::kAvx2, 1, cost, work, true).value();
  const double memory = MixBandwidth(machine.roofs, Isa::kAvx2, 1, 0, 1e12);
  EXPECT_NEAR(own.memory_us - direct.memory_us, 24e3 / memory * 1e-3, 1e-9);
  EXPECT_EQ(own.binding, Binding::kDram);
  EXPECT_LT(BoundOf(machine, Isa::kAvx2, 1, work).value().memory_us, own.memory_us);
}

}  // namespace
}  // namespace rafter::roofline
