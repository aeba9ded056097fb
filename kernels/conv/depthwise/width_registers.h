// kernels/conv/depthwise/width_registers.h: what the width kernel keeps in vector registers beside its sums. A pure
// function of the tile, used by the emitter, the choice of tiles and the predictions.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_REGISTERS_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_REGISTERS_H_

#include "kernels/conv/depthwise/width_spec.h"

namespace rafter::depthwise {

struct WidthTile {
  int kh = 1, kw = 1;
  int rows = 1, vecs = 1;    // output rows in flight, vectors per row
  bool every_other = false;  // stride 2
  bool dilated = false;
  bool lines = false;  // kernels of one row, tile after tile along the row (width_line_emitter.cc)
};
WidthTile ShapeOf(const WidthSpec& spec);

// In this order behind the sums: weights that stay for a whole channel, weights at hand, inputs at hand. Either all
// weights stay; or those of a tap for all output rows are at hand and inputs come vector by vector; or the inputs of a
// tap are at hand and weights come one by one, but for the first ones, which stay where registers are left.
struct WidthRegisters {
  bool fits = false;
  bool shifts = false;  // inputs between two loads four taps apart are shifted (width_tap_emitter.cc)
  bool pairs = false;  // stride 2: neighbouring taps take the even and the odd lanes of the same loads
  int held = 0, weights = 0, inputs = 1;

  bool all() const { return weights == 0; }
  bool one_by_one() const { return weights == 1 && single; }
  int total() const { return held + weights + inputs; }
  bool single = false;  // weights come one by one
  double loads = 0;     // of inputs and weights for an input row
};

WidthRegisters ChooseWidthRegisters(int registers, const WidthTile& tile);

// Most vectors per tile, 0: none; `tile` without them.
int MaxWidthVecs(int registers, WidthTile tile);

// Vectors of the tiles of lines; `tile` without them.
int LineVecs(int registers, WidthTile tile);

// Rows and vectors of the tiles of bands (width_band_emitter.cc); `tile` without them.
WidthTile ChooseBandTile(int registers, WidthTile tile, int row_stride);
// Instructions of such a tile.
double BandTileInstructions(int registers, const WidthTile& tile, int row_stride);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_REGISTERS_H_
