// kernels/conv/widthwise/pack.cc
#include "kernels/conv/widthwise/pack.h"

#include <algorithm>
#include <cmath>

#include "kernels/sizes.h"

namespace rafter::widthwise {

ChannelCut CutChannels(int64_t oc_g) {
  ChannelCut cut;
  cut.tiles = (oc_g + kMaxTileChannels - 1) / kMaxTileChannels;
  cut.size = (oc_g + cut.tiles - 1) / cut.tiles;
  cut.wide = oc_g - cut.tiles * (cut.size - 1);
  return cut;
}

WeightLayout LayOutWeights(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  WeightLayout layout{d.groups, problem.ic_g, problem.oc_g, d.kernel.h, d.kernel.w};
  layout.bias_floats = kFiniteFloats + (d.oc + kLineFloats - 1) / kLineFloats * kLineFloats;
  layout.payload_floats = layout.bias_floats + d.oc * layout.sum_length();
  return layout;
}

PackedHeader WeightHeader(const WeightLayout& layout) {
  PackedHeader header;
  header.format = static_cast<uint32_t>(PackedFormat::kWidthwise);
  header.groups = layout.groups, header.ic_g = layout.ic_g, header.oc_g = layout.oc_g;
  header.kh = layout.kh, header.kw = layout.kw;
  header.payload_bytes = static_cast<uint64_t>(layout.payload_floats) * sizeof(float);
  return header;
}

void PackWeights(const WeightLayout& layout, const float* oihw, const float* bias,
                 float* payload) noexcept {
  if (bias != nullptr) std::copy_n(bias, layout.groups * layout.oc_g, payload + layout.bias(0));
  const int64_t count = layout.groups * layout.oc_g * layout.sum_length();
  payload[0] = std::all_of(oihw, oihw + count, [](float w) { return std::isfinite(w); }) ? 1 : 0;
  const ChannelCut cut = CutChannels(layout.oc_g);
  const int64_t length = layout.sum_length(), taps = layout.kh * layout.kw,
                step = SumBlock(layout.ic_g);
  for (int64_t group = 0; group < layout.groups; ++group) {
    for (int64_t tile = 0; tile < cut.tiles; ++tile) {
      const int64_t channel = group * layout.oc_g + cut.begin(tile), channels = cut.channels(tile);
      const float* from = oihw + channel * length;
      float* to = payload + layout.weights(channel);
      for (int64_t block = 0; block < layout.ic_g; block += step) {
        const int64_t end = std::min(block + step, layout.ic_g);
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t ic = block; ic < end; ++ic) {
            for (int64_t c = 0; c < channels; ++c) *to++ = from[c * length + ic * taps + tap];
          }
        }
      }
    }
  }
}

}  // namespace rafter::widthwise
