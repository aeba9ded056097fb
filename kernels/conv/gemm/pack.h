// kernels/conv/gemm/pack.h: packed weights of the matrix product.
//
//   payload = a line that says whether all weights are finite (1 or 0), bias[group][oc rounded up to a panel], rounded
//   up to a line, then weights[group][panel][k][channel of the panel]
//
// k runs over blocks of input channels (SumBlock), kernel rows, kernel columns, channels of the block. Channels beyond
// the last one are zero. Nothing depends on the vector width.
#ifndef RAFTER_KERNELS_CONV_GEMM_PACK_H_
#define RAFTER_KERNELS_CONV_GEMM_PACK_H_

#include <cstdint>

#include "kernels/conv/gemm/spec.h"
#include "kernels/conv/plan.h"

namespace rafter::gemm {

inline constexpr int64_t kFiniteFloats = 16;  // before the bias; the first one is the answer

struct WeightLayout {
  int64_t groups = 1, ic_g = 0, oc_g = 0, kh = 0, kw = 0;
  int64_t bias_floats = 0, payload_floats = 0;

  int64_t sum_length() const { return ic_g * kh * kw; }
  int64_t panels() const { return (oc_g + kPanelChannels - 1) / kPanelChannels; }
  // Offsets in floats; `channel` counts within the group.
  int64_t bias(int64_t group, int64_t channel) const {
    return kFiniteFloats + group * panels() * kPanelChannels + channel;
  }
  int64_t weights(int64_t group, int64_t channel) const {
    return bias_floats + (group * panels() + channel / kPanelChannels) * sum_length() * kPanelChannels +
           channel % kPanelChannels;
  }
};
WeightLayout LayOutWeights(const ConvProblem& problem);

// The header of these weights, without checksum.
PackedHeader WeightHeader(const WeightLayout& layout);

// `oihw` dense; `bias` of oc values or null; `payload` zeroed.
void PackWeights(const WeightLayout& layout, const float* oihw, const float* bias, float* payload) noexcept;

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_PACK_H_
