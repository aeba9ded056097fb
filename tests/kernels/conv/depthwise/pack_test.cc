// Packed weights of depthwise: blocks of 16 channels with their biases, and one more over the last
// 16 channels.
#include "kernels/conv/depthwise/pack.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::depthwise {
namespace {

TEST(DepthwisePack, BlocksAndTheLastSixteenChannels) {
  constexpr int64_t kTaps = 9;
  for (int64_t oc : {1, 5, 16, 20, 37}) {
    const BlockLayout layout = LayOutBlocks(oc, kTaps);
    EXPECT_EQ(layout.blocks, (oc + 15) / 16);
    EXPECT_EQ(layout.has_last, oc % 16 != 0);
    EXPECT_EQ(layout.block_floats / 16 % 2, 1) << "an odd number of lines";
    std::vector<float> weights(static_cast<size_t>(oc * kTaps)), bias(static_cast<size_t>(oc));
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i + 1);
    for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
    std::vector<float> payload(static_cast<size_t>(layout.payload_floats), 0.0f);
    PackBlocks(oc, kTaps, weights.data(), bias.data(), payload.data());
    const auto check = [&](int64_t block, int64_t first) {
      for (int64_t lane = 0; lane < 16; ++lane) {
        const int64_t channel = first + lane;
        const bool real = channel >= 0 && channel < oc;
        const float* at = payload.data() + block * layout.block_floats + lane;
        EXPECT_EQ(at[0], real ? bias[static_cast<size_t>(channel)] : 0.0f);
        for (int64_t tap = 0; tap < kTaps; ++tap) {
          EXPECT_EQ(at[(1 + tap) * 16],
                    real ? weights[static_cast<size_t>(channel * kTaps + tap)] : 0.0f);
        }
      }
    };
    for (int64_t block = 0; block < layout.blocks; ++block) check(block, block * 16);
    if (layout.has_last) check(layout.blocks, oc - 16);
  }
}

}  // namespace
}  // namespace rafter::depthwise
