// Tests of bench/verify: right outputs pass, a single wrong one at the border or with a lost tap
// does not.
#include "bench/verify.h"

#include <gtest/gtest.h>

#include <limits>

#include "bench/case_tensors.h"
#include "rafter/conv.h"

namespace rafter::bench {
namespace {

struct Computed {
  ConvProblem problem;
  CaseTensors tensors;
};

Computed Compute(ConvDesc desc, Layout layout) {
  desc.src.layout = desc.dst.layout = layout;
  desc.bias = true;
  Computed computed{*Validate(desc), {}};
  computed.tensors = MakeCaseTensors(computed.problem, 5).value();
  ConvOptions options;
  options.algorithm = "reference";
  const Result<Conv> conv = Conv::Create(desc, options);
  EXPECT_TRUE(conv.ok());
  const auto packed =
      conv->PackWeights(computed.tensors.oihw.data(), computed.tensors.bias_or_null());
  EXPECT_TRUE(conv->Run(computed.tensors.src.data(), *packed, computed.tensors.dst.data()).ok());
  return computed;
}

Result<VerifyResult> Verify(const Computed& computed) {
  return VerifyOutputs(computed.problem, computed.tensors.src.data(), computed.tensors.oihw.data(),
                       computed.tensors.bias_or_null(), computed.tensors.dst.data(), 1);
}

TEST(Verify, AcceptsTheReferenceInEveryLayout) {
  ConvDesc desc;
  desc.n = 2;
  desc.groups = 2;
  desc.ic = 10;
  desc.oc = 14;
  desc.in = {9, 8};
  desc.kernel = {3, 2};
  desc.stride = {2, 1};
  desc.dilation = {1, 2};
  desc.pad = {1, 2, 0, 1};
  for (Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    const Computed computed = Compute(desc, layout);
    const Result<VerifyResult> verified = Verify(computed);
    ASSERT_TRUE(verified.ok()) << verified.status().message();
    EXPECT_EQ(verified->outputs, desc.n * desc.oc * computed.problem.oh * computed.problem.ow);
  }
}

TEST(Verify, RefusesNanWrongTapsAndUnwrittenOutputs) {
  ConvDesc desc;
  desc.ic = 32;
  desc.oc = 8;
  desc.in = {6, 6};
  desc.kernel = {3, 3};
  desc.pad = {1, 1, 1, 1};
  Computed computed = Compute(desc, Layout::kNhwc);
  ASSERT_TRUE(Verify(computed).ok());
  float& output = computed.tensors.dst.data()[17];
  const float right = output;
  output = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(Verify(computed).status().code(), StatusCode::kInternal);
  output = right + 0.02f;  // about one small product
  EXPECT_FALSE(Verify(computed).ok());
  output = right;
  EXPECT_TRUE(Verify(computed).ok());
}

TEST(Verify, SamplesBigCasesWithAllOfTheBorder) {
  ConvDesc desc;
  desc.ic = 64;
  desc.oc = 64;
  desc.in = {80, 72};
  desc.kernel = {3, 3};
  desc.pad = {1, 1, 1, 1};
  Computed computed = Compute(desc, Layout::kNhwc);
  const Result<VerifyResult> verified = Verify(computed);
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_GE(verified->outputs, 4096 + 2 * (80 + 72) - 4);
  EXPECT_LT(verified->outputs, int64_t{80} * 72 * 64);
  // A whole border pixel that is wrong is always seen.
  for (int64_t pixel : {int64_t{0}, int64_t{71}, int64_t{79} * 72 + 30, int64_t{40} * 72}) {
    float* channels = computed.tensors.dst.data() + pixel * 64;
    for (int64_t c = 0; c < 64; ++c) channels[c] += 1.0f;
    EXPECT_FALSE(Verify(computed).ok()) << pixel;
    for (int64_t c = 0; c < 64; ++c) channels[c] -= 1.0f;
  }
}

}  // namespace
}  // namespace rafter::bench
