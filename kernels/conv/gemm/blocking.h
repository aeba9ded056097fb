// kernels/conv/gemm/blocking.h: the choices of a plan: tiles of pixels, segments, passes, blocks of channels, threads.
#ifndef RAFTER_KERNELS_CONV_GEMM_BLOCKING_H_
#define RAFTER_KERNELS_CONV_GEMM_BLOCKING_H_

#include <cstdint>
#include <vector>

#include "jit/isa.h"
#include "kernels/conv/problem.h"
#include "runtime/machine_model.h"

namespace rafter::gemm {

struct Blocking {
  int64_t segment_pixels = 0, segments = 1;  // per image; whole tiles, the last segment may be shorter
  int64_t pass = 0;                          // k per pass
  int64_t block_channels = 0;                // whole tiles of channels
  int64_t channel_parts = 1;                 // items per segment
  int64_t pixels_ahead = 0;                  // of what is read and written, prefetched
  // Segments are copied to a stage before, and from another one behind their sums (stage.h), past the caches.
  bool staged = false;
  int threads = 1;
  double predicted_us = 0;
};

Blocking ChooseBlocking(const ConvProblem& problem, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads);

// Output channels of a tile of this many vectors.
int TileChannels(const jit::IsaInfo& isa, int vecs);
// A multiple of all of those.
int ChannelUnit(const jit::IsaInfo& isa);

// Widths in pixels of the tiles that cover `pixels`: as many of the largest as leave no single vector, since that one
// would be short of FMAs.
std::vector<int32_t> CutPixels(int64_t pixels, int lanes);

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_BLOCKING_H_
