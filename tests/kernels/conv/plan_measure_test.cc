// tests/kernels/conv/plan_measure_test.cc: measuring made-up plans whose times are known, and real
// ones on every kind of tensor.
#include "kernels/conv/plan_measure.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "kernels/conv/dispatch.h"
#include "kernels/conv/reference/reference.h"
#include "runtime/machine_model.h"

namespace rafter {
namespace {

using std::chrono::steady_clock;

// Works for a given time, and looks at what it was given.
class TimedPlan final : public ConvPlan {
 public:
  explicit TimedPlan(double us, size_t scratch = 0, int threads = 1)
      : us_(us), scratch_(scratch), threads_(threads) {}
  const char* algorithm() const noexcept override { return "timed"; }
  const std::string& kernel_name() const noexcept override { return name_; }
  Isa isa() const noexcept override { return Isa::kNone; }
  int threads() const noexcept override { return threads_; }
  size_t scratch_bytes() const noexcept override { return scratch_; }
  PackedHeader packed_header() const noexcept override {
    PackedHeader header;
    header.groups = header.ic_g = header.oc_g = header.kh = header.kw = 1;
    header.payload_bytes = 4;
    return header;
  }
  void Pack(const float* oihw, const float*, float* payload) const noexcept override {
    *payload = *oihw;
  }
  void Run(const ConvCall& call) const noexcept override {
    const auto end = steady_clock::now() + std::chrono::duration<double, std::micro>(us_);
    ++runs;
    sound = sound && call.pool != nullptr && call.threads >= 1 && call.threads <= threads_ &&
            std::isnormal(call.src[0]) && std::abs(call.weights[0]) <= 1 && call.dst != nullptr &&
            (call.scratch != nullptr) == (scratch_ > 0);
    while (steady_clock::now() < end) {
    }
  }
  std::string Describe() const override { return {}; }

  mutable int runs = 0;
  mutable bool sound = true;

 private:
  double us_;
  size_t scratch_;
  int threads_;
  std::string name_ = "timed";
};

ConvProblem SmallProblem() {
  return *Validate({.n = 2, .ic = 4, .oc = 4, .in = {5, 5}, .kernel = {3, 3}});
}

TEST(MeasurePlans, FindsTheTimes) {
  const TimedPlan slow(60), fast(20, 100, 64), hopeless(400);
  std::vector<Contender> contenders{{&slow}, {&fast}, {&hopeless}};
  ASSERT_TRUE(MeasurePlans(SmallProblem(), nullptr, contenders).ok());
  // A busy machine only adds to the time.
  EXPECT_GE(contenders[0].us, 60);
  EXPECT_GE(contenders[1].us, 20);
  EXPECT_GE(contenders[2].us, 400);
  EXPECT_LT(contenders[1].us, contenders[0].us);
  EXPECT_GE(fast.runs, 20);
  EXPECT_LT(hopeless.runs, 10) << "is left out when the first rounds are over";
  for (const TimedPlan* plan : {&slow, &fast, &hopeless}) EXPECT_TRUE(plan->sound);
}

TEST(MeasurePlans, LongOnesRunFewTimes) {
  const TimedPlan one(4000), other(5000);
  std::vector<Contender> contenders{{&one}, {&other}};
  ASSERT_TRUE(MeasurePlans(SmallProblem(), nullptr, contenders).ok());
  for (const int runs : {one.runs, other.runs}) {
    EXPECT_GE(runs, 2 + 5);  // two or three to warm up, five rounds
    EXPECT_LE(runs, 3 + 5);
  }
}

TEST(MeasurePlans, OutOfMemory) {
  const TimedPlan plan(1), with_scratch(1, 8 << 20);
  std::vector<Contender> contenders{{&plan}};
  MemoryPool none({.limit_bytes = 0});
  EXPECT_EQ(MeasurePlans(SmallProblem(), &none, contenders).code(), StatusCode::kOutOfMemory);
  // Enough for the tensors, not for the scratch.
  MemoryPool little({.limit_bytes = 6 << 20});
  EXPECT_TRUE(MeasurePlans(SmallProblem(), &little, contenders).ok());
  contenders.push_back({&with_scratch});
  EXPECT_EQ(MeasurePlans(SmallProblem(), &little, contenders).code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(little.stats().in_use_bytes, 0u);
  EXPECT_EQ(with_scratch.runs, 0);
}

// Guards no memory: the sanitizers see what a tensor that is too small would do.
TEST(MeasurePlans, RealPlansOnEveryKindOfTensor) {
  std::vector<ConvDesc> cases;
  for (const Layout src : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    for (const Layout dst : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
      cases.push_back({.n = 2, .ic = 19, .oc = 21, .in = {6, 7}, .src = {src}, .dst = {dst}});
    }
  }
  ConvDesc slices{.n = 2, .ic = 16, .oc = 16, .in = {6, 7}, .kernel = {3, 3}};
  slices.src.strides = Strides{5000, 1, 700, 90};
  slices.dst.strides = Strides{6000, 1, 800, 64};
  slices.post_ops = {PostOp::ResidualAdd(), PostOp::ResidualAdd(Strides{9000, 1, 900, 100})};
  cases.push_back(slices);
  const PlanContext context{
      .isa = EffectiveIsa(), .threads = 2, .machine = &CurrentMachineModel()};
  for (const ConvDesc& desc : cases) {
    const auto problem = Validate(desc);
    ASSERT_TRUE(problem.ok()) << problem.status().message();
    for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
      if (!algorithm.consider(*problem, context).refusal.empty()) continue;
      const auto plan = algorithm.make_plan(*problem, context);
      ASSERT_TRUE(plan.ok()) << algorithm.name;
      std::vector<Contender> contenders{{plan->get()}};
      ASSERT_TRUE(MeasurePlans(*problem, nullptr, contenders).ok());
      EXPECT_GT(contenders[0].us, 0) << algorithm.name;
    }
  }
}

}  // namespace
}  // namespace rafter
