// kernels/conv/tile/pack.cc
#include "kernels/conv/tile/pack.h"

#include <algorithm>

#include "kernels/sizes.h"

namespace rafter::tile {

namespace {

constexpr int64_t kOcBlock = 16;  // panels cover whole blocks, so that both vector widths have whole panels

// One panel: `weights` is the first of `lanes` output channels, each `oc_stride` floats long.
void PackPanel(const Geometry& g, int64_t lanes, int64_t panel_lanes, const float* weights,
               float* panel) {
  const int64_t taps = g.taps(), oc_stride = g.ic_g * taps;
  const int64_t step = SumBlock(g.ic_g);
  for (int64_t block = 0; block < g.ic_g; block += step) {
    const int64_t channels = std::min(step, g.ic_g - block);
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t k = 0; k < channels; ++k) {
        const float* from = weights + (block + k) * taps + tap;
        for (int64_t lane = 0; lane < lanes; ++lane) panel[lane] = from[lane * oc_stride];
        panel += panel_lanes;
      }
    }
  }
}

}  // namespace

PanelLayout LayOutPanels(const Geometry& g, int lanes) {
  PanelLayout layout;
  layout.lanes = lanes;
  layout.panels = RoundUp(g.oc_g, kOcBlock) / lanes;
  layout.panel_stride = RoundUp(g.ic_g * g.taps() * lanes, kLineFloats) + kLineFloats;
  layout.bias_floats = RoundUp(g.groups * layout.panels * lanes, kLineFloats);
  layout.payload_floats = layout.bias_floats + g.groups * layout.panels * layout.panel_stride;
  return layout;
}

PackedHeader PanelHeader(const Geometry& g, const PanelLayout& layout) {
  PackedHeader header;
  header.format = static_cast<uint32_t>(PackedFormat::kPanels);
  header.vec_lanes = static_cast<uint32_t>(layout.lanes);
  header.groups = g.groups, header.ic_g = g.ic_g, header.oc_g = g.oc_g;
  header.kh = g.kernel.h, header.kw = g.kernel.w;
  header.payload_bytes = static_cast<uint64_t>(layout.payload_floats) * sizeof(float);
  return header;
}

void PackPanels(const Geometry& g, const PanelLayout& layout, const float* oihw, const float* bias,
                float* payload) noexcept {
  for (int64_t group = 0; group < g.groups; ++group) {
    for (int64_t first = 0; first < g.oc_g; first += layout.lanes) {
      const int64_t panel = first / layout.lanes, channel = group * g.oc_g + first;
      const int64_t lanes = std::min(layout.lanes, g.oc_g - first);
      if (bias != nullptr) {
        std::copy_n(bias + channel, lanes, payload + layout.bias(group, panel));
      }
      PackPanel(g, lanes, layout.lanes, oihw + channel * g.ic_g * g.taps(),
                payload + layout.weights(group, panel));
    }
  }
}

}  // namespace rafter::tile
