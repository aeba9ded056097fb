// kernels/conv/widthwise/pack.h: packed weights of the widthwise kernels: interleaved by the output
// channels of a tile, so that the broadcasts of a tap are neighbours.
//
//   payload = a line that says whether all weights are finite (1 or 0), bias[oc] rounded up to a
//   line, then weights[group][oc tile]
//   [block of input channels (SumBlock)][kh][kw][channel of the block][channel of the tile]
//
// Tiles have at most kMaxTileChannels channels; sizes differ by at most one, larger ones first.
// Nothing depends on the vector width.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_PACK_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_PACK_H_

#include <cstdint>

#include "kernels/conv/plan.h"

namespace rafter::widthwise {

inline constexpr int64_t kMaxTileChannels = 4;
inline constexpr int64_t kFiniteFloats = 16;  // before the bias; the first one is the answer

// How the output channels of a group are cut into tiles: `wide` tiles of `size` channels, then
// tiles of one less.
struct ChannelCut {
  int64_t tiles = 1, wide = 1, size = 1;
  int64_t channels(int64_t tile) const { return tile < wide ? size : size - 1; }
  int64_t begin(int64_t tile) const { return tile * size - (tile > wide ? tile - wide : 0); }
};
ChannelCut CutChannels(int64_t oc_g);

struct WeightLayout {
  int64_t groups = 1, ic_g = 0, oc_g = 0, kh = 0, kw = 0;
  int64_t bias_floats = 0, payload_floats = 0;

  int64_t sum_length() const { return ic_g * kh * kw; }
  int64_t bias(int64_t channel) const { return kFiniteFloats + channel; }
  // Offset in floats of the tile that starts at output channel `channel` of the convolution.
  int64_t weights(int64_t channel) const { return bias_floats + channel * sum_length(); }
};
WeightLayout LayOutWeights(const ConvProblem& problem);

// The header of these weights, without checksum.
PackedHeader WeightHeader(const WeightLayout& layout);

// `oihw` dense; `bias` of oc values or null; `payload` zeroed.
void PackWeights(const WeightLayout& layout, const float* oihw, const float* bias,
                 float* payload) noexcept;

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_PACK_H_
