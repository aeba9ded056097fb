// tests/kernels/conv/plan_cache_test.cc: which descriptions share a plan, and that kept plans can be forgotten.
#include "kernels/conv/plan_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jit/code_cache.h"
#include "kernels/conv/tile_choice.h"
#include "rafter/conv.h"
#include "rafter/wisdom.h"
#include "runtime/machine_model.h"

namespace rafter {
namespace {

const ConvDesc kSmall{.ic = 24, .oc = 40, .in = {9, 11}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};

PlanContext Context() {
  PlanContext context;
  context.isa = Isa::kAvx2;
  context.machine = &CurrentMachineModel();
  return context;
}

template <typename Change>
std::string KeyWith(Change change) {
  ConvDesc desc = kSmall;
  change(desc);
  return PlanKeyOf(desc, Context(), "");
}

// Each change gives a key of its own, different from all others.
TEST(PlanKey, CoversEveryFieldOfTheDescription) {
  const Strides strides{1 << 20, 1, 1 << 10, 64}, wider{1 << 20, 1, 1 << 10, 65};
  const std::vector<std::string> keys = {
      KeyWith([](ConvDesc&) {}),
      KeyWith([](ConvDesc& d) { d.n = 2; }),
      KeyWith([](ConvDesc& d) { d.groups = 2; }),
      KeyWith([](ConvDesc& d) { d.ic = 25; }),
      KeyWith([](ConvDesc& d) { d.oc = 41; }),
      KeyWith([](ConvDesc& d) { d.in.h = 10; }),
      KeyWith([](ConvDesc& d) { d.in.w = 12; }),
      KeyWith([](ConvDesc& d) { d.kernel.h = 2; }),
      KeyWith([](ConvDesc& d) { d.kernel.w = 2; }),
      KeyWith([](ConvDesc& d) { d.stride.h = 2; }),
      KeyWith([](ConvDesc& d) { d.stride.w = 2; }),
      KeyWith([](ConvDesc& d) { d.dilation.h = 2; }),
      KeyWith([](ConvDesc& d) { d.dilation.w = 2; }),
      KeyWith([](ConvDesc& d) { d.pad.top = 0; }),
      KeyWith([](ConvDesc& d) { d.pad.left = 0; }),
      KeyWith([](ConvDesc& d) { d.pad.bottom = 0; }),
      KeyWith([](ConvDesc& d) { d.pad.right = 0; }),
      KeyWith([](ConvDesc& d) { d.src.layout = Layout::kNchw; }),
      KeyWith([](ConvDesc& d) { d.dst.layout = Layout::kNchw; }),
      KeyWith([&](ConvDesc& d) { d.src.strides = strides; }),
      KeyWith([&](ConvDesc& d) { d.src.strides = wider; }),
      KeyWith([&](ConvDesc& d) { d.dst.strides = strides; }),
      KeyWith([](ConvDesc& d) { d.bias = true; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::Relu()}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::Relu(), PostOp::Relu()}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::Clip(0.0f, 6.0f)}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::Clip(-0.0f, 6.0f)}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::Clip(0.0f, 5.0f)}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::ResidualAdd()}; }),
      KeyWith([&](ConvDesc& d) { d.post_ops = {PostOp::ResidualAdd(strides)}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::ChannelScale(std::vector<float>(40, 1.0f))}; }),
      KeyWith([](ConvDesc& d) { d.post_ops = {PostOp::ChannelScale(std::vector<float>(40, 2.0f))}; }),
  };
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
  EXPECT_EQ(KeyWith([](ConvDesc&) {}), keys[0]);
}

TEST(PlanKey, CoversWhatElseDecides) {
  std::set<std::string> keys = {PlanKeyOf(kSmall, Context(), ""), PlanKeyOf(kSmall, Context(), "direct")};
  const auto add = [&](auto change) {
    PlanContext context = Context();
    change(context);
    keys.insert(PlanKeyOf(kSmall, context, ""));
  };
  const MachineModel other;
  add([](PlanContext& c) { c.isa = Isa::kAvx512; });
  add([](PlanContext& c) { c.threads = 2; });
  add([](PlanContext& c) { c.accuracy = Accuracy::kStrict; });
  add([&](PlanContext& c) { c.machine = &other; });
  add([](PlanContext& c) { c.tile.px = 3; });
  add([](PlanContext& c) { c.tile.vecs = 3; });
  add([](PlanContext& c) { c.steps_aside = true; });
  EXPECT_EQ(keys.size(), 9u);
}

TEST(PlanCache, FindsWhatWasKeptUntilForgotten) {
  ForgetPlans();
  const auto plan = std::make_shared<int>(7);
  EXPECT_EQ(FindPlan("a key"), nullptr);
  KeepPlan("a key", plan);
  EXPECT_EQ(FindPlan("a key"), plan);
  EXPECT_EQ(FindPlan("another"), nullptr);
  EXPECT_EQ(plan.use_count(), 2);
  ForgetPlans();
  EXPECT_EQ(FindPlan("a key"), nullptr);
  EXPECT_EQ(plan.use_count(), 1);
}

TEST(PlanCache, HoldsFewPlansAndNoHugeKeys) {
  ForgetPlans();
  const auto plan = std::make_shared<int>(7);
  for (int i = 0; i < 1000; ++i) KeepPlan(std::to_string(i), plan);
  EXPECT_LE(plan.use_count(), 1 + 64);
  EXPECT_GT(plan.use_count(), 32);
  ForgetPlans();
  KeepPlan(std::string(1 << 20, 'x'), plan);
  EXPECT_EQ(plan.use_count(), 1);
}

// A description is handed out by reference, so equal addresses are one plan.
const ConvDesc* PlanOf(const ConvDesc& desc, const ConvOptions& options = {.threads = 1}) {
  const auto conv = Conv::Create(desc, options);
  return conv.ok() ? &conv->desc() : nullptr;
}

TEST(PlanCache, ServesConvolutionsCreatedAgain) {
  ClearKernelCache();
  const auto kept = Conv::Create(kSmall, {.threads = 1});
  ASSERT_TRUE(kept.ok());
  const auto misses = jit::GetCodeCacheStats().misses;
  EXPECT_EQ(PlanOf(kSmall), &kept->desc());
  EXPECT_EQ(jit::GetCodeCacheStats().misses, misses);
  EXPECT_NE(PlanOf(kSmall, {.threads = 1, .plan = Planning::kMeasure}), &kept->desc());
  ForgetWisdom();
  EXPECT_EQ(PlanOf(kSmall), &kept->desc());
  // Last: its key may fall on the same place of the cache, by an address in it.
  EXPECT_NE(PlanOf(kSmall, {.threads = 1, .algorithm = "direct"}), &kept->desc());
  ClearKernelCache();
  EXPECT_NE(PlanOf(kSmall), &kept->desc());
}

TEST(PlanCache, KeepsNoErrors) {
  ConvDesc bad = kSmall;
  bad.groups = 7;
  EXPECT_FALSE(Conv::Create(bad).ok());
  EXPECT_EQ(Conv::Create(bad).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Conv::Create(kSmall, {.algorithm = "depthwise"}).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(Conv::Create(kSmall, {.algorithm = "depthwise"}).status().code(), StatusCode::kUnsupported);
}

}  // namespace
}  // namespace rafter
