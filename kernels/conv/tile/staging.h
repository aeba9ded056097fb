// kernels/conv/tile/staging.h: copies of inputs whose pixels lie far apart. A group of few channels uses a part of each
// pixel only: every pixel lies on another page, no prefetcher follows, and pixels a power of two apart share few sets
// of each cache, so that every tap reads its inputs from beyond L2. Instead the rows that a chunk needs, of some groups
// at a time, are copied to a dense buffer, which stays in L2 while the chunk runs.
//
// Not for: padding (taps outside of the image are left out, staged or not), layouts with blocks of channels (their
// pixels lie together), one group (all of a pixel is used).
#ifndef RAFTER_KERNELS_CONV_TILE_STAGING_H_
#define RAFTER_KERNELS_CONV_TILE_STAGING_H_

#include <cstdint>

#include "kernels/conv/tile/geometry.h"
#include "runtime/machine_model.h"

namespace rafter::tile {

// What one copy holds: stage[row][column][channel of `groups` groups]. The default: nothing, inputs are read in place.
struct Staging {
  int64_t groups = 0;    // of channels; a divisor of the convolution's
  int64_t out_rows = 0;  // rows of outputs that a chunk computes, at most
  int64_t in_rows = 0;   // rows of inputs that they need, at most
  int64_t pixel = 0, row = 0;  // floats between columns and between rows
  double cycles = 0;     // predicted, of all copies of a call

  bool used() const { return groups > 0; }
  int64_t floats() const { return in_rows * row; }
};

// The copies that suit this geometry, whether or not they pay; unused where pixels do not lie far apart.
Staging StagingFor(const Geometry& g, const MachineModel& machine);

// The geometry that the kernels see: inputs at the distances of the stage.
Geometry StagedGeometry(const Geometry& g, const Staging& staging);

// Predicted cycles that a tile of `px` pixels waits for inputs read in place, where StagingFor has copies to offer.
double FarCycles(const Geometry& g, const MachineModel& machine, int px);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_STAGING_H_
