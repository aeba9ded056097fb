// Tests of roofline/peaks.h: one quick measurement with a small sweep, look-ups and merging.
#include "roofline/peaks.h"

#include <gtest/gtest.h>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

TEST(MeasureRoofs, MeasuresEverythingOnce) {
  if (DetectedIsa() == Isa::kNone) GTEST_SKIP() << "no vector set";
  RoofOptions options;
  options.isas = {DetectedIsa()};
  options.quick = true;
  options.memory_limit_bytes = 64 * kMiB;
  options.reported = {32 * kKiB, 512 * kKiB, 16 * kMiB};
  double last_done = 0;
  options.progress = [&](const std::string& what, double done) {
    EXPECT_FALSE(what.empty());
    EXPECT_GE(done, last_done);
    last_done = done;
  };
  const Result<Roofs> roofs = MeasureRoofs(options);
  ASSERT_TRUE(roofs.ok()) << roofs.status().message();
  EXPECT_NEAR(last_done, 1, 1e-9);
  EXPECT_TRUE(roofs->quick);
  const FmaPeak* peak = FindPeak(*roofs, DetectedIsa(), 1);
  ASSERT_NE(peak, nullptr);
  EXPECT_GT(peak->gflops, 0.1);
  EXPECT_GT(peak->with_load_gflops, 0.1);
  EXPECT_GT(peak->with_add_gflops, 0.1);
  EXPECT_GE(roofs->chains.size(), 6u);
  for (const Mix mix : kAllMixes) EXPECT_NE(FindCurve(*roofs, DetectedIsa(), 1, mix), nullptr);
  EXPECT_NE(FindCurve(*roofs, DetectedIsa(), 1, Mix::kStore, true), nullptr);
  EXPECT_NE(FindLevels(*roofs, DetectedIsa(), 1), nullptr);
  // L1 is several times faster than memory everywhere; noise alone does not turn that round.
  const BandwidthCurve* load = FindCurve(*roofs, DetectedIsa(), 1, Mix::kLoad);
  EXPECT_GT(WindowMaximum(*load, 16 * kKiB), WindowMaximum(*load, 64 * kMiB));
}

TEST(MeasureRoofs, RefusesImpossibleThreadCounts) {
  if (DetectedIsa() == Isa::kNone) GTEST_SKIP() << "no vector set";
  for (const int threads : {0, -1, 100'000}) {
    RoofOptions options;
    options.threads = {threads};
    EXPECT_EQ(MeasureRoofs(options).status().code(), StatusCode::kInvalidArgument) << threads;
  }
}

TEST(FindPeak, NeedsTheExactPair) {
  const Roofs roofs = MadeUpMachine().roofs;
  EXPECT_NE(FindPeak(roofs, Isa::kAvx2, 1), nullptr);
  EXPECT_EQ(FindPeak(roofs, Isa::kAvx2, 2), nullptr);
  EXPECT_EQ(FindPeak(roofs, Isa::kAvx512, 1), nullptr);
  EXPECT_EQ(FindCurve(roofs, Isa::kAvx2, 1, Mix::kCopy, true), nullptr);
}

TEST(FindPeak, DataSheetEntriesFitEveryQuestion) {
  Roofs roofs;
  roofs.peaks = {{Isa::kNone, 0, 7, 0, 0}};
  ASSERT_NE(FindPeak(roofs, Isa::kAvx512, 16), nullptr);
  EXPECT_EQ(FindPeak(roofs, Isa::kAvx512, 16)->gflops, 7);
}

TEST(MergeRoofs, NewEntriesReplaceOldOnesOfTheSamePair) {
  Roofs old = MadeUpMachine().roofs, fresh;
  fresh.peaks = {{Isa::kAvx2, 1, 111, 0, 0}, {Isa::kAvx2, 2, 222, 0, 0}};
  fresh.curves = {LeveledCurve(Isa::kAvx2, 2, Mix::kLoad, 1, 1, 1, 1)};
  fresh.clock = {3, 3, 3};
  fresh.fork_joins = {{"openmp", 2, 5, 6}};
  MergeRoofs(fresh, old);
  ASSERT_EQ(old.peaks.size(), 2u);
  EXPECT_EQ(FindPeak(old, Isa::kAvx2, 1)->gflops, 111);
  EXPECT_EQ(FindPeak(old, Isa::kAvx2, 2)->gflops, 222);
  EXPECT_EQ(old.curves.size(), 6u);
  EXPECT_EQ(old.chains.size(), 2u);
  EXPECT_EQ(old.clock.ghz, 3);
  ASSERT_EQ(old.fork_joins.size(), 2u);
  EXPECT_EQ(old.fork_joins.back().median_us, 6);
}

}  // namespace
}  // namespace rafter::roofline
