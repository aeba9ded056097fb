// kernels/conv/grouped/blocking.h: how the channels of all groups are laid into vectors. A pure function of the layer.
#ifndef RAFTER_KERNELS_CONV_GROUPED_BLOCKING_H_
#define RAFTER_KERNELS_CONV_GROUPED_BLOCKING_H_

#include <vector>

#include "kernels/conv/strip/piece.h"

namespace rafter::grouped {

// Covers every output channel of every group once.
std::vector<strip::Piece> ChoosePieces(const strip::Layer& layer);

}  // namespace rafter::grouped

#endif  // RAFTER_KERNELS_CONV_GROUPED_BLOCKING_H_
