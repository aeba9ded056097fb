// kernels/pooling/segments.h: outputs along an axis whose windows are alike, in closed form: most of an axis is one
// segment, its ends are short ones. The time to find them depends on the window, not on the number of outputs.
#ifndef RAFTER_KERNELS_POOLING_SEGMENTS_H_
#define RAFTER_KERNELS_POOLING_SEGMENTS_H_

#include <cstdint>
#include <vector>

#include "kernels/pooling/problem.h"
#include "rafter/status.h"

namespace rafter::pooling {

// Neighbouring outputs that have the same taps inside the image and the same divisor.
struct Segment {
  int64_t begin = 0, count = 0;  // outputs
  TapRange taps;
  int64_t divisor = 0;  // taps along the axis that an average divides by

  int64_t tap_count() const noexcept { return taps.end - taps.begin; }
  bool operator==(const Segment&) const = default;
};

// Of all outputs of the axis, in order. kUnsupported: more than kMostSegments, for windows of that many taps at least.
inline constexpr size_t kMostSegments = 1 << 14;
Result<std::vector<Segment>> SegmentsOf(const PoolingDesc& desc, const PoolAxis& axis);

// Output rows whose windows have the same number of taps inside the image and the same divisor, and whose first rows of
// taps are a stride apart.
struct RowSegment {
  int64_t begin = 0, count = 0;
  int64_t y = 0;  // first row of taps of the first; of windows without taps any
  int64_t taps = 0, divisor = 0;
};
Result<std::vector<RowSegment>> RowSegmentsOf(const PoolingProblem& problem);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_SEGMENTS_H_
