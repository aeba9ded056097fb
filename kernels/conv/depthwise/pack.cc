// kernels/conv/depthwise/pack.cc
#include "kernels/conv/depthwise/pack.h"

#include <algorithm>

#include "kernels/conv/depthwise/channel_spec.h"

namespace rafter::depthwise {

namespace {

// One block: lane l is output channel first + l; channels below 0 or behind the last one stay zero.
void PackBlock(int64_t first, int64_t oc, int64_t taps, const float* oihw, const float* bias,
               float* block) {
  const int64_t begin = std::max<int64_t>(0, -first), end = std::min(kBlock, oc - first);
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t channel = first + lane;
    if (bias != nullptr) block[lane] = bias[channel];
    for (int64_t tap = 0; tap < taps; ++tap)
      block[(1 + tap) * kBlock + lane] = oihw[channel * taps + tap];
  }
}

}  // namespace

BlockLayout LayOutBlocks(int64_t oc, int64_t taps) {
  BlockLayout layout;
  layout.blocks = (oc + kBlock - 1) / kBlock;
  layout.block_floats = ((1 + taps) | 1) * kBlock;
  layout.has_last = oc % kBlock != 0;
  layout.payload_floats = (layout.blocks + layout.has_last) * layout.block_floats;
  return layout;
}

PackedHeader BlockHeader(const ConvProblem& problem) {
  const ConvDesc& d = problem.desc;
  PackedHeader header;
  header.format = static_cast<uint32_t>(PackedFormat::kDepthwise);
  header.vec_lanes = 0;
  header.groups = d.groups, header.ic_g = problem.ic_g, header.oc_g = problem.oc_g;
  header.kh = d.kernel.h, header.kw = d.kernel.w;
  header.payload_bytes =
      static_cast<uint64_t>(LayOutBlocks(d.oc, d.kernel.h * d.kernel.w).payload_floats) *
      sizeof(float);
  return header;
}

void PackBlocks(int64_t oc, int64_t taps, const float* oihw, const float* bias,
                float* payload) noexcept {
  const BlockLayout layout = LayOutBlocks(oc, taps);
  for (int64_t block = 0; block < layout.blocks; ++block) {
    PackBlock(block * kBlock, oc, taps, oihw, bias, payload + block * layout.block_floats);
  }
  if (layout.has_last) {
    PackBlock(oc - kBlock, oc, taps, oihw, bias, payload + layout.blocks * layout.block_floats);
  }
}

}  // namespace rafter::depthwise
