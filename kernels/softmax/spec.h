// kernels/softmax/spec.h: the contracts between the softmax kernels and their driver.
//
// Both kernels pass over the channels of a pixel three times: maximum; exp(x - maximum), stored and added up; times
// 1 / sum. What a pass leaves in the first-level cache the next one finds there.
//
//   channels in the lanes (NHWC, blocked layouts): pixel by pixel; channels are chunks of whole vectors, `chunk_step`
//     apart, then single vectors and a tail (NHWC) or a masked block
//   pixels in the lanes (NCHW): vector by vector of pixels, `channel_step` between the channels
#ifndef RAFTER_KERNELS_SOFTMAX_SPEC_H_
#define RAFTER_KERNELS_SOFTMAX_SPEC_H_

#include <cstdint>

#include "rafter/cpu.h"

namespace rafter::softmax {

struct ChannelSpec {
  Isa isa = Isa::kNone;
  uint8_t chunk_vecs = 1;
  // How channels end behind the chunks: with single vectors and a tail of lanes (false), or with a block whose lanes
  // behind the last channel become zero (true).
  bool blocked = false;
};

struct ChannelArgs {
  const float* src;
  float* dst;
  int64_t pixels;                       // at least 1
  int64_t src_step, dst_step;           // bytes from pixel to pixel
  int64_t chunks;                       // full ones
  int64_t src_chunk_step, dst_chunk_step;  // bytes
  int64_t vectors, tail_lanes;          // behind the chunks; blocked: vectors is 1 for a masked block
  const int32_t* mask;                  // a vector, or the vectors of a block
};
using ChannelFunction = void(ChannelArgs*);

struct PixelSpec {
  Isa isa = Isa::kNone;
};

struct PixelArgs {
  const float* src;
  float* dst;
  int64_t pixels, channels;              // at least 1
  int64_t src_step, dst_step;            // bytes from channel to channel
  const int32_t* mask;                   // a vector, -1 for the first pixels % lanes
  int64_t tail_lanes;
};
using PixelFunction = void(PixelArgs*);

}  // namespace rafter::softmax

#endif  // RAFTER_KERNELS_SOFTMAX_SPEC_H_
