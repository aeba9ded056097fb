// kernels/conv/strip/piece.h: a convolution's output channels as a list of pieces, each computed by strips of one
// shape and feed; which feeds exist for a layer; what a strip costs. splitk/ and grouped/ choose the pieces.
//
// Pieces depend on the layer and the vector width only, never on the image: packed weights and the order of sums
// follow from them.
#ifndef RAFTER_KERNELS_CONV_STRIP_PIECE_H_
#define RAFTER_KERNELS_CONV_STRIP_PIECE_H_

#include <cstdint>
#include <vector>

#include "jit/isa.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "kernels/conv/strip/spec.h"

namespace rafter::strip {

// What pieces may depend on.
struct Layer {
  int64_t groups = 1, ic_g = 0, oc_g = 0, kh = 1, kw = 1;
  int lanes = 8, num_vecs = 16;  // of the machine's vectors
};
Layer LayerOf(const ConvProblem& problem, const jit::IsaInfo& isa);

struct Piece {
  Feed feed = Feed::kBroadcast1;
  int vecs = 1;              // accumulators per pixel
  int px = 1;                // pixels per strip, at most
  int groups = 1;            // per strip; several when HoldsGroups(feed)
  int64_t first_channel = 0; // within the group
  int64_t channels = 0;      // output channels per strip, all its groups together
  int64_t first_group = 0;   // unit u covers the groups [first_group + u * groups, + groups)
  int64_t units = 1;
};

// Input channels per step of a feed that holds one group, and output channels per accumulator.
int64_t ChannelsPerStep(Feed feed, int lanes);
int64_t OutputsPerVector(Feed feed, int lanes);

// Kernel columns that a step multiplies at once: all of them, or one.
int64_t ColumnsPerStep(const Layer& layer, Feed feed);
// Steps per tap, a last shorter one included.
int64_t StepsPerTap(const Layer& layer, Feed feed);

// Most pixels for so many accumulators each; 0: no such shape.
int MaxPixels(const Layer& layer, Feed feed, int vecs);
// The numbers of accumulators per pixel that have a shape.
std::vector<int> VectorCounts(const Layer& layer);

// Cycles of one strip of px pixels, by the pipes and ports of `machine`.
struct Along {
  int64_t stride = 1, dilation = 1;  // along the row
  double inside = 1;                 // share of the taps that are multiplied
};
double StripCycles(const Layer& layer, const Piece& piece, int px, const Along& along,
                   const MachineModel& machine);

// Splits the channels [0, layer.oc_g) of every group into pieces of one group each, at the least predicted cost.
std::vector<Piece> SplitGroup(const Layer& layer);

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_PIECE_H_
