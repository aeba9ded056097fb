// Panels hold each weight at its place, zeros elsewhere.
#include "kernels/conv/tile/pack.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/conv/tile/spec.h"

namespace rafter::tile {
namespace {

TEST(Pack, EveryWeightAtItsPlace) {
  for (const int lanes : {8, 16}) {
    for (const auto& [groups, ic, oc] :
         {std::tuple<int64_t, int64_t, int64_t>{1, 20, 33}, {3, 5, 7}, {2, 32, 16}, {1, 150, 9}}) {
      Geometry g;
      g.groups = groups, g.ic_g = ic, g.oc_g = oc, g.kernel = {2, 3};
      const PanelLayout layout = LayOutPanels(g, lanes);
      std::vector<float> oihw(groups * oc * ic * 6), bias(groups * oc);
      for (size_t i = 0; i < oihw.size(); ++i) oihw[i] = static_cast<float>(i + 1);
      for (size_t i = 0; i < bias.size(); ++i) bias[i] = -static_cast<float>(i + 1);
      std::vector<float> payload(layout.payload_floats, 0.0f);
      PackPanels(g, layout, oihw.data(), bias.data(), payload.data());
      size_t nonzero = 0;
      for (const float x : payload) nonzero += x != 0.0f;
      EXPECT_EQ(nonzero, oihw.size() + bias.size());
      for (int64_t o = 0; o < groups * oc; ++o) {
        const int64_t group = o / oc, panel = o % oc / lanes, lane = o % oc % lanes;
        EXPECT_EQ(payload[layout.bias(group, panel) + lane], bias[o]);
        for (int64_t i = 0; i < ic; ++i) {
          const int64_t step = SumBlock(ic);
          const int64_t block = i / step, channels = std::min(step, ic - block * step);
          for (int64_t tap = 0; tap < 6; ++tap) {
            const int64_t at = block * step * 6 + tap * channels + i % step;
            EXPECT_EQ(payload[layout.weights(group, panel) + at * lanes + lane],
                      oihw[(o * ic + i) * 6 + tap]);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rafter::tile
