// Layouts of activations: nothing that lives together overlaps, and chains need what their busiest step needs.
#include "rafter/arena_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace rafter {
namespace {

size_t Line(size_t bytes) { return (bytes + 63) / 64 * 64; }

void ExpectValid(const std::vector<Activation>& activations, const ArenaPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), activations.size());
  for (size_t i = 0; i < activations.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0u);
    EXPECT_LE(plan.offsets[i] + activations[i].bytes, plan.arena_bytes);
    for (size_t j = 0; j < i; ++j) {
      const Activation &a = activations[i], &b = activations[j];
      if (a.first_step > b.last_step || b.first_step > a.last_step) continue;
      const bool apart = plan.offsets[i] + a.bytes <= plan.offsets[j] || plan.offsets[j] + b.bytes <= plan.offsets[i];
      EXPECT_TRUE(apart || a.bytes == 0 || b.bytes == 0) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.arena_bytes, plan.busiest_bytes);
}

TEST(ArenaPlan, AChainUsesTwoPlaces) {
  std::vector<Activation> chain;
  for (int step = 0; step < 10; ++step) chain.push_back({100'000, step, step + 1});
  const auto plan = PlanArena(chain);
  ASSERT_TRUE(plan.ok());
  ExpectValid(chain, *plan);
  EXPECT_EQ(plan->arena_bytes, 2 * Line(100'000));
  EXPECT_EQ(plan->busiest_bytes, plan->arena_bytes);
}

TEST(ArenaPlan, AResidualBlockKeepsItsShortcut) {
  // x (0-3) -> a (1-2) -> b (2-3) -> sum in b; x is read by the addition.
  const std::vector<Activation> block = {{802'816, 0, 3}, {200'704, 1, 2}, {802'816, 2, 3}};
  const auto plan = PlanArena(block);
  ASSERT_TRUE(plan.ok());
  ExpectValid(block, *plan);
  EXPECT_EQ(plan->arena_bytes, plan->busiest_bytes);
}

TEST(ArenaPlan, RandomLifetimes) {
  std::mt19937 random(3);
  double worst = 1;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Activation> activations;
    const int count = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < count; ++i) {
      const int first = static_cast<int>(random() % 30);
      activations.push_back({random() % 10'000, first, first + static_cast<int>(random() % 6)});
    }
    const auto plan = PlanArena(activations);
    ASSERT_TRUE(plan.ok());
    ExpectValid(activations, *plan);
    if (plan->busiest_bytes > 0) {
      worst = std::max(worst, static_cast<double>(plan->arena_bytes) / static_cast<double>(plan->busiest_bytes));
    }
  }
  EXPECT_LT(worst, 1.5);
}

TEST(ArenaPlan, NothingAndNonsense) {
  EXPECT_EQ(PlanArena({})->arena_bytes, 0u);
  const Activation* none = nullptr;
  EXPECT_EQ(PlanArena({none, 3}).status().code(), StatusCode::kInvalidArgument);
  const std::vector<Activation> backwards = {{64, 3, 2}}, negative = {{64, -1, 2}},
                                huge = {{SIZE_MAX / 2, 0, 0}, {SIZE_MAX / 2, 0, 0}, {SIZE_MAX / 2, 0, 0}};
  for (const auto& wrong : {backwards, negative, huge}) {
    const auto plan = PlanArena(wrong);
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(plan.status().message().find("activations["), std::string_view::npos);
  }
}

}  // namespace
}  // namespace rafter
