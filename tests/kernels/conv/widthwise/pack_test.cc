// Every weight at its place, interleaved by tiles of output channels.
#include "kernels/conv/widthwise/pack.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::widthwise {
namespace {

TEST(CutChannels, TilesDifferByAtMostOne) {
  for (int64_t oc = 1; oc <= 100; ++oc) {
    const ChannelCut cut = CutChannels(oc);
    int64_t next = 0;
    for (int64_t tile = 0; tile < cut.tiles; ++tile) {
      EXPECT_EQ(cut.begin(tile), next) << "oc " << oc << " tile " << tile;
      EXPECT_GE(cut.channels(tile), 1);
      EXPECT_LE(cut.channels(tile), kMaxTileChannels);
      EXPECT_GE(cut.channels(tile), cut.size - 1);
      next += cut.channels(tile);
    }
    EXPECT_EQ(next, oc);
    EXPECT_LE(cut.tiles, (oc + kMaxTileChannels - 1) / kMaxTileChannels)
        << "no more tiles than needed";
  }
}

TEST(Pack, EveryWeightAtItsPlace) {
  ConvDesc desc;
  desc.groups = 2, desc.ic = 6, desc.oc = 14, desc.in = {5, 5}, desc.kernel = {2, 3};
  const Result<ConvProblem> problem = Validate(desc);
  ASSERT_TRUE(problem.ok());
  const WeightLayout layout = LayOutWeights(*problem);
  std::vector<float> oihw(14 * 3 * 6), bias(14);
  for (size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<float>(i + 1);
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
  std::vector<float> payload(static_cast<size_t>(layout.payload_floats), 0.0f);
  PackWeights(layout, oihw.data(), bias.data(), payload.data());
  EXPECT_EQ(payload[0], 1.0f) << "all weights are finite";
  const ChannelCut cut = CutChannels(7);  // 4 + 3
  EXPECT_EQ(cut.tiles, 2);
  for (int64_t group = 0; group < 2; ++group) {
    for (int64_t tile = 0; tile < 2; ++tile) {
      for (int64_t c = 0; c < cut.channels(tile); ++c) {
        const int64_t oc = group * 7 + cut.begin(tile) + c;
        EXPECT_EQ(payload[static_cast<size_t>(layout.bias(oc))], bias[static_cast<size_t>(oc)]);
        for (int64_t k = 0; k < 18; ++k) {
          const int64_t place = k % 6 * 3 + k / 6;  // one block of channels: [kh][kw][ic]
          const int64_t at =
              layout.weights(group * 7 + cut.begin(tile)) + place * cut.channels(tile) + c;
          EXPECT_EQ(payload[static_cast<size_t>(at)], oihw[static_cast<size_t>(oc * 18 + k)]);
        }
      }
    }
  }
}

TEST(Pack, NothingDependsOnTheVectorWidth) {
  ConvDesc desc;
  desc.ic = 3, desc.oc = 5, desc.in = {9, 9}, desc.kernel = {3, 3};
  const PackedHeader header = WeightHeader(LayOutWeights(*Validate(desc)));
  EXPECT_EQ(header.vec_lanes, 0u);
  EXPECT_EQ(header.format, static_cast<uint32_t>(PackedFormat::kWidthwise));
  EXPECT_EQ(header.payload_bytes, (16 + 16 + 5 * 27) * sizeof(float));
}

}  // namespace
}  // namespace rafter::widthwise
