// Tests of roofline/level_probe.h: batches of every mix, small footprints and slices of large ones, alone and in teams.
#include "roofline/level_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "jit/executable_memory.h"
#include "rafter/threads.h"
#include "roofline/wall_clock.h"

namespace rafter::roofline {
namespace {

TEST(LevelProbe, MeasuresEveryMixAndFootprint) {
  if (EffectiveIsa() == Isa::kNone || !jit::ExecutableMemoryAllowed()) GTEST_SKIP() << "no code can be run";
  for (const int threads : {1, 2}) {
    if (threads > OpenMpThreads()->concurrency()) continue;
    for (const Mix mix : kAllMixes) {
      for (const double footprint : {1.0, 16e3, 256e3, 8e6}) {
        Result<LevelProbe> probe = LevelProbe::Create(EffectiveIsa(), *OpenMpThreads(), threads, mix, footprint);
        ASSERT_TRUE(probe.ok()) << probe.status().message();
        EXPECT_LE(std::abs(probe->footprint_bytes() - footprint), 3 * 512.0 * threads) << MixName(mix);
        for (int i = 0; i < 20; ++i) {  // slices go round
          EXPECT_GT(probe->Measure(), 0);  // little where a team waits for a busy core
          EXPECT_LT(probe->Measure(), 1e5);
        }
      }
    }
  }
}

TEST(LevelProbe, ABatchIsShort) {
  if (EffectiveIsa() == Isa::kNone || !jit::ExecutableMemoryAllowed()) GTEST_SKIP() << "no code can be run";
  for (const double footprint : {16e3, 2e6, 32e6}) {
    Result<LevelProbe> probe = LevelProbe::Create(EffectiveIsa(), *OpenMpThreads(), 1, Mix::kLoad, footprint);
    ASSERT_TRUE(probe.ok());
    int64_t best = INT64_MAX;
    for (int i = 0; i < 20; ++i) {
      const int64_t start = NowNs();
      probe->Measure();
      best = std::min(best, NowNs() - start);
    }
    EXPECT_LT(best, 2'000'000) << footprint;
  }
}

TEST(LevelProbe, SaysWhyItCannotBeMade) {
  EXPECT_EQ(LevelProbe::Create(Isa::kNone, *OpenMpThreads(), 1, Mix::kLoad, 1e4).status().code(),
            StatusCode::kUnsupported);
}

}  // namespace
}  // namespace rafter::roofline
