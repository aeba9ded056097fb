// kernels/pooling/problem.h: a validated pooling with every derived size. Immutable after Validate.
#ifndef RAFTER_KERNELS_POOLING_PROBLEM_H_
#define RAFTER_KERNELS_POOLING_PROBLEM_H_

#include <cstdint>

#include "kernels/conv/problem.h"
#include "kernels/tensor_shape.h"
#include "rafter/pool.h"
#include "rafter/status.h"

namespace rafter {

// One axis of the windows.
struct PoolAxis {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0, pad_end = 0;

  // Taps of output `o` inside the image.
  TapRange Taps(int64_t o) const noexcept { return ValidTaps(o, in, kernel, stride, dilation, pad_begin); }
  // Taps inside the image and its padding: all but those that a window of ceil_mode hangs over.
  int64_t PaddedTaps(int64_t o) const noexcept;
};

struct PoolingProblem {
  PoolingDesc desc;  // as asked
  PoolAxis h, w;
  Strides src, dst;  // in elements, filled in when the description left them out

  Layout layout() const noexcept { return desc.src.layout; }
  TensorShape src_shape() const noexcept { return {desc.n, desc.c, desc.in.h, desc.in.w}; }
  TensorShape dst_shape() const noexcept { return {desc.n, desc.c, h.out, w.out}; }
};

// The first violated rule as kInvalidArgument: "kernel.h: 5 covers 5, more than the padded input of 3".
Result<PoolingProblem> Validate(const PoolingDesc& desc);

}  // namespace rafter

#endif  // RAFTER_KERNELS_POOLING_PROBLEM_H_
