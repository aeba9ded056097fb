// kernels/conv/strip/result_map.cc
#include "kernels/conv/strip/result_map.h"

#include <algorithm>

namespace rafter::strip {

namespace {

constexpr int kReducedLanes = 8;

// Pixels that share one result register of this pattern.
int PixelsPerResult(const ResultShape& s, int pattern) {
  if (s.feed == Feed::kVector) return kReducedLanes / SlotsPerPixel(s.vecs);
  // kBroadcast2 with 8 lanes: two accumulators per register, of one pixel or, for an odd last one, of two.
  const bool lone = s.feed == Feed::kBroadcast2 && s.lanes == 8 && s.vecs % 2 != 0 &&
                    pattern == PatternCount(s.feed, s.vecs, s.lanes) - 1;
  return lone ? 2 : 1;
}

}  // namespace

int ResultLanes(Feed feed, int lanes) {
  return feed == Feed::kBroadcast2 || feed == Feed::kVector ? kReducedLanes : lanes;
}

int SlotsPerPixel(int vecs) {
  int slots = 1;
  while (slots < vecs) slots *= 2;
  return slots;
}

int PatternCount(Feed feed, int vecs, int lanes) {
  if (feed == Feed::kVector) return 1;
  if (feed == Feed::kBroadcast2 && lanes == 8) return (vecs + 1) / 2;
  return vecs;
}

int PatternChannel(Feed feed, int vecs, int lanes, int pattern, int lane) {
  if (feed == Feed::kVector) return lane % SlotsPerPixel(vecs);
  if (feed == Feed::kBroadcast2) {
    const bool lone = lanes == 8 && vecs % 2 != 0 && pattern == vecs / 2;
    return pattern * kReducedLanes + (lone ? lane % 4 : lane % kReducedLanes);
  }
  return pattern * lanes + lane;
}

std::vector<ResultVector> MapResults(const ResultShape& s) {
  std::vector<ResultVector> results;
  const int lanes = ResultLanes(s.feed, s.lanes);
  for (int pattern = 0; pattern < PatternCount(s.feed, s.vecs, s.lanes); ++pattern) {
    const int pixels = PixelsPerResult(s, pattern), lanes_per_px = lanes / pixels;
    const int channel = PatternChannel(s.feed, s.vecs, s.lanes, pattern, 0);
    const int count = std::min(lanes_per_px, s.channels - channel);
    // The accumulator that the additions leave the sums in is the first one of those added.
    const int first_vec = s.feed == Feed::kBroadcast2 && s.lanes == 8 ? 2 * pattern : pattern;
    for (int p = 0; p < s.px; p += pixels) {
      ResultVector result;
      result.acc = AccIndex(p, first_vec, s.vecs), result.pattern = pattern;
      for (int i = 0; i < pixels && p + i < s.px && count > 0; ++i) {
        result.segments.push_back({p + i, channel, i * lanes_per_px, count});
      }
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace rafter::strip
