// Tests of roofline/roof_plausibility.h on made-up roofs.
#include "roofline/roof_plausibility.h"

#include <gtest/gtest.h>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

// One thread as made up, two with these figures.
Roofs TwoThreads(double gflops, double l1, double l3) {
  Roofs roofs = MadeUpMachine().roofs;
  roofs.peaks.push_back({Isa::kAvx2, 2, gflops, gflops, gflops});
  roofs.curves.push_back(LeveledCurve(Isa::kAvx2, 2, Mix::kCopy, l1, 2 * l3, l3, 10));
  LevelEnds ends = roofs.levels[0];
  ends.threads = 2;
  roofs.levels.push_back(ends);
  return roofs;
}

TEST(Implausibility, IsEmptyForWhatMachinesDo) {
  EXPECT_EQ(Implausibility(MadeUpMachine().roofs, Isa::kAvx2, 1), "");
  EXPECT_EQ(Implausibility(TwoThreads(190, 320, 80), Isa::kAvx2, 2), "");
  EXPECT_EQ(Implausibility(TwoThreads(95, 150, 40), Isa::kAvx2, 2), "");  // siblings of one core
  EXPECT_EQ(Implausibility({}, Isa::kAvx2, 2), "");
}

TEST(Implausibility, NamesAPeakBelowThatOfOneThread) {
  EXPECT_EQ(Implausibility(TwoThreads(5.3, 320, 80), Isa::kAvx2, 2),
            "avx2, 2 threads: FMA peak 5.3 GFLOP/s, of one thread 100.0");
  Roofs alone = TwoThreads(5.3, 320, 80);
  std::erase_if(alone.peaks, [](const FmaPeak& peak) { return peak.threads == 1; });
  EXPECT_EQ(Implausibility(alone, Isa::kAvx2, 2), "");
  EXPECT_NE(Implausibility(alone, Isa::kAvx2, 2, 97.7), "");
}

TEST(Implausibility, NamesACacheThatIsTooSlow) {
  EXPECT_EQ(Implausibility(TwoThreads(190, 30, 80), Isa::kAvx2, 2),
            "avx2, 2 threads: copy bandwidth of L1 30.0 GB/s, of L3 80.0");
  EXPECT_EQ(Implausibility(TwoThreads(190, 100, 80), Isa::kAvx2, 2),
            "avx2, 2 threads: copy bandwidth of L1 100.0 GB/s, of one thread 160.0");
}

TEST(Implausibility, NamesZeros) {
  Roofs roofs = MadeUpMachine().roofs;
  roofs.curves[3].points[0].gb_per_s = 0;
  EXPECT_NE(Implausibility(roofs, Isa::kAvx2, 1).find("bandwidth of 0"), std::string::npos);
  roofs.peaks[0].gflops = 0;
  EXPECT_EQ(Implausibility(roofs, Isa::kAvx2, 1), "avx2, 1 thread: FMA peak of 0");
}

}  // namespace
}  // namespace rafter::roofline
