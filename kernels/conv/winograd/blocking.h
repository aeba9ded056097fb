// kernels/conv/winograd/blocking.h: how many tiles are transformed, multiplied and transformed back together, what
// threads share, and the predicted time. Pure.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_BLOCKING_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_BLOCKING_H_

#include <cstdint>

#include "jit/isa.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/winograd/axis.h"
#include "kernels/conv/winograd/pack.h"
#include "runtime/parallel.h"

namespace rafter::winograd {

// Sizes of the problem in tiles.
struct Geometry {
  TileShape shape;
  int64_t tiles_h = 0, tiles_w = 0;  // of one image
  int64_t tiles = 0;                 // of all images

  static Geometry Of(const ConvProblem& problem, TileShape shape);
};

// Rows of V and M, floats between tiles and between positions.
struct Rows {
  int64_t tile = 0, position = 0;
};
// For `tiles` tiles of `channels` channels: rows a cache line apart from powers of two, positions an odd number
// of lines apart.
Rows LayOutRows(int64_t tiles, int64_t channels, int lanes);

// How threads divide the work.
enum class Split : uint8_t {
  kBlocks,    // whole blocks
  kStages,    // of each block first its tiles, whose inputs they transform, then its output channels
  kChannels,  // of each block its output channels; every thread transforms all inputs for itself
  kPositions,  // of each block first its inputs, then the positions, then its tiles' outputs
};

struct Blocking {
  // Tiles are taken in units of `grain` (whole rows of tiles where rows are transposed, else 1).
  int64_t grain = 1, units = 0;
  int64_t blocks = 1;           // of units, nearly equal
  int64_t max_tiles = 0;        // of a block
  int64_t groups = 1;           // of channels, whose V and M lie side by side in a block; a divisor of all
  Split split = Split::kBlocks;
  bool prefetches_weights = false;
  int threads = 1;
  double predicted_us = 0;

  Range Tiles(int64_t block) const {
    const Range range = SplitRange(units, blocks, block);
    return {range.begin * grain, range.end * grain};
  }
};

Blocking ChooseBlocking(const ConvProblem& problem, const Geometry& g, const PackLayout& layout,
                        const jit::IsaInfo& isa, const PlanContext& context);

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_BLOCKING_H_
