// bench/case_tensors.h: the tensors of one measured case, filled with random values.
#ifndef RAFTER_BENCH_CASE_TENSORS_H_
#define RAFTER_BENCH_CASE_TENSORS_H_

#include <cstdint>
#include <vector>

#include "bench/tensor_buffer.h"
#include "kernels/conv/problem.h"
#include "rafter/status.h"

namespace rafter::bench {

struct CaseTensors {
  TensorBuffer src, dst;  // in the problem's layouts; spare lanes of src are zero
  TensorBuffer oihw;      // dense weights
  TensorBuffer bias;      // oc values; empty when the problem has none

  std::vector<TensorBuffer> residuals;  // in dst's layout, one per kResidualAdd

  const float* bias_or_null() const { return bias.data(); }
  std::vector<const float*> residual_pointers() const;
};

// `problem` is dense. dst is filled with NaN, so that outputs which nobody writes are noticed.
// kOutOfMemory.
Result<CaseTensors> MakeCaseTensors(const ConvProblem& problem, uint64_t seed);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CASE_TENSORS_H_
