// kernels/conv/strip/piece.cc
#include "kernels/conv/strip/piece.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>

#include "kernels/conv/strip/tuning.h"
#include "kernels/sizes.h"

namespace rafter::strip {

namespace {

std::span<const StripShape> Shapes(const Layer& layer) {
  if (layer.num_vecs >= 32) return kShapes32;
  return kShapes16;
}

// Registers that a step needs beside accumulators and weights.
int StepRegisters(Feed feed) {
  return feed == Feed::kPermute ? 3 : feed == Feed::kBlend ? 2 : 1;
}

// Different input pixels that `columns` columns of px pixels read.
double Positions(int64_t px, int64_t columns, const Along& along) {
  const int64_t divisor = std::gcd(along.stride, along.dilation);
  const int64_t columns_apart = along.stride / divisor, pixels_apart = along.dilation / divisor;
  const int64_t shared = std::max<int64_t>(0, columns - columns_apart) *
                         std::max<int64_t>(0, px - pixels_apart);
  return static_cast<double>(px * columns - shared);
}

struct FeedCost {
  double loads, shuffles;  // per input; shuffles share a pipe with FMAs
};
FeedCost CostOfFeed(const Layer& layer, const Piece& piece) {
  switch (piece.feed) {
    case Feed::kVector: return {layer.ic_g % layer.lanes == 0 ? 1 : kUnalignedLoads, 0};
    case Feed::kInLane: return {1, layer.ic_g == 4 ? kInLaneShuffles : 0};
    case Feed::kPermute: return {kUnalignedLoads, layer.lanes == 8 ? kPermute8Shuffles : kPermute16Shuffles};
    case Feed::kBlend: return {static_cast<double>(piece.groups), piece.groups - 1.0};
    default: return {1, 0};
  }
}

double StepCycles(const Layer& layer, const Piece& piece, int px, const Along& along,
                  const MachineModel& machine) {
  const auto columns = static_cast<double>(ColumnsPerStep(layer, piece.feed));
  const double vecs = piece.vecs, pipes = machine.fma_pipes;
  const FeedCost feed = CostOfFeed(layer, piece);
  double inputs = px * columns;
  if (piece.vecs == 1) {
    const int held = std::max(1, layer.num_vecs - px - StepRegisters(piece.feed));
    const auto together = static_cast<int64_t>(std::min<double>(columns, held));
    inputs = Positions(px, together, along) * columns / static_cast<double>(together);
  }
  const double fmas = px * columns * vecs;
  const double loads = (inputs * feed.loads + columns * vecs) / machine.load_ports;
  const double shuffles = (fmas + inputs * feed.shuffles) / (pipes + 1);
  const double chain = columns * machine.fma_latency;
  return std::max({fmas / pipes, loads, shuffles, chain}) + kStepCycles;
}

}  // namespace

Layer LayerOf(const ConvProblem& problem, const jit::IsaInfo& isa) {
  const ConvDesc& d = problem.desc;
  return {d.groups, problem.ic_g, problem.oc_g, d.kernel.h, d.kernel.w, isa.vec_lanes(), isa.num_vecs};
}

int64_t ChannelsPerStep(Feed feed, int lanes) {
  return feed == Feed::kVector ? lanes : feed == Feed::kBroadcast2 ? 2 : 1;
}

int64_t OutputsPerVector(Feed feed, int lanes) { return lanes / ChannelsPerStep(feed, lanes); }

int64_t ColumnsPerStep(const Layer& layer, Feed feed) {
  if (layer.kw > kMaxColumns) return 1;
  if (HoldsGroups(feed) && layer.kw * layer.ic_g > kMaxUnrolled) return 1;
  return layer.kw;
}

int64_t StepsPerTap(const Layer& layer, Feed feed) {
  return CeilDiv(layer.ic_g, HoldsGroups(feed) ? 1 : ChannelsPerStep(feed, layer.lanes));
}

int MaxPixels(const Layer& layer, Feed feed, int vecs) {
  for (const StripShape& shape : Shapes(layer)) {
    if (shape.vecs != vecs) continue;
    if (vecs > 1) return shape.px;
    const auto weights = static_cast<int>(std::min<int64_t>(3, ColumnsPerStep(layer, feed)));
    return std::min(shape.px, layer.num_vecs - StepRegisters(feed) - weights);
  }
  return 0;
}

std::vector<int> VectorCounts(const Layer& layer) {
  std::vector<int> counts;
  for (const StripShape& shape : Shapes(layer)) counts.push_back(shape.vecs);
  return counts;
}

double StripCycles(const Layer& layer, const Piece& piece, int px, const Along& along,
                   const MachineModel& machine) {
  const double groups_of_columns =
      static_cast<double>(layer.kw / ColumnsPerStep(layer, piece.feed));
  const double steps = static_cast<double>(layer.kh) * groups_of_columns *
                       static_cast<double>(StepsPerTap(layer, piece.feed));
  const double accs = px * piece.vecs;
  const bool parts = piece.feed == Feed::kBroadcast2 || piece.feed == Feed::kVector;
  // Vectors of 8 channels or less in one store, parts of them in up to three.
  const double stores =
      px * static_cast<double>(piece.channels / 8 + std::min<int64_t>(piece.channels % 8, 2));
  return steps * along.inside * StepCycles(layer, piece, px, along, machine) + kStripCycles +
         static_cast<double>(layer.kh) * groups_of_columns * kRowCycles + accs * kAccumulatorCycles +
         (parts ? accs * kPartCycles : 0) + stores * kStoreCycles;
}

std::vector<Piece> SplitGroup(const Layer& layer) {
  // The model of no machine in particular: pieces must be the same everywhere.
  static const MachineModel machine;
  std::vector<Piece> candidates;
  std::vector<double> costs;  // per pixel
  for (const Feed feed : {Feed::kBroadcast1, Feed::kBroadcast2, Feed::kVector}) {
    for (const int vecs : VectorCounts(layer)) {
      Piece piece;
      piece.feed = feed, piece.vecs = vecs;
      piece.px = MaxPixels(layer, feed, vecs);
      piece.channels = vecs * OutputsPerVector(feed, layer.lanes);
      piece.units = layer.groups;
      candidates.push_back(piece);
      costs.push_back(StripCycles(layer, piece, piece.px, {}, machine) / piece.px);
    }
  }
  // cheapest[c]: the least cost of c channels, and the first piece that reaches it.
  std::vector<double> cheapest(static_cast<size_t>(layer.oc_g) + 1, 0.0);
  std::vector<size_t> choice(cheapest.size(), 0);
  for (int64_t c = 1; c <= layer.oc_g; ++c) {
    cheapest[c] = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < candidates.size(); ++i) {
      const double cost = costs[i] + cheapest[std::max<int64_t>(0, c - candidates[i].channels)];
      if (cost < cheapest[c]) cheapest[c] = cost, choice[c] = i;
    }
  }
  std::vector<Piece> pieces;
  for (int64_t left = layer.oc_g; left > 0;) {
    pieces.push_back(candidates[choice[left]]);
    left -= pieces.back().channels;
  }
  // Full pieces first, so that the last one takes what is left.
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.channels > b.channels; });
  int64_t first = 0;
  for (Piece& piece : pieces) {
    piece.first_channel = first;
    piece.channels = std::min(piece.channels, layer.oc_g - first);
    first += piece.channels;
  }
  return pieces;
}

}  // namespace rafter::strip
