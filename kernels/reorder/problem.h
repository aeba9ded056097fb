// kernels/reorder/problem.h: a validated reorder: strides resolved, sizes positive (n may be 0).
#ifndef RAFTER_KERNELS_REORDER_PROBLEM_H_
#define RAFTER_KERNELS_REORDER_PROBLEM_H_

#include "kernels/tensor_shape.h"
#include "rafter/reorder.h"
#include "rafter/status.h"

namespace rafter {

struct ReorderProblem {
  ReorderDesc desc;
  TensorShape shape;
  Strides src, dst;
};

// The first violated rule as kInvalidArgument.
Result<ReorderProblem> Validate(const ReorderDesc& desc);

}  // namespace rafter

#endif  // RAFTER_KERNELS_REORDER_PROBLEM_H_
