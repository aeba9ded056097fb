// kernels/concat/problem.h: a validated concatenation: sizes, strides and the place of every input.
#ifndef RAFTER_KERNELS_CONCAT_PROBLEM_H_
#define RAFTER_KERNELS_CONCAT_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "kernels/tensor_shape.h"
#include "rafter/concat.h"
#include "rafter/status.h"

namespace rafter {

struct ConcatProblem {
  struct Input {
    TensorShape shape;
    Strides strides;
    int64_t begin = 0;   // along the axis
    int64_t offset = 0;  // of its first element in the result, in floats
    int64_t lane = 0;    // of its first channel in its block of the result
  };
  ConcatDesc desc;
  TensorShape shape;  // of the result
  Strides dst;
  std::vector<Input> inputs;
};

// The first violated rule as kInvalidArgument.
Result<ConcatProblem> Validate(const ConcatDesc& desc);

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONCAT_PROBLEM_H_
