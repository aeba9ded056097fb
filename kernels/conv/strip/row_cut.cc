// kernels/conv/strip/row_cut.cc
#include "kernels/conv/strip/row_cut.h"

#include <algorithm>
#include <utility>

#include "kernels/conv/problem.h"
#include "kernels/conv/strip/tuning.h"

namespace rafter::strip {

namespace {

bool IsInterior(const RowShape& row, int64_t x, int px) {
  return x * row.stride >= row.pad && (x + px - 1) * row.stride - row.pad +
                                              (row.kernel - 1) * row.dilation < row.in;
}

// The strip with the smallest skips that leave out the same taps, so that few kernels serve all strips.
EdgeStrip EdgeOf(const RowShape& row, int64_t x, int px) {
  EdgeStrip strip{x, px, false, 0, 0, 0, 0};
  int64_t first = 0, last = 0;
  for (int p = 0; p < px; ++p) {
    const TapRange taps = ValidTaps(x + p, row.in, row.kernel, row.stride, row.dilation, row.pad);
    if (taps.begin >= taps.end) continue;
    const int64_t begin = p * row.stride + taps.begin * row.dilation;
    const int64_t end = p * row.stride + (taps.end - 1) * row.dilation;
    first = strip.has_taps ? std::min(first, begin) : begin;
    last = strip.has_taps ? std::max(last, end) : end;
    strip.has_taps = true;
  }
  if (!strip.has_taps) return strip;
  strip.skip_first = first;
  strip.skip_last = (px - 1) * row.stride + (row.kernel - 1) * row.dilation - last;
  return strip;
}

// Appends what covers [x, x + px).
void AddEdge(const RowShape& row, int64_t x, int px, std::vector<EdgeStrip>& strips) {
  if (row.all_columns) {
    strips.push_back(EdgeOf(row, x, px));
    return;
  }
  for (int64_t pixel = x; pixel < x + px; ++pixel) {
    const TapRange taps = ValidTaps(pixel, row.in, row.kernel, row.stride, row.dilation, row.pad);
    strips.push_back({pixel, 1, taps.begin < taps.end, 0, 0, taps.begin, taps.end});
  }
}

}  // namespace

std::optional<RowCut> CutRow(const RowShape& row, int px_max) {
  const int64_t strips = (row.out - 1) / px_max + 1, extra = row.out % strips;
  const int64_t wide = extra == 0 ? strips : extra;
  RowCut cut;
  cut.px = static_cast<int>(row.out / strips + (extra != 0));
  const auto at = [&](int64_t strip) {
    return strip * cut.px - std::max<int64_t>(0, strip - wide);
  };
  const auto px = [&](int64_t strip) { return strip < wide ? cut.px : cut.px - 1; };
  // Interior strips are consecutive: search their ends from both sides.
  int64_t first = 0, last = strips;
  for (; first < strips && !IsInterior(row, at(first), px(first)); ++first) {
    if (first >= kMaxEdgeStrips) return std::nullopt;
    AddEdge(row, at(first), px(first), cut.head);
  }
  while (last > first && !IsInterior(row, at(last - 1), px(last - 1))) {
    if (strips - --last > kMaxEdgeStrips) return std::nullopt;
  }
  for (int64_t strip = last; strip < strips; ++strip) AddEdge(row, at(strip), px(strip), cut.tail);
  cut.begin = at(first);
  cut.wide = std::max<int64_t>(0, std::min(last, wide) - first);
  cut.narrow = last - first - cut.wide;
  if (cut.wide == 0 && cut.narrow > 0) {  // the width of the strips that there are
    --cut.px;
    std::swap(cut.wide, cut.narrow);
  }
  return cut;
}

}  // namespace rafter::strip
