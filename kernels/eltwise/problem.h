// kernels/eltwise/problem.h: a validated element-wise chain with every derived size. Immutable after Validate.
#ifndef RAFTER_KERNELS_ELTWISE_PROBLEM_H_
#define RAFTER_KERNELS_ELTWISE_PROBLEM_H_

#include <vector>

#include "kernels/tensor_shape.h"
#include "rafter/eltwise.h"
#include "rafter/status.h"

namespace rafter {

struct EltwiseProblem {
  // An operand: its own shape, with 1 where it is broadcast.
  struct Operand {
    TensorShape shape;
    Strides strides;
  };

  EltwiseDesc desc;  // as asked
  Strides src, dst;  // in elements, filled in when the description left them out
  std::vector<Operand> operands;  // of the binary operations, in their order

  Layout layout() const noexcept { return desc.src.layout; }
  TensorShape shape() const noexcept { return {desc.n, desc.c, desc.h, desc.w}; }
};

// The first violated rule as kInvalidArgument: "ops[1].scale: 3 values, allowed: one per channel, 64".
Result<EltwiseProblem> Validate(const EltwiseDesc& desc);

}  // namespace rafter

#endif  // RAFTER_KERNELS_ELTWISE_PROBLEM_H_
