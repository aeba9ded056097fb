// kernels/conv/widthwise/row_cut.cc
#include "kernels/conv/widthwise/row_cut.h"

#include <algorithm>

#include "kernels/conv/widthwise/spec.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

namespace {

constexpr int64_t kMaxMaskLanes = 1 << 19;  // of all edge tiles together: 2 MiB of masks

class Cutter {
 public:
  Cutter(const Geometry& g, int lanes, int max_vecs, bool even_ends, bool sorts_lanes)
      : g_(g), lanes_(lanes), sorts_lanes_(sorts_lanes) {
    vectors_ = CeilDiv(g.out.w, lanes);
    full_tiles_ = vectors_ / max_vecs;
    max_vecs_ = max_vecs;
    if (const int rest = static_cast<int>(vectors_ % max_vecs); rest > 0) ends_ = {rest};
    if (even_ends && full_tiles_ > 0 && !ends_.empty()) {
      const int both = max_vecs + ends_[0];
      --full_tiles_;
      ends_ = {both - both / 2, both / 2};
    }
    // A moved vector overlaps its neighbour, whose pixels must not be stored before a residual in
    // place is read.
    const bool moves = g.out.w % lanes != 0 && vectors_ > 1;
    const int last = ends_.empty() ? max_vecs : ends_.back();
    if (moves && last == 1 && g.has_residual() && max_vecs > 1) {
      --full_tiles_;
      ends_ = {max_vecs - 1, 2};
    }
  }

  std::optional<RowCut> Cut();

 private:
  Column Tile(int64_t index) const;
  int64_t tiles() const { return full_tiles_ + static_cast<int64_t>(ends_.size()); }
  int64_t VectorBegin(const Column& tile, int v) const {
    return tile.x + v * lanes_ - (v == tile.vecs - 1 ? tile.shift : 0);
  }
  bool IsInterior(const Column& tile) const;
  bool IsValid(int64_t pixel, int64_t column) const {
    const int64_t at = pixel * g_.stride.w + column * g_.dilation.w - g_.pad_left;
    return pixel < g_.out.w && at >= 0 && at < g_.in.w;
  }
  // The last element that loading a vector touches at this kernel column.
  int64_t LastElement(int64_t begin, int64_t column) const {
    return (begin + lanes_ - 1) * g_.stride.w + column * g_.dilation.w - g_.pad_left +
           (sorts_lanes_ ? 1 : 0);
  }
  bool AddEdge(Column tile);
  uint8_t AddTap(const Column& tile, int64_t column);

  const Geometry& g_;
  const int lanes_;
  const bool sorts_lanes_;
  int max_vecs_;
  int64_t vectors_, full_tiles_;
  std::vector<int> ends_;  // vectors of the tiles behind the full ones
  RowCut cut_;
};

Column Cutter::Tile(int64_t index) const {
  Column tile;
  tile.vecs = max_vecs_;
  tile.x = index * max_vecs_ * lanes_;
  if (index >= full_tiles_) {
    tile.x = full_tiles_ * max_vecs_ * lanes_;
    for (int64_t i = full_tiles_; i < index; ++i)
      tile.x += ends_[static_cast<size_t>(i - full_tiles_)] * lanes_;
    tile.vecs = ends_[static_cast<size_t>(index - full_tiles_)];
  }
  if (index + 1 < tiles()) return tile;
  if (g_.out.w >= lanes_) {
    tile.shift = vectors_ * lanes_ - g_.out.w;
  } else {
    tile.tail_lanes = static_cast<int>(g_.out.w);
  }
  return tile;
}

bool Cutter::IsInterior(const Column& tile) const {
  if (tile.tail_lanes != 0) return false;
  const int64_t first = std::min(VectorBegin(tile, 0), VectorBegin(tile, tile.vecs - 1));
  return first * g_.stride.w >= g_.pad_left &&
         LastElement(VectorBegin(tile, tile.vecs - 1), g_.kernel.w - 1) < g_.in.w;
}

// Appends the masks of one kernel column and returns its code.
uint8_t Cutter::AddTap(const Column& tile, int64_t column) {
  bool any = false;
  int masked = 0, first_masked = -1;
  for (int v = 0; v < tile.vecs; ++v) {
    const int64_t begin = VectorBegin(tile, v);
    bool full = LastElement(begin, column) < g_.in.w;
    for (int lane = 0; lane < lanes_; ++lane) {
      const bool valid = IsValid(begin + lane, column);
      any |= valid, full &= valid;
      cut_.masks.push_back(valid ? -1 : 0);
      if (sorts_lanes_) cut_.masks.push_back(0);
    }
    if (full) continue;
    if (masked++ == 0) first_masked = v;
  }
  if (!any) return kNoLanes;
  if (masked == 0) return kFull;
  if (masked == 1 && first_masked == 0) return kFirstMasked;
  if (masked == 1 && first_masked == tile.vecs - 1) return kLastMasked;
  return kAllMasked;
}

bool Cutter::AddEdge(Column tile) {
  tile.codes = static_cast<int64_t>(cut_.codes.size());
  tile.masks = static_cast<int64_t>(cut_.masks.size());
  for (int64_t column = 0; column < g_.kernel.w; ++column) {
    if (static_cast<int64_t>(cut_.masks.size()) >= kMaxMaskLanes) return false;
    cut_.codes.push_back(AddTap(tile, column));
  }
  cut_.columns.push_back(tile);
  return true;
}

std::optional<RowCut> Cutter::Cut() {
  cut_.tiles = tiles();
  int64_t first = 0, last = cut_.tiles;  // interior tiles are [first, last)
  for (; first < cut_.tiles && !IsInterior(Tile(first)); ++first) {
    if (!AddEdge(Tile(first))) return std::nullopt;
  }
  while (last > first && !IsInterior(Tile(last - 1))) {
    if ((cut_.tiles - --last) * g_.kernel.w * lanes_ >= kMaxMaskLanes) return std::nullopt;
  }
  if (const int64_t full = std::min(last, full_tiles_ - (ends_.empty() ? 1 : 0)); first < full) {
    cut_.columns.push_back(Tile(first));
    cut_.columns.back().count = full - first;
    first = full;
  }
  for (; first < last; ++first) cut_.columns.push_back(Tile(first));
  for (; last < cut_.tiles; ++last) {
    if (!AddEdge(Tile(last))) return std::nullopt;
  }
  return std::move(cut_);
}

}  // namespace

std::optional<RowCut> CutRow(const Geometry& g, int lanes, int max_vecs, bool even_ends, bool sorts_lanes) {
  return Cutter(g, lanes, max_vecs, even_ends, sorts_lanes).Cut();
}

}  // namespace rafter::widthwise
