// kernels/conv/strip/pack.h: packed weights of the strip engine.
//
//   payload = for each piece: bias[unit][pattern][lane]; then for each piece: weights[unit]:
//   weights = [kh][group of columns][step][column][vector][lane]
//
// The kernel reads weights front to back in the order of its sum. Lanes without a weight are zero.
#ifndef RAFTER_KERNELS_CONV_STRIP_PACK_H_
#define RAFTER_KERNELS_CONV_STRIP_PACK_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/plan.h"
#include "kernels/conv/strip/piece.h"

namespace rafter::strip {

// Where a piece lies; in floats.
struct PackedPiece {
  int64_t bias = 0, bias_unit = 0;          // first unit, and from unit to unit
  int64_t weights = 0, weights_unit = 0, weights_row = 0, weights_column = 0;  // … kh, group of columns
};

struct PackLayout {
  std::vector<PackedPiece> pieces;
  int64_t bias_floats = 0, payload_floats = 0;
};

// Empty pieces: the payload would exceed 64 bits.
PackLayout LayOut(const Layer& layer, const std::vector<Piece>& pieces);

PackedHeader HeaderOf(const Layer& layer, const PackLayout& layout, PackedFormat format);

// `oihw` dense [groups * oc_g][ic_g][kh][kw]; `bias` [groups * oc_g] or null; `payload` zeroed.
void PackPieces(const Layer& layer, const std::vector<Piece>& pieces, const PackLayout& layout,
                const float* oihw, const float* bias, float* payload) noexcept;

// One value per output channel into the lanes of bias vectors; `to` has layout.bias_floats zeros.
void PackPerChannel(const Layer& layer, const std::vector<Piece>& pieces, const PackLayout& layout,
                    const float* values, float* to) noexcept;

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_PACK_H_
