// Tests of bench/baseline_self: the same result as ours, in every layout.
#include "bench/baseline_self.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/calibration.h"
#include "bench/case_tensors.h"
#include "bench/prepared_conv.h"
#include "bench/verify.h"

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
