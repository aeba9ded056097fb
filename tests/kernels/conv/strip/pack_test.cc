// Packed pieces hold each weight and bias exactly once (biases of lanes that pixels share: in each of them).
#include "kernels/conv/strip/pack.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace rafter::strip {
namespace {

void CheckLayer(const Layer& layer, const std::vector<Piece>& pieces) {
  const PackLayout layout = LayOut(layer, pieces);
  const int64_t oc = layer.groups * layer.oc_g;
  std::vector<float> oihw(static_cast<size_t>(oc * layer.ic_g * layer.kh * layer.kw)), bias(static_cast<size_t>(oc));
  for (size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
  std::vector<float> payload(static_cast<size_t>(layout.payload_floats), 0.0f);
  PackPieces(layer, pieces, layout, oihw.data(), bias.data(), payload.data());
  std::set<float> weights, biases;
  for (const float x : payload) {
    if (x > 0) {
      EXPECT_TRUE(weights.insert(x).second) << "weight " << x << " twice";
    } else if (x < 0) {
      biases.insert(x);
    }
  }
  EXPECT_EQ(weights.size(), oihw.size());
  EXPECT_EQ(biases.size(), bias.size());
}

TEST(PackPieces, EveryWeightAndBias) {
  for (const auto& [lanes, num_vecs] : {std::pair{8, 16}, std::pair{16, 32}}) {
    for (const int64_t oc : {1, 3, 4, 12, 17, 21}) {
      for (const int64_t ic : {1, 9, 20}) {
        for (const int64_t kw : {1, 3, 17}) {
          const Layer layer{2, ic, oc, 2, kw, lanes, num_vecs};
          CheckLayer(layer, SplitGroup(layer));
        }
      }
    }
  }
}

TEST(PackPieces, WeightsLieInTheOrderOfTheSum) {
  const Layer layer{1, 3, 1, 2, 3, 8, 16};  // three inputs in one step of eight
  const std::vector<Piece> pieces = SplitGroup(layer);
  ASSERT_EQ(pieces[0].feed, Feed::kVector);
  const PackLayout layout = LayOut(layer, pieces);
  std::vector<float> oihw(18), payload(static_cast<size_t>(layout.payload_floats), 0.0f);
  for (size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<float>(i + 1);
  PackPieces(layer, pieces, layout, oihw.data(), nullptr, payload.data());
  const float* weights = payload.data() + layout.pieces[0].weights;
  for (int64_t kh = 0; kh < 2; ++kh) {
    for (int64_t kw = 0; kw < 3; ++kw) {
      for (int64_t ic = 0; ic < 8; ++ic) {
        EXPECT_EQ(weights[(kh * 3 + kw) * 8 + ic], ic < 3 ? oihw[ic * 6 + kh * 3 + kw] : 0.0f);
      }
    }
  }
}

}  // namespace
}  // namespace rafter::strip
