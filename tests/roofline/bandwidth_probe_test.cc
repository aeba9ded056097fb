// Tests of roofline/bandwidth_probe.h: short sweeps, compared with wide margins.
#include "roofline/bandwidth_probe.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/roofline/made_up_machine.h"
#include "tests/support/for_each_isa.h"

namespace rafter::roofline {
namespace {

using testing::ForEachIsa;

TEST(SweepFootprints, GoFromL1ToFourTimesL3) {
  const std::vector<double> footprints = SweepFootprints(128 * kMiB, 1, 1e12, false);
  EXPECT_EQ(footprints.front(), 8 * kKiB);
  EXPECT_EQ(footprints.back(), 512 * kMiB);
  for (size_t i = 1; i < footprints.size(); ++i) {
    const double step = footprints[i] / footprints[i - 1];
    EXPECT_GT(step, 1.18);  // the last one ends where it must
    EXPECT_LT(step, 1.66);
  }
}

TEST(SweepFootprints, EndAt256MiBAtLeastAndAtTheLimit) {
  EXPECT_EQ(SweepFootprints(8 * kMiB, 1, 1e12, false).back(), 256 * kMiB);
  EXPECT_EQ(SweepFootprints(8 * kMiB, 1, 100 * kMiB, false).back(), 100 * kMiB);
  EXPECT_EQ(SweepFootprints(8 * kMiB, 1, 1e12, true).back(), 64 * kMiB);
  EXPECT_EQ(SweepFootprints(0, 1, 0, false), std::vector<double>{8 * kKiB});
}

TEST(SweepFootprints, GiveEachThreadSomething) {
  EXPECT_EQ(SweepFootprints(32 * kMiB, 64, 1e12, false).front(), 256 * kKiB);
}

SweepOptions ShortSweep(Isa isa) {
  SweepOptions options;
  options.isa = isa;
  options.footprints = {8 * kKiB, 64 * kKiB, 8 * kMiB};
  options.point_us = 500;
  return options;
}

TEST(MeasureBandwidth, GivesEveryMixAndTheNonTemporalOnes) {
  ForEachIsa([](Isa isa) {
    SweepOptions options = ShortSweep(isa);
    options.non_temporal_from_bytes = 4 * kMiB;
    double last_done = 0;
    options.progress = [&](double done) {
      EXPECT_GT(done, last_done);
      last_done = done;
    };
    const Result<std::vector<BandwidthCurve>> curves = MeasureBandwidth(options);
    ASSERT_TRUE(curves.ok()) << curves.status().message();
    EXPECT_NEAR(last_done, 1, 1e-9);
    ASSERT_EQ(curves->size(), 8u);
    for (const BandwidthCurve& curve : *curves) {
      EXPECT_EQ(curve.isa, isa);
      EXPECT_EQ(curve.threads, 1);
      ASSERT_EQ(curve.points.size(), curve.non_temporal ? 1u : 3u);
      for (const BandwidthPoint& point : curve.points) {
        EXPECT_GT(point.gb_per_s, 0.01);
        EXPECT_GE(point.gb_per_s, point.median_gb_per_s);
      }
      // Whole blocks in each array: near what was asked.
      EXPECT_NEAR(curve.points.back().footprint_bytes, 8 * kMiB, 2 * kKiB);
    }
  });
}

TEST(MeasureBandwidth, TeamsShareTheFootprint) {
  ForEachIsa([](Isa isa) {
    const Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::Create({.threads = 2});
    ASSERT_TRUE(pool.ok());
    SweepOptions options = ShortSweep(isa);
    options.threads = 2;
    options.pool = pool->get();
    const Result<std::vector<BandwidthCurve>> curves = MeasureBandwidth(options);
    ASSERT_TRUE(curves.ok()) << curves.status().message();
    ASSERT_EQ(curves->size(), 5u);
    for (const BandwidthCurve& curve : *curves) {
      EXPECT_EQ(curve.threads, 2);
      EXPECT_NEAR(curve.points.front().footprint_bytes, 8 * kKiB, 3 * kKiB);
      EXPECT_NEAR(curve.points.back().footprint_bytes, 8 * kMiB, 4 * kKiB);
    }
  });
}

TEST(MeasureBandwidth, RefusesWhatCannotBe) {
  ForEachIsa([](Isa isa) {
    SweepOptions options = ShortSweep(isa);
    options.threads = 0;
    EXPECT_EQ(MeasureBandwidth(options).status().code(), StatusCode::kInvalidArgument);
    options.threads = 100'000;
    EXPECT_EQ(MeasureBandwidth(options).status().code(), StatusCode::kInvalidArgument);
    options = ShortSweep(isa);
    options.footprints.clear();
    EXPECT_EQ(MeasureBandwidth(options).status().code(), StatusCode::kInvalidArgument);
  });
  EXPECT_EQ(MeasureBandwidth(ShortSweep(Isa::kNone)).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace rafter::roofline
