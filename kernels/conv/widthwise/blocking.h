// kernels/conv/widthwise/blocking.h: the choices of a plan: tile shapes, strips, split over
// threads, predicted time. A pure function of geometry, ISA, machine model and thread count.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_BLOCKING_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_BLOCKING_H_

#include <cstdint>

#include "jit/isa.h"
#include "kernels/conv/widthwise/geometry.h"
#include "runtime/machine_model.h"

namespace rafter::widthwise {

struct Blocking {
  int max_vecs = 1;  // vectors per tile
  bool even_ends = false;  // of rows (row_cut.h)
  // Work is cut into strips (rows of an image of a group), segments (tiles of a row) and parts (channel tiles; groups
  // with over_groups).
  int64_t strip_rows = 1, strips = 1;
  int64_t segment_tiles = 1, segments = 1;
  int64_t channel_parts = 1;
  int64_t channels_per_pass = 1;  // input channels
  bool across = false;  // one call for the tiles of a row beside each other, instead of for those
                        // below each other
  // One call for the same tile of all channel tiles of a part, which are those of a group, or of all groups where each
  // has one: short rows and small images, whose calls would take longer than their sums.
  bool over_channels = false, over_groups = false;
  bool prefetches_output = false;
  bool staged = false;  // inputs of a strip are copied first (stage.h)
  int threads = 1;
  double predicted_us = 0;
};

Blocking ChooseBlocking(const Geometry& g, const jit::IsaInfo& isa, const MachineModel& machine,
                        int threads);

// Most output rows of a tile of this many vectors and output channels.
int MaxRows(const Geometry& g, const jit::IsaInfo& isa, int vecs, int ocs);

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_BLOCKING_H_
