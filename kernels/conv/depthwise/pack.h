// kernels/conv/depthwise/pack.h: packed weights, the same for all layouts and instruction sets.
//
//   payload = block[ceil(oc / 16)], and one more when oc is no multiple of 16
//   block   = [bias: 16 channels][kh][kw][16 channels]
//
// The additional block holds the last 16 output channels (its first lanes are zero when there are
// fewer): kernels whose last vector would be partly filled compute it over the last full vector of
// channels instead. Blocks are an odd number of lines long, so that they do not fall into the same
// L1 sets.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_PACK_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_PACK_H_

#include <cstdint>

#include "kernels/conv/plan.h"

namespace rafter::depthwise {

struct BlockLayout {
  int64_t blocks = 0;  // without the additional one
  int64_t block_floats = 0;
  bool has_last = false;  // whether there is an additional block
  int64_t payload_floats = 0;
};

BlockLayout LayOutBlocks(int64_t oc, int64_t taps);

// The header of these weights, without checksum.
PackedHeader BlockHeader(const ConvProblem& problem);

// `oihw` dense [oc][1][kh][kw]; `bias` [oc] or null; `payload` zeroed.
void PackBlocks(int64_t oc, int64_t taps, const float* oihw, const float* bias,
                float* payload) noexcept;

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_PACK_H_
