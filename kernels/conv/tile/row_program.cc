// kernels/conv/tile/row_program.cc
#include "kernels/conv/tile/row_program.h"

#include <algorithm>

#include "kernels/conv/tile/spec.h"
#include "kernels/sizes.h"

namespace rafter::tile {

namespace {

constexpr int64_t kMaxListedColumns = 1 << 18;  // bytes of edge tables per program

// Tiles of `wide` pixels first, then tiles of one pixel less.
struct Cut {
  int64_t begin, tiles, wide_tiles;
  int wide;
  int64_t at(int64_t tile) const {
    return begin + tile * wide - std::max<int64_t>(0, tile - wide_tiles);
  }
  int px(int64_t tile) const { return tile < wide_tiles ? wide : wide - 1; }
};

Cut CutEvenly(int64_t begin, int64_t end, int px_max) {
  const int64_t width = end - begin, tiles = CeilDiv(width, px_max);
  const int64_t narrow = width / tiles, extra = width % tiles;
  if (extra == 0) return {begin, tiles, tiles, static_cast<int>(narrow)};
  return {begin, tiles, extra, static_cast<int>(narrow + 1)};
}

bool IsInterior(const Geometry& g, int64_t first, int px) {
  const int64_t left = first * g.stride.w - g.pad_left;
  const int64_t right =
      (first + px - 1) * g.stride.w - g.pad_left + (g.kernel.w - 1) * g.dilation.w;
  return left >= 0 && right < g.in.w;
}

// The index of spec.h for one kernel column, or nothing when neither end of the tile is reached.
std::optional<uint8_t> ColumnIndex(const Geometry& g, const EdgeSkips& skips, int64_t first, int px,
                                   int64_t column) {
  const int64_t left = first * g.stride.w - g.pad_left + column * g.dilation.w;
  // Pixels p with 0 <= left + p * stride < iw.
  const int64_t begin = left >= 0 ? 0 : std::min<int64_t>(px, CeilDiv(-left, g.stride.w));
  int64_t end = px;  // mostly, and divisions are slow
  if (left + (px - 1) * g.stride.w >= g.in.w) {
    end = left >= g.in.w ? 0 : std::min<int64_t>(px, CeilDiv(g.in.w - left, g.stride.w));
  }
  if (begin >= end) return kNoPixels;
  if (begin == 0 && end == px) return uint8_t{0};
  if (end == px && begin <= skips.first) return static_cast<uint8_t>(begin);
  if (begin == 0 && px - end <= skips.last) return static_cast<uint8_t>(skips.first + px - end);
  return std::nullopt;
}

bool AddEdgeTile(const Geometry& g, int64_t first, int px, int64_t base, RowProgram& program) {
  const EdgeSkips skips = EdgeSkipsFor(g, px);
  program.runs.push_back({first - base, px, 1, static_cast<int64_t>(program.columns.size())});
  for (int64_t column = 0; column < g.kernel.w; ++column) {
    const std::optional<uint8_t> index = ColumnIndex(g, skips, first, px, column);
    if (!index || static_cast<int64_t>(program.columns.size()) >= kMaxListedColumns) return false;
    program.columns.push_back(*index);
  }
  return true;
}

}  // namespace

EdgeSkips EdgeSkipsFor(const Geometry& g, int px) {
  const auto skip = [&](int64_t pad) {
    return static_cast<uint8_t>(std::min<int64_t>(px - 1, CeilDiv(pad, g.stride.w)));
  };
  return {skip(g.pad_left), skip(g.pad_right)};
}

std::optional<RowProgram> MakeRowProgram(const Geometry& g, int64_t begin, int64_t end, int px_max) {
  const Cut cut = CutEvenly(begin, end, px_max);
  // Interior tiles are consecutive: search their ends from both sides.
  int64_t first = 0, last = cut.tiles;
  std::optional<RowProgram> made(std::in_place);
  RowProgram& program = *made;
  for (; first < cut.tiles && !IsInterior(g, cut.at(first), cut.px(first)); ++first) {
    if (!AddEdgeTile(g, cut.at(first), cut.px(first), begin, program)) return std::nullopt;
  }
  while (last > first && !IsInterior(g, cut.at(last - 1), cut.px(last - 1))) {
    if ((cut.tiles - --last) * g.kernel.w > kMaxListedColumns) return std::nullopt;
  }
  for (const auto& [from, to] : {std::pair{first, std::min(last, cut.wide_tiles)},
                                 std::pair{std::max(first, cut.wide_tiles), last}}) {
    if (from < to) program.runs.push_back({cut.at(from) - begin, cut.px(from), to - from, -1});
  }
  for (; last < cut.tiles; ++last) {
    if (!AddEdgeTile(g, cut.at(last), cut.px(last), begin, program)) return std::nullopt;
  }
  return made;
}

}  // namespace rafter::tile
