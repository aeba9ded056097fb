// kernels/conv/strip/result_map.h: which output channel of which pixel ends in which lane when the parts of the sums
// have been added. Shared by the emitter, which stores them, and the packing of bias and scales, whose vectors have
// the same lanes.
#ifndef RAFTER_KERNELS_CONV_STRIP_RESULT_MAP_H_
#define RAFTER_KERNELS_CONV_STRIP_RESULT_MAP_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/strip/spec.h"

namespace rafter::strip {

// `count` neighbouring channels of one pixel in neighbouring lanes.
struct Segment {
  int px, channel, lane, count;
};

// A register of finished sums.
struct ResultVector {
  int acc = 0;       // the accumulator that holds it
  int pattern = 0;   // index of its vector of bias
  std::vector<Segment> segments;
};

// The lanes of the registers of finished sums.
struct ResultShape {
  Feed feed;
  int px, vecs, channels;
  int lanes;  // of the machine's vectors
};

// Accumulator of pixel p, vector v.
constexpr int AccIndex(int p, int v, int vecs) { return p * vecs + v; }

// Lanes of the result registers that are used: 8 where parts of sums were added.
int ResultLanes(Feed feed, int lanes);

std::vector<ResultVector> MapResults(const ResultShape& shape);

// kVector: how many accumulators (of one pixel, rounded up to a power of two) share a result register.
int SlotsPerPixel(int vecs);

// Vectors of bias per strip.
int PatternCount(Feed feed, int vecs, int lanes);
// The channel of lane `lane` in pattern `pattern`; channels beyond the last one are the caller's to leave zero.
int PatternChannel(Feed feed, int vecs, int lanes, int pattern, int lane);

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_RESULT_MAP_H_
