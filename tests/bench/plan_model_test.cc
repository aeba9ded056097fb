// Tests of bench/plan_model: bound + losses = model, and the losses that must show. Nothing is executed.
#include "bench/plan_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "bench/descriptor.h"
#include "kernels/conv/dispatch.h"
#include "rafter/cost.h"

namespace rafter::bench {
namespace {

struct Modelled {
  PlanModel model;
  BoundResult bound;
  std::string algorithm;
};

// Under a peak of 100 GFLOP/s and 50 GB/s.
Modelled Model(const std::string& text, Isa isa, int threads = 1, Layout layout = Layout::kNhwc,
               const char* algorithm = "") {
  ConvDesc desc = ParseDescriptor(text).value().desc;
  desc.src.layout = desc.dst.layout = layout;
  const ConvProblem problem = Validate(desc).value();
  const ConvCost cost = rafter::CostOf(desc).value();
  Modelled result;
  result.bound.peak_gflops = 100.0 * threads;
  result.bound.compute_us = cost.flops_valid / (result.bound.peak_gflops * 1e3);
  result.bound.memory_us = cost.bytes / 50e3;
  result.bound.bound_us = std::max(result.bound.compute_us, result.bound.memory_us);
  PlanContext context;
  context.isa = isa;
  context.threads = threads;
  context.machine = &CurrentMachineModel();
  Result<Decision> decision = Decide(ConvAlgorithms(), problem, context, algorithm);
  EXPECT_TRUE(decision.ok());
  result.algorithm = decision->plan->algorithm();
  result.model = ModelPlan({&problem, result.algorithm, isa, threads}, result.bound);
  return result;
}

double UsOf(const PlanModel& model, const std::string& name) {
  for (const Loss& loss : model.losses) {
    if (loss.name == name) return loss.us;
  }
  return 0;
}

class PlanModelTest : public testing::Test {
 protected:
  void SetUp() override {
    if (EffectiveIsa() == Isa::kNone) GTEST_SKIP() << "no vector instructions";
  }
  Isa isa_ = EffectiveIsa();
};

// Flushed activations are charged at the rate of the reader that was measured, weights as a stream.
TEST_F(PlanModelTest, ColdCallsWaitForActivations) {
  const ConvDesc desc = ParseDescriptor("mb1ic64ih56oc64oh56kh1").value().desc;
  const ConvProblem problem = Validate(desc).value();
  const double activations = 2 * 4.0 * 64 * 56 * 56;
  BoundResult bound;
  bound.peak_gflops = 100;
  bound.bound_us = bound.compute_us = 257;
  bound.memory_us = 50;
  bound.binding = "compute";
  bound.data_level = "DRAM";
  const auto model = [&](CacheMode mode) {
    return ModelPlan({&problem, "pointwise", isa_, 1, Accuracy::kDefault, mode, 10}, bound);
  };
  EXPECT_EQ(UsOf(model(CacheMode::kHot), "cold start"), 0);
  EXPECT_EQ(UsOf(model(CacheMode::kColdWeights), "cold start"), 0);
  const double waited = UsOf(model(CacheMode::kCold), "cold start");
  EXPECT_NEAR(waited, 1 + activations / 11e3, 1e-6);
  EXPECT_GT(model(CacheMode::kCold).model_us, model(CacheMode::kHot).model_us);
  bound.binding = "DRAM", bound.bound_us = bound.memory_us = 400;
  EXPECT_LT(UsOf(model(CacheMode::kCold), "cold start"), 1) << "the bound has charged them";
}

TEST_F(PlanModelTest, BoundAndLossesAddUp) {
  for (const char* text : {"mb1ic64ih56oc64oh56kh3ph1", "mb1ic256ih14oc256oh14kh3ph1", "mb1ic64ih56oc256oh56kh1",
                           "mb1g32ic32ih112oc32oh112kh3ph1", "mb1ic64ih28oc5oh28kh3ph1", "mb1ic3ih32oc8oh32kh3ph1",
                           "mb1g8ic64ih28oc64oh28kh3ph1", "mb1ic16ih4oc16kh1"}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      const Modelled m = Model(text, isa_, 1, layout);
      if (m.algorithm == "reference") continue;
      ASSERT_GT(m.model.model_us, 0) << text << " " << m.algorithm;
      EXPECT_GE(m.model.model_us, m.bound.bound_us);
      double sum = m.bound.bound_us;
      for (size_t i = 0; i < m.model.losses.size(); ++i) {
        const Loss& loss = m.model.losses[i];
        EXPECT_GT(loss.us, 0) << loss.name;
        EXPECT_FALSE(loss.why.empty());
        if (i > 0 && loss.name != "small losses") {
          EXPECT_LE(loss.us, m.model.losses[i - 1].us);
        }
        sum += loss.us;
      }
      EXPECT_NEAR(sum, m.model.model_us, 1e-6 * m.model.model_us) << text;
    }
  }
}

TEST_F(PlanModelTest, IdleLanesAreNamed) {
  const Modelled one = Model("mb1ic64ih28oc65oh28kh1", isa_, 1, Layout::kNhwc, "pointwise");
  EXPECT_GT(UsOf(one.model, "idle lanes") / one.model.model_us, 0.02) << one.algorithm;
  const Modelled full = Model("mb1ic64ih28oc64oh28kh1", isa_, 1, Layout::kNhwc, "pointwise");
  EXPECT_EQ(UsOf(full.model, "idle lanes"), 0);
}

TEST_F(PlanModelTest, CopiesAreNamed) {
  const Modelled m = Model("mb1ic256ih14oc256oh14kh3ph1", isa_, 1, Layout::kNchw, "direct+reorder");
  EXPECT_GT(UsOf(m.model, "packing"), 0);
}

TEST_F(PlanModelTest, ForksAreNamed) {
  const Modelled m = Model("mb1ic64ih14oc64oh14kh3ph1", isa_, 2);
  EXPECT_GT(UsOf(m.model, "fork-join") + UsOf(m.model, "small losses"), 0);
}

TEST_F(PlanModelTest, ASharedCoreIsNamedAndTheBoundStays) {
  const ConvProblem problem = Validate(ParseDescriptor("mb1ic64ih28oc64oh28kh3ph1").value().desc).value();
  Modelled alone = Model("mb1ic64ih28oc64oh28kh3ph1", isa_, 1, Layout::kNhwc, "direct");
  ASSERT_GT(alone.model.model_us, 0);
  EXPECT_EQ(UsOf(alone.model, "shared core"), 0);
  alone.bound.core_share = 0.8;
  const PlanModel shared = ModelPlan({&problem, "direct", isa_, 1}, alone.bound);
  EXPECT_NEAR(shared.model_us, alone.model.model_us / 0.8, 0.02 * alone.model.model_us);
  EXPECT_NEAR(UsOf(shared, "shared core"), shared.model_us - alone.model.model_us, 1e-6 * shared.model_us);
  // Where memory binds, a slower core has time to spare.
  alone.bound.bound_us = alone.bound.memory_us = 10 * alone.bound.compute_us;
  EXPECT_EQ(UsOf(ModelPlan({&problem, "direct", isa_, 1}, alone.bound), "shared core"), 0);
}

TEST_F(PlanModelTest, LongStreamsHideOnlyInPart) {
  const ConvProblem problem = Validate(ParseDescriptor("mb1ic64ih28oc64oh28kh3ph1").value().desc).value();
  Modelled m = Model("mb1ic64ih28oc64oh28kh3ph1", isa_, 1, Layout::kNhwc, "direct");
  m.bound.binding = "compute";
  m.bound.data_level = "L2";
  EXPECT_EQ(UsOf(ModelPlan({&problem, "direct", isa_, 1}, m.bound), "streams"), 0);
  m.bound.data_level = "DRAM";
  const PlanModel far = ModelPlan({&problem, "direct", isa_, 1}, m.bound);
  EXPECT_GT(UsOf(far, "streams"), 0);
  EXPECT_NEAR(far.model_us - UsOf(far, "streams"), m.model.model_us, 1e-6 * far.model_us);
  m.bound.binding = "DRAM";
  EXPECT_EQ(UsOf(ModelPlan({&problem, "direct", isa_, 1}, m.bound), "streams"), 0) << "they are the bound";
}

TEST_F(PlanModelTest, WinogradIsModelledAboveItsOwnBound) {
  const ConvProblem problem = Validate(ParseDescriptor("mb1ic128ih28oc128oh28kh3ph1").value().desc).value();
  Modelled m = Model("mb1ic128ih28oc128oh28kh3ph1", isa_, 1, Layout::kNhwc, "winograd_f4");
  m.bound.own_bound_us = m.bound.bound_us / 4;
  const PlanModel model = ModelPlan({&problem, "winograd_f4", isa_, 1}, m.bound);
  double sum = m.bound.own_bound_us;
  for (const Loss& loss : model.losses) sum += loss.us;
  EXPECT_GT(model.model_us, m.bound.own_bound_us);
  EXPECT_NEAR(sum, model.model_us, 1e-6 * model.model_us);
  EXPECT_GT(UsOf(model, "transforms"), 0);
}

TEST_F(PlanModelTest, NoModelWithoutBoundOrAlgorithm) {
  const ConvProblem problem = Validate(ParseDescriptor("mb1ic64ih56oc64oh56kh3ph1").value().desc).value();
  EXPECT_EQ(ModelPlan({&problem, "direct", isa_, 1}, {}).model_us, 0);
  BoundResult bound;
  bound.bound_us = bound.compute_us = 10;
  EXPECT_EQ(ModelPlan({&problem, "no such", isa_, 1}, bound).model_us, 0);
  EXPECT_EQ(ModelPlan({&problem, "pointwise", isa_, 1}, bound).model_us, 0) << "it refuses 3x3";
  EXPECT_EQ(ModelPlan({&problem, "direct", Isa::kNone, 1}, bound).model_us, 0);
}

TEST_F(PlanModelTest, TheClockFollowsThePeak) {
  const MachineModel model = AtPeak(CurrentMachineModel(), isa_, 2, 123);
  EXPECT_NEAR(model.PeakFlopsPerUs(isa_) * 2, 123e3, 1);
  EXPECT_EQ(AtPeak(CurrentMachineModel(), isa_, 1, 0).clock_ghz, CurrentMachineModel().clock_ghz);
}

}  // namespace
}  // namespace rafter::bench
