// Every weight at its place, channels beyond the last one are zeros.
#include "kernels/conv/gemm/pack.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace rafter::gemm {
namespace {

ConvProblem Problem(int64_t groups, int64_t ic, int64_t oc) {
  ConvDesc desc;
  desc.groups = groups, desc.ic = ic, desc.oc = oc, desc.in = {5, 5}, desc.kernel = {2, 3};
  Result<ConvProblem> problem = Validate(desc);
  EXPECT_TRUE(problem.ok());
  return *problem;
}

TEST(Pack, EveryWeightAtItsPlace) {
  const WeightLayout layout = LayOutWeights(Problem(2, 6, 14));
  EXPECT_EQ(layout.panels(), 4);  // 7 channels per group
  std::vector<float> oihw(14 * 3 * 6), bias(14);
  for (size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
  std::vector<float> payload(static_cast<size_t>(layout.payload_floats), 0.0F);
  PackWeights(layout, oihw.data(), bias.data(), payload.data());
  EXPECT_EQ(payload[0], 1.0F) << "all weights are finite";
  int64_t used = 0;
  for (int64_t group = 0; group < 2; ++group) {
    for (int64_t c = 0; c < 7; ++c) {
      EXPECT_EQ(payload[static_cast<size_t>(layout.bias(group, c))], bias[static_cast<size_t>(group * 7 + c)]);
      for (int64_t k = 0; k < 18; ++k, ++used) {
        const int64_t ic = k % 3, tap = k / 3;  // one block of channels: [kh][kw][ic]
        EXPECT_EQ(payload[static_cast<size_t>(layout.weights(group, c) + k * kPanelChannels)],
                  oihw[static_cast<size_t>(((group * 7 + c) * 3 + ic) * 6 + tap)]);
      }
    }
  }
  int64_t nonzero = 0;
  for (size_t i = static_cast<size_t>(layout.bias_floats); i < payload.size(); ++i) nonzero += payload[i] != 0;
  EXPECT_EQ(nonzero, used);
}

TEST(Pack, SaysWhetherWeightsAreFinite) {
  const WeightLayout layout = LayOutWeights(Problem(1, 3, 4));
  std::vector<float> oihw(4 * 18, 1.0F), payload(static_cast<size_t>(layout.payload_floats), 0.0F);
  for (const float value : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    oihw[40] = value;
    PackWeights(layout, oihw.data(), nullptr, payload.data());
    EXPECT_EQ(payload[0], 0.0F);
  }
}

}  // namespace
}  // namespace rafter::gemm
