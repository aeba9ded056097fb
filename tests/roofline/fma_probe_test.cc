// Tests of roofline/fma_probe.h. Speeds are compared with wide margins only, as the best of several
// tries: the machine may be busy.
#include "roofline/fma_probe.h"

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <memory>

#include "roofline/clock_probe.h"
#include "tests/support/for_each_isa.h"

namespace rafter::roofline {
namespace {

using testing::ForEachIsa;

constexpr double kBudgetUs = 5'000;

double MustMeasure(Isa isa, FmaKind kind, int chains) {
  const Result<FmaProbe> probe = FmaProbe::Create(isa, kind, chains);
  EXPECT_TRUE(probe.ok()) << probe.status().message();
  return probe.ok() ? probe->Measure(kBudgetUs) : 0;
}

// Repeats a comparison that a busy machine may spoil.
template <typename Attempt>
bool OneOf(int attempts, const Attempt& attempt) {
  for (int i = 0; i < attempts; ++i) {
    if (attempt()) return true;
  }
  return false;
}

TEST(FmaProbe, EveryKindHasASpeed) {
  ForEachIsa([](Isa isa) {
    for (const FmaKind kind : {FmaKind::kFma, FmaKind::kFmaWithLoad, FmaKind::kFmaWithAdd}) {
      EXPECT_GT(MustMeasure(isa, kind, 0), 0.1);
    }
  });
}

int LanesOf(Isa isa) { return isa >= Isa::kAvx512 ? 16 : 8; }

TEST(FmaProbe, FewChainsCannotHideTheLatency) {
  ForEachIsa([](Isa isa) {
    EXPECT_TRUE(OneOf(10, [&] {
      const Result<ClockEstimate> clock = MeasureClock();
      if (!clock.ok() || clock->imul_ghz <= 0) return false;
      const double full = MustMeasure(isa, FmaKind::kFma, 0);
      // Latency 4 or 5 on two pipes needs 8 or 10 chains; on one pipe four may be enough.
      const bool two_pipes = full / clock->imul_ghz > 1.5 * 2 * LanesOf(isa);
      return MustMeasure(isa, FmaKind::kFma, 1) <= 0.3 * full &&
             MustMeasure(isa, FmaKind::kFma, 4) <= (two_pipes ? 0.75 : 1.02) * full;
    }));
  });
}

TEST(FmaProbe, FlopsPerCycleArePossible) {
  ForEachIsa([](Isa isa) {
    const int lanes = LanesOf(isa);
    EXPECT_TRUE(OneOf(10, [&] {
      const Result<ClockEstimate> clock = MeasureClock();
      if (!clock.ok() || clock->imul_ghz <= 0) return false;
      const double per_cycle = MustMeasure(isa, FmaKind::kFma, 0) / clock->imul_ghz;
      // One half-width pipe to two full ones; a fifth of room for a clock that moves in between.
      return per_cycle > 0.8 * lanes && per_cycle < 1.2 * 4 * lanes;
    }));
  });
}

TEST(FmaProbe, TeamsAreMeasuredTogether) {
  ForEachIsa([](Isa isa) {
    const Result<FmaProbe> probe = FmaProbe::Create(isa);
    ASSERT_TRUE(probe.ok());
    const Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::Create({.threads = 2});
    ASSERT_TRUE(pool.ok());
    EXPECT_GT(probe->Measure(**pool, 2, kBudgetUs), 0.1);
    EXPECT_GT(probe->Measure(**pool, 1, kBudgetUs), 0.1);
    // More threads than the pool has: as many as it has.
    EXPECT_GT(probe->Measure(**pool, 64, kBudgetUs), 0.1);
  });
}

TEST(FmaProbe, RestoresTheModeOfDenormals) {
  ForEachIsa([](Isa isa) {
    const unsigned before = _mm_getcsr() & ~0x3Fu;
    MustMeasure(isa, FmaKind::kFma, 0);
    EXPECT_EQ(_mm_getcsr() & ~0x3Fu, before);
  });
}

TEST(FmaProbe, RefusesWhatDoesNotFit) {
  EXPECT_EQ(FmaProbe::Create(Isa::kNone).status().code(), StatusCode::kUnsupported);
  ForEachIsa([](Isa isa) {
    EXPECT_EQ(FmaProbe::Create(isa, FmaKind::kFma, -1).status().code(),
              StatusCode::kInvalidArgument);
    EXPECT_EQ(FmaProbe::Create(isa, FmaKind::kFma, 29).status().code(),
              StatusCode::kInvalidArgument);
    EXPECT_TRUE(FmaProbe::Create(isa, FmaKind::kFma, FullChains(isa) + 2).ok());
  });
}

}  // namespace
}  // namespace rafter::roofline
