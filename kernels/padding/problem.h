// kernels/padding/problem.h: a validated padding: sizes of the result, strides resolved.
#ifndef RAFTER_KERNELS_PADDING_PROBLEM_H_
#define RAFTER_KERNELS_PADDING_PROBLEM_H_

#include "kernels/tensor_shape.h"
#include "rafter/pad.h"
#include "rafter/status.h"

namespace rafter {

struct PadProblem {
  PadDesc desc;
  TensorShape in, out;
  Strides src, dst;
  int64_t inner_offset = 0;  // of the image's first pixel in the result, in floats
};

// The first violated rule: kInvalidArgument, or kUnsupported for different layouts.
Result<PadProblem> Validate(const PadDesc& desc);

// The coordinate of the image that a coordinate of the result shows; -1 = the constant.
constexpr int64_t SourceOf(PadMode mode, int64_t out, int64_t before, int64_t size) noexcept {
  const int64_t at = out - before;
  if (at >= 0 && at < size) return at;
  if (mode == PadMode::kConstant) return -1;
  if (mode == PadMode::kEdge) return at < 0 ? 0 : size - 1;
  return at < 0 ? -at : 2 * (size - 1) - at;
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_PADDING_PROBLEM_H_
