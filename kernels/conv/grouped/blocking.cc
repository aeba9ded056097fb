// kernels/conv/grouped/blocking.cc
#include "kernels/conv/grouped/blocking.h"

#include <algorithm>

#include "jit/assembler.h"

namespace rafter::grouped {

namespace {

using strip::Feed;
using strip::Layer;
using strip::Piece;

// A vector that holds `groups` groups.
Piece VectorOfGroups(const Layer& layer, Feed feed, int64_t groups) {
  Piece piece;
  piece.feed = feed;
  piece.px = MaxPixels(layer, feed, 1);
  piece.groups = static_cast<int>(groups);
  piece.channels = groups * layer.oc_g;
  return piece;
}

std::vector<Piece> Candidates(const Layer& layer) {
  std::vector<Piece> pieces;
  const int64_t most = std::min(layer.groups, layer.lanes / layer.oc_g);
  if (most < 2) return pieces;
  if (layer.ic_g == layer.oc_g && (layer.ic_g == 2 || layer.ic_g == 4)) {
    return {VectorOfGroups(layer, Feed::kInLane, most)};
  }
  const int64_t loaded = std::min<int64_t>(most, layer.lanes / layer.ic_g);
  if (loaded >= 2) pieces.push_back(VectorOfGroups(layer, Feed::kPermute, loaded));
  const int64_t blended = std::min<int64_t>(most, jit::Assembler::kLaneSlots + 1);
  pieces.push_back(VectorOfGroups(layer, Feed::kBlend, blended));
  return pieces;
}

// Cycles per pixel and group, on no machine in particular: pieces must be the same everywhere.
double CostPerGroup(const Layer& layer, const Piece& piece) {
  static const MachineModel machine;
  return StripCycles(layer, piece, piece.px, {}, machine) / piece.px / piece.groups;
}

}  // namespace

std::vector<Piece> ChoosePieces(const Layer& layer) {
  std::vector<Piece> pieces = strip::SplitGroup(layer);
  double cost = 0;
  for (const Piece& piece : pieces) cost += CostPerGroup(layer, piece);
  for (Piece& candidate : Candidates(layer)) {
    const double other = CostPerGroup(layer, candidate);
    if (other >= cost) continue;
    cost = other;
    candidate.units = layer.groups / candidate.groups;
    pieces = {candidate};
    const int64_t rest = layer.groups % candidate.groups;
    if (rest == 0) continue;
    pieces.push_back(VectorOfGroups(layer, candidate.feed, rest));
    pieces.back().first_group = layer.groups - rest;
  }
  return pieces;
}

}  // namespace rafter::grouped
