// Tests of bench/baseline_self: the same result as ours, in every layout.
#include "bench/baseline_self.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/calibration.h"
#include "bench/case_tensors.h"
#include "bench/prepared_conv.h"
#include "bench/verify.h"
#include "roofline/wall_clock.h"

namespace rafter::bench {
namespace {

TEST(SelfBaseline, ComputesTheSameInEveryLayout) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    ConvDesc desc = ParseDescriptor("mb2ic12ih7oc20oh7kh3ph1").value().desc;
    desc.src.layout = desc.dst.layout = layout;
    desc.bias = true;
    const ConvProblem problem = Validate(desc).value();
    Result<CaseTensors> tensors = MakeCaseTensors(problem, 1);
    ASSERT_TRUE(tensors.ok());
    const auto baseline = MakeSelfBaseline();
    BaselineRequest request{&desc,
                            BaselineLayout::kSame,
                            1,
                            tensors->oihw.data(),
                            tensors->bias_or_null(),
                            tensors->src.data(),
                            tensors->dst.data(),
                            {}};
    Result<std::unique_ptr<BaselineRun>> run = baseline->Prepare(request);
    ASSERT_TRUE(run.ok()) << run.status().message();
    (*run)->Run();
    ASSERT_TRUE((*run)->status().ok());
    std::vector<float> nchw;
    ASSERT_TRUE((*run)->ReadOutput(nchw).ok());
    ConvDesc plain = desc;
    plain.dst = {Layout::kNchw, {}};
    const ConvProblem plain_problem = Validate(plain).value();
    EXPECT_TRUE(VerifyOutputs(plain_problem, tensors->src.data(), tensors->oihw.data(), tensors->bias_or_null(),
                              nchw.data(), 1, 1e9, ResidualTensors(problem, *tensors))
                    .ok());
    std::vector<Memory> weights, all;
    (*run)->AppendMemory(true, weights);
    (*run)->AppendMemory(false, all);
    EXPECT_EQ(weights.size(), 1u);
    EXPECT_GT(all.size(), weights.size());
    EXPECT_STREQ((*run)->layout().c_str(), LayoutName(layout));
    request.layout = BaselineLayout::kAny;
    EXPECT_FALSE(baseline->Prepare(request).ok());
  }
}

TEST(SelfBaseline, TheSlowdownIsRead) {
  EXPECT_EQ(SelfSlowdown("self"), 1);
  EXPECT_EQ(SelfSlowdown("self:1.05"), 1.05);
  for (const char* bad : {"", "sel", "self:", "self:x", "self:1.05x", "self:0.9", "self:101", "self:nan", "self1.05"}) {
    EXPECT_FALSE(SelfSlowdown(bad)) << bad;
  }
}

TEST(SelfBaseline, ASlowdownTakesLonger) {
  ConvDesc desc = ParseDescriptor("mb1ic16ih6oc16oh6kh3ph1").value().desc;
  const ConvProblem problem = Validate(desc).value();
  Result<CaseTensors> tensors = MakeCaseTensors(problem, 1);
  ASSERT_TRUE(tensors.ok());
  int calls = 0;
  const std::function<void()> ours = [&] {
    ++calls;
    const int64_t start = roofline::NowNs();
    while (roofline::NowNs() - start < 200'000) {
    }
  };
  BaselineRequest request;
  request.desc = &desc;
  request.layout = BaselineLayout::kSame;
  request.oihw = tensors->oihw.data();
  request.src = tensors->src.data();
  request.dst = tensors->dst.data();
  request.ours = &ours;
  const auto baseline = MakeSelfBaseline(2);
  EXPECT_TRUE(baseline->is_self());
  Result<std::unique_ptr<BaselineRun>> run = baseline->Prepare(request);
  ASSERT_TRUE(run.ok()) << run.status().message();
  const int64_t start = roofline::NowNs();
  (*run)->Run();
  EXPECT_GE(roofline::NowNs() - start, 400'000);
  EXPECT_EQ(calls, 1) << "ours is called, nothing else";
}

TEST(Calibrate, ComparesCasesWithThemselves) {
  std::vector<SuiteCase> cases;
  for (const char* text : {"mb1ic16ih6oc16oh6kh3ph1", "mb1ic8ih5oc8kh1", "mb1ic4ih5oc4kh1", "mb1ic32ih5oc8kh1"}) {
    cases.emplace_back().descriptor = ParseDescriptor(text).value();
  }
  cases.emplace_back().status = Status::InvalidArgument("unreadable");
  const Calibration calibration = Calibrate(cases, {}, 3, 3e4);
  EXPECT_EQ(calibration.cases, 3);
  EXPECT_GE(calibration.worst_deviation, calibration.median_deviation);
  EXPECT_LE(calibration.noise_floor(), 0.10);
  EXPECT_EQ(ToJson(calibration)["cases"], 3);
  EXPECT_EQ(Calibrate({}, {}, 3, 3e4).cases, 0);
}

TEST(PreparedConv, Runs) {
  ConvDesc desc = ParseDescriptor("mb1ic16ih6oc16oh6kh3ph1").value().desc;
  auto prepared = PreparedConv::Make(desc, {.threads = 1});
  ASSERT_TRUE(prepared.ok());
  (*prepared)->Run();
  desc.oc = -1;
  EXPECT_FALSE(PreparedConv::Make(desc, {.threads = 1}).ok());
}

}  // namespace
}  // namespace rafter::bench
