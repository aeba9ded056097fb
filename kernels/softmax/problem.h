// kernels/softmax/problem.h: a validated softmax, and its oracle: double precision, rounded once. The oracle also runs
// where no code can be generated.
#ifndef RAFTER_KERNELS_SOFTMAX_PROBLEM_H_
#define RAFTER_KERNELS_SOFTMAX_PROBLEM_H_

#include "kernels/tensor_shape.h"
#include "rafter/softmax.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter {

struct SoftmaxProblem {
  SoftmaxDesc desc;  // as asked
  Strides src, dst;  // in elements, filled in when the description left them out

  Layout layout() const noexcept { return desc.src.layout; }
  TensorShape shape() const noexcept { return {desc.n, desc.c, desc.h, desc.w}; }
};

// The first violated rule as kInvalidArgument.
Result<SoftmaxProblem> Validate(const SoftmaxDesc& desc);

namespace reference {

// Rows (n, h) of the whole tensor; lanes behind the last channel become zero.
void RunSoftmax(const SoftmaxProblem& problem, const float* src, float* dst, Range rows) noexcept;

}  // namespace reference

}  // namespace rafter

#endif  // RAFTER_KERNELS_SOFTMAX_PROBLEM_H_
