// Agreement with oneDNN: on a few shapes in every layout candidate its outputs are the exact sums,
// and so are rafter's (bench/verify judges both). Built only where oneDNN is.
#include "bench/baseline_onednn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "bench/case_tensors.h"
#include "bench/descriptor.h"
#include "bench/omp_team.h"
#include "bench/verify.h"
#include "rafter/conv.h"

namespace rafter::bench {
namespace {

void ExpectAgreement(Baseline& baseline, const std::string& text, Layout layout, bool bias,
                     int threads, const PostOps& post_ops = {}) {
  SCOPED_TRACE(text + " " + LayoutName(layout));
  ConvDesc desc = ParseDescriptor(text)->desc;
  desc.src.layout = desc.dst.layout = layout;
  desc.bias = bias;
  desc.post_ops = post_ops;
  const ConvProblem problem = Validate(desc).value();
  const CaseTensors tensors = MakeCaseTensors(problem, 3).value();
  const ScopedTeamSize team(threads);
  ConvDesc plain_desc = desc;
  plain_desc.dst = {Layout::kNchw, {}};
  const ConvProblem plain = Validate(plain_desc).value();

  const Conv conv = Conv::Create(desc, {.threads = threads}).value();
  const PackedWeights packed =
      conv.PackWeights(tensors.oihw.data(), tensors.bias_or_null()).value();
  RunOptions run_options;
  const std::vector<const float*> residual_pointers = tensors.residual_pointers();
  run_options.residuals = residual_pointers;
  ASSERT_TRUE(conv.Run(tensors.src.data(), packed, tensors.dst.data(), run_options).ok());
  const std::vector<ResidualTensor> residuals = ResidualTensors(problem, tensors);
  EXPECT_TRUE(VerifyOutputs(problem, tensors.src.data(), tensors.oihw.data(),
                            tensors.bias_or_null(), tensors.dst.data(), 1, kThoroughProducts,
                            residuals)
                  .ok());

  for (BaselineLayout candidate :
       {BaselineLayout::kSame, BaselineLayout::kAny, BaselineLayout::kNchw16c}) {
    SCOPED_TRACE(BaselineLayoutName(candidate));
    const BaselineRequest request = {&desc,
                                     candidate,
                                     threads,
                                     tensors.oihw.data(),
                                     tensors.bias_or_null(),
                                     tensors.src.data(),
                                     tensors.dst.data(),
                                     residual_pointers};
    Result<std::unique_ptr<BaselineRun>> run = baseline.Prepare(request);
    ASSERT_TRUE(run.ok()) << run.status().message();
    (*run)->Run();
    ASSERT_TRUE((*run)->status().ok());
    std::vector<float> nchw;
    ASSERT_TRUE((*run)->ReadOutput(nchw).ok());
    const Result<VerifyResult> verified =
        VerifyOutputs(plain, tensors.src.data(), tensors.oihw.data(), tensors.bias_or_null(),
                      nchw.data(), 1, kThoroughProducts, residuals);
    EXPECT_TRUE(verified.ok()) << verified.status().message();
    EXPECT_FALSE((*run)->implementation().empty());
    EXPECT_GT((*run)->create_us(), 0);
    if (candidate == BaselineLayout::kSame) {
      EXPECT_EQ((*run)->layout(), LayoutName(layout));
    }
  }
}

TEST(OneDnn, AgreesWithTheExactSums) {
  Result<std::unique_ptr<Baseline>> baseline = MakeOneDnnBaseline(EffectiveIsa());
  ASSERT_TRUE(baseline.ok()) << baseline.status().message();
  EXPECT_EQ((*baseline)->name(), "oneDNN");
  EXPECT_EQ(std::count((*baseline)->version().begin(), (*baseline)->version().end(), '.'), 2);
  EXPECT_EQ((*baseline)->too_old(),
            (*baseline)->version()[0] < '3' && (*baseline)->version()[1] == '.');
  for (const char* text :
       {"mb1ic16ih14oc32oh14kh3ph1", "mb2ic3ih17iw13oc20kh3kw5sh2ph1pw2", "mb1ic64ih7oc48kh1",
        "mb1g4ic16ih9oc8oh9kh3ph1", "mb1g24ic24ih10oc24oh10kh3ph1", "mb1ic8ih11oc8kh3ph2dh1",
        "mb1ic16iw40oc16kw3pw1", "mb1ic8ih8oc8oh3kh3sh2ph0", "mb1ic8ih7oc8oh9kh3ph2"}) {
    for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
      ExpectAgreement(**baseline, text, layout, /*bias=*/true, /*threads=*/1);
    }
    ExpectAgreement(**baseline, text, Layout::kNhwc, /*bias=*/false, /*threads=*/2);
  }
}

TEST(OneDnn, FusesTheSamePostOps) {
  Result<std::unique_ptr<Baseline>> baseline = MakeOneDnnBaseline(EffectiveIsa());
  ASSERT_TRUE(baseline.ok()) << baseline.status().message();
  const PostOps chains[] = {
      {PostOp::Relu()},
      {PostOp::ResidualAdd(), PostOp::Relu()},
      {PostOp::ChannelScale(std::vector<float>(24, 0.75f)), PostOp::LeakyRelu(0.1f)},
      {PostOp::Clip(0, 6), PostOp::ResidualAdd(), PostOp::ResidualAdd()},
      {PostOp::Sigmoid(), PostOp::Tanh()},
      {PostOp::Swish(), PostOp::Gelu(), PostOp::Elu(0.5f)},
  };
  for (const PostOps& chain : chains) {
    for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      ExpectAgreement(**baseline, "mb1ic16ih9oc24oh9kh3ph1", layout, /*bias=*/true, /*threads=*/1,
                      chain);
    }
  }
  if ((*baseline)->too_old()) return;
  ExpectAgreement(**baseline, "mb1ic16ih9oc24oh9kh3ph1", Layout::kNhwc, true, 1,
                  {PostOp::HardSwish(), PostOp::HardSigmoid()});
}

TEST(OneDnn, OneCapPerProcess) {
  ASSERT_TRUE(MakeOneDnnBaseline(EffectiveIsa()).ok());
  const Isa other = EffectiveIsa() == Isa::kNone ? Isa::kAvx2 : Isa::kNone;
  EXPECT_EQ(MakeOneDnnBaseline(other).status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(MakeBaseline("mkl", EffectiveIsa()).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(AvailableBaselines(), (std::vector<std::string>{"onednn", "self"}));
}

}  // namespace
}  // namespace rafter::bench
