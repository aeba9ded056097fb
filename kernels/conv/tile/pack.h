// kernels/conv/tile/pack.h: packed weights of the tile engine: panels of one vector of output channels.
//
//   payload = bias[group][panel][lane], then panel[group][panel]:
//   panel   = [block of input channels (SumBlock)][kh][kw][channel of the block][lane]
//
// The kernel reads a panel front to back in exactly the order of its sum. Panels cover oc/group rounded up to
// 16 channels, missing ones are zero. Panels lie one cache line further apart than their length, rounded up,
// so that tiles of several vectors do not read from the same L1 set all the time (lengths tend to be powers of two).
#ifndef RAFTER_KERNELS_CONV_TILE_PACK_H_
#define RAFTER_KERNELS_CONV_TILE_PACK_H_

#include <cstdint>

#include "kernels/conv/plan.h"
#include "kernels/conv/tile/geometry.h"

namespace rafter::tile {

struct PanelLayout {
  int64_t lanes = 0;           // per vector
  int64_t panels = 0;          // per group
  int64_t panel_stride = 0;    // floats
  int64_t bias_floats = 0;     // of all groups; the panels start behind them
  int64_t payload_floats = 0;

  // Offsets in floats.
  int64_t bias(int64_t group, int64_t panel) const { return (group * panels + panel) * lanes; }
  int64_t weights(int64_t group, int64_t panel) const {
    return bias_floats + (group * panels + panel) * panel_stride;
  }
};

PanelLayout LayOutPanels(const Geometry& g, int lanes);

// The header of these weights, without checksum.
PackedHeader PanelHeader(const Geometry& g, const PanelLayout& layout);

// `oihw` dense [groups * oc_g][ic_g][kh][kw]; `bias` [groups * oc_g] or null; `payload` zeroed.
void PackPanels(const Geometry& g, const PanelLayout& layout, const float* oihw, const float* bias,
                float* payload) noexcept;

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_PACK_H_
