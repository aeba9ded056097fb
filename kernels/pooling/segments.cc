// kernels/pooling/segments.cc: see the header.
//
// The first tap inside the image, the one behind the last and the number of taps that are not beyond the padding are
// all ceil((reach - output * stride) / dilation), cut to 0 … kernel, for one of three constants. So each falls step by
// step, and the output at which it does so is known.
#include "kernels/pooling/segments.h"

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/pooling/plan.h"
#include "kernels/sizes.h"

namespace rafter::pooling {
namespace {

// ceil((reach - output * stride) / dilation), cut to 0 … kernel; `reach` is above 0.
int64_t StepsLeft(const PoolAxis& axis, int64_t reach, int64_t output) noexcept {
  const int64_t distance = reach - output * axis.stride;
  return distance <= 0 ? 0 : std::min(axis.kernel, (distance - 1) / axis.dilation + 1);
}

// The first output behind `output` for which that is less.
int64_t NextStep(const PoolAxis& axis, int64_t reach, int64_t output) noexcept {
  const int64_t now = StepsLeft(axis, reach, output);
  if (now == 0) return std::numeric_limits<int64_t>::max();
  const int64_t distance = reach - (now - 1) * axis.dilation;  // until then it is as much
  return (distance - 1) / axis.stride + 1;
}

}  // namespace

Result<std::vector<Segment>> SegmentsOf(const PoolingDesc& desc, const PoolAxis& axis) {
  const int64_t image = axis.in + axis.pad_begin, padded = image + axis.pad_end;
  std::vector<Segment> segments;
  for (int64_t output = 0; output < axis.out;) {
    int64_t next = std::min(axis.out, NextStep(axis, image, output));
    if (axis.pad_begin > 0) next = std::min(next, NextStep(axis, axis.pad_begin, output));
    if (axis.pad_end > 0) next = std::min(next, NextStep(axis, padded, output));
    const Segment segment{output, next - output, axis.Taps(output), DivisorTaps(desc, axis, output)};
    if (!segments.empty() && segments.back().taps == segment.taps && segments.back().divisor == segment.divisor) {
      segments.back().count += segment.count;
    } else {
      if (segments.size() == kMostSegments) {
        return Status(StatusCode::kUnsupported, "kernel: its windows differ from output to output");
      }
      segments.push_back(segment);
    }
    output = next;
  }
  return segments;
}

Result<std::vector<RowSegment>> RowSegmentsOf(const PoolingProblem& problem) {
  const Result<std::vector<Segment>> segments = SegmentsOf(problem.desc, problem.h);
  if (!segments.ok()) return segments.status();
  const PoolAxis& axis = problem.h;
  std::vector<RowSegment> rows;
  for (const Segment& segment : *segments) {
    const RowSegment row{segment.begin, segment.count,
                         segment.begin * axis.stride - axis.pad_begin + segment.taps.begin * axis.dilation,
                         segment.tap_count(), segment.divisor};
    RowSegment* const last = rows.empty() ? nullptr : &rows.back();
    if (last != nullptr && last->taps == row.taps && last->divisor == row.divisor &&
        last->y + last->count * axis.stride == row.y) {
      last->count += row.count;
    } else {
      rows.push_back(row);
    }
  }
  return rows;
}

}  // namespace rafter::pooling
