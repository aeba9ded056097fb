// kernels/conv/gemm/pack.cc
#include "kernels/conv/gemm/pack.h"

#include <algorithm>
#include <cmath>

#include "kernels/conv/gemm/columns.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

WeightLayout LayOutWeights(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  WeightLayout layout{d.groups, problem.ic_g, problem.oc_g, d.kernel.h, d.kernel.w};
  const int64_t channels = d.groups * layout.panels() * kPanelChannels;
  layout.bias_floats = kFiniteFloats + (channels + kLineFloats - 1) / kLineFloats * kLineFloats;
  layout.payload_floats = layout.bias_floats + channels * layout.sum_length();
  return layout;
}

PackedHeader WeightHeader(const WeightLayout& layout) {
  PackedHeader header;
  header.format = static_cast<uint32_t>(PackedFormat::kGemm);
  header.groups = layout.groups, header.ic_g = layout.ic_g, header.oc_g = layout.oc_g;
  header.kh = layout.kh, header.kw = layout.kw;
  header.payload_bytes = static_cast<uint64_t>(layout.payload_floats) * sizeof(float);
  return header;
}

void PackWeights(const WeightLayout& layout, const float* oihw, const float* bias, float* payload) noexcept {
  const int64_t length = layout.sum_length(), channels = layout.groups * layout.oc_g;
  payload[0] = std::all_of(oihw, oihw + channels * length, [](float w) { return std::isfinite(w); }) ? 1 : 0;
  for (int64_t group = 0; group < layout.groups; ++group) {
    if (bias != nullptr) std::copy_n(bias + group * layout.oc_g, layout.oc_g, payload + layout.bias(group, 0));
    for (int64_t channel = 0; channel < layout.oc_g; ++channel) {
      const float* from = oihw + (group * layout.oc_g + channel) * length;
      float* to = payload + layout.weights(group, channel);
      TapOrder order(layout.ic_g, layout.kh, layout.kw, 0);
      for (int64_t k = 0; k < length; ++k, order.Next(), to += kPanelChannels) {
        *to = from[(order.ic() * layout.kh + order.kh()) * layout.kw + order.kw()];
      }
    }
  }
}

}  // namespace rafter::gemm
