// kernels/conv/tile/staging.h: copies of inputs to a dense buffer, which stays in L2 while a chunk of rows runs.
//
// Rows: NHWC whose pixels lie far apart. A group of few channels uses a part of each pixel only: every pixel lies on
// another page, no prefetcher follows, and pixels a power of two apart share few sets of each cache, so that every tap
// reads its inputs from beyond L2. Copied are the rows that a chunk needs, of some groups at a time.
//
// Gathered pixels: 1x1 kernels over blocks of channels. A tile of a few pixels reads two lines of each block's plane:
// planes lie on pages of their own and share few sets of L1, and no prefetcher follows so many streams. Copied are
// the pixels that a chunk uses, all channels side by side, as in NHWC.
//
// Not for: padding (taps outside of the image are left out, staged or not); larger kernels over blocks (they use each
// block's lines for all their taps).
#ifndef RAFTER_KERNELS_CONV_TILE_STAGING_H_
#define RAFTER_KERNELS_CONV_TILE_STAGING_H_

#include <cstdint>

#include "kernels/conv/tile/geometry.h"
#include "runtime/machine_model.h"

namespace rafter::tile {

// What one copy holds: stage[row][column][channel of `groups` groups], or stage[used pixel of the chunk][channel]. The
// default: nothing, inputs are read in place.
struct Staging {
  int64_t block = 0;     // gathered pixels: channels of a block; 0: rows
  int64_t groups = 0;    // of channels; a divisor of the convolution's
  int64_t out_rows = 0;  // rows of outputs that a chunk computes, at most
  int64_t in_rows = 0;   // rows of inputs that they need, at most
  int64_t pixel = 0, row = 0;  // floats between columns, and between rows (of outputs: gathered pixels)
  double cycles = 0;     // predicted, of all copies of a call

  bool used() const { return groups > 0; }
  bool gathers() const { return block > 0; }
  bool copies_rows() const { return used() && !gathers(); }
};

// The copies that suit this geometry, whether or not they pay; unused where nothing lies far apart.
Staging StagingFor(const Geometry& g, const MachineModel& machine, int lanes);

// The geometry that the kernels see: inputs at the distances of the stage.
Geometry StagedGeometry(const Geometry& g, const Staging& staging);

// Predicted cycles that a tile of `px` pixels waits for inputs read in place, where StagingFor has rows to offer.
double FarCycles(const Geometry& g, const MachineModel& machine, int px);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_STAGING_H_
