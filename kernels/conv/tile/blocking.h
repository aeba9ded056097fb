// kernels/conv/tile/blocking.h: the choices of a plan: tile shapes, order of loops, split over threads. A pure
// function of geometry, ISA, machine model and thread count.
#ifndef RAFTER_KERNELS_CONV_TILE_BLOCKING_H_
#define RAFTER_KERNELS_CONV_TILE_BLOCKING_H_

#include <cstdint>
#include <string>

#include "jit/isa.h"
#include "kernels/conv/tile/geometry.h"
#include "kernels/conv/tile/spec.h"
#include "kernels/conv/tile/staging.h"
#include "kernels/conv/tile_choice.h"
#include "kernels/inline_vector.h"
#include "runtime/machine_model.h"

namespace rafter::tile {

// Neighbouring groups of output-channel vectors that use the same kernels.
struct ChannelRun {
  int64_t first_vec = 0;  // within the convolution's group
  int64_t count = 0;      // how many tiles of oc_vecs vectors
  int oc_vecs = 0;
  Tail tail = Tail::kNone;
  int tail_lanes = 0;     // used lanes of the last vector, when tail is not kNone
  bool operator==(const ChannelRun&) const = default;
};

using ChannelRuns = InlineVector<ChannelRun, 8>;

enum class Stores {
  kCached,
  kStreamed,  // by the tiles, whose pixels are whole lines: past the caches
  kStaged,    // collected for all channels of a chunk's pixels, then sent past the caches (output_stage.h)
};

// Of 1x1 kernels whose inputs come from beyond L2, for the first channel tile.
enum class InputPrefetch {
  kNone,
  kStream,    // pixels that lie one after the other: one line after the other, some way ahead
  kNextTile,  // pixels with gaps between them: the lines of the next tile's
};

struct Blocking {
  ChannelRuns channels;
  Staging staging;               // copies of inputs, unless they are read in place
  int px_cap = 0;                // upper limit for pixels per tile (aliasing), whatever the shape allows
  int64_t segments = 1;          // stretches per row (long rows only)
  int64_t units_per_chunk = 1;   // rows or stretches that one pass over the output channels covers
  int64_t channel_blocks_per_pass = 0;  // blocks of input channels; all of them unless sums are parked
  Stores stores = Stores::kCached;
  bool prefetches_planes = false;   // inputs in blocks: fetch the lines of the next tile from each plane
  InputPrefetch inputs = InputPrefetch::kNone;
  bool prefetches_weights = false;  // all weights together exceed L2: fetch the next ones while computing
  // Items of work are whole chunks, or numbered in the order of the loops: chunks, channel tiles, parts of a chunk's
  // rows.
  bool takes_whole_chunks = false;
  int64_t parts = 1;
  int threads = 1;
  double predicted_us = 0;
};

// `tile` overrides the register tile; see tile_choice.h.
Blocking ChooseBlocking(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads, const TileChoice& tile = {});

// How the vectors of one pixel lie in the output.
DstOrder DstOrderOf(Layout dst, int lanes);

// Most pixels per tile for this many vectors (0: no such shape).
int MaxPixels(const jit::IsaInfo& isa, int oc_vecs);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_BLOCKING_H_
