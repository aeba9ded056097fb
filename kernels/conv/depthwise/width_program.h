// kernels/conv/depthwise/width_program.h: how the columns of a row are cut into tiles of whole
// vectors for the width kernel, and which lanes of which taps lie inside the image where a tile
// touches its border.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PROGRAM_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PROGRAM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/conv/depthwise/axis.h"
#include "kernels/conv/depthwise/width_spec.h"

namespace rafter::depthwise {

struct WidthRun {
  int64_t begin = 0;  // first output column
  int64_t tiles = 1;
  int vecs = 1;
  bool edge = false;
  uint16_t first_taps = 0, last_taps = 0;  // edge: taps of which some lanes lie outside
  int64_t vec_step = 0;  // edge: output columns between the first and the last vector
  int last_lanes = 0;    // edge: columns that the last vector stores; 0: all
  size_t masks = 0;      // edge: index of the first entry
};

struct WidthProgram {
  std::vector<WidthRun> runs;
  std::vector<TapMasks> masks;  // per edge run: [tap][first, last vector]
};

struct WidthShape {
  int lanes = 8;
  int vecs = 1;  // most per tile
  bool may_overlap =
      true;  // whether the last vector may compute columns of the one before it again
};

// Nothing when the padding makes too many tiles with masks. The stride must be 1 or 2, the kernel at most
// 16 columns wide.
std::optional<WidthProgram> MakeWidthProgram(const Axis& columns, const WidthShape& shape);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PROGRAM_H_
