// kernels/conv/problem.h: a validated convolution with every derived size. Immutable after
// Validate.
//
// Everything behind this point may rely on: channels divide by groups, all sizes positive (n may be
// 0), all strides given and non-overlapping, no product of sizes and no offset overflows int64.
#ifndef RAFTER_KERNELS_CONV_PROBLEM_H_
#define RAFTER_KERNELS_CONV_PROBLEM_H_

#include <cstdint>

#include "kernels/tensor_shape.h"
#include "rafter/conv.h"
#include "rafter/status.h"

namespace rafter {

struct ConvProblem {
  ConvDesc desc;               // as asked
  int64_t ic_g = 0, oc_g = 0;  // channels per group
  int64_t oh = 0, ow = 0;
  Strides src, dst;  // in elements, filled in when the description left them out
};

// The first violated rule as kInvalidArgument: "ic: 6 is not divisible by groups = 4".
Result<ConvProblem> Validate(const ConvDesc& desc);

// Strides of the residual tensor of a kResidualAdd of the problem.
Strides ResidualStrides(const ConvProblem& problem, const PostOp& op) noexcept;

// The taps [begin, end) of one axis that fall inside the image for output coordinate `out`; an
// empty range is {0, 0}.
struct TapRange {
  int64_t begin = 0, end = 0;
  bool operator==(const TapRange&) const = default;
};
TapRange ValidTaps(int64_t out, int64_t in_size, int64_t kernel, int64_t stride, int64_t dilation,
                   int64_t pad_begin) noexcept;

// Input channels per outermost step of a sum (ADR 3): about 64, a multiple of 16, the last step may have fewer.
// Long runs of channels per tap keep loops long and read whole pixels of NHWC; against 16, 3x3 layers gain 2 to 15 %,
// with stride 2 up to 22 % (Zen 3, AVX2). A function of the layer alone.
constexpr int64_t SumBlock(int64_t ic_g) noexcept {
  const int64_t blocks = ic_g < 128 ? 1 : ic_g / 64;
  return ((ic_g + blocks - 1) / blocks + 15) / 16 * 16;
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_PROBLEM_H_
