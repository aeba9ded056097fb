// bench/verify.h: compares outputs with exact sums before anything is timed.
//
// The expected values are computed in double, straight from the definition of the operation, one
// output at a time; nothing is shared with the kernels. All outputs where that is cheap, else all
// pixels at the image's border and random ones, at least 4,096 outputs.
#ifndef RAFTER_BENCH_VERIFY_H_
#define RAFTER_BENCH_VERIFY_H_

#include <cstdint>
#include <span>
#include <vector>

#include "bench/case_tensors.h"
#include "kernels/conv/problem.h"
#include "rafter/status.h"

namespace rafter::bench {

// Products that a check may cost before outputs are sampled: about 0.1 s on one core.
inline constexpr double kThoroughProducts = 64e6;

struct VerifyResult {
  int64_t outputs = 0;   // compared
  double max_error = 0;  // largest absolute difference
};

// What one kResidualAdd adds: a tensor of the output's shape in any layout.
struct ResidualTensor {
  const float* data = nullptr;
  Layout layout = Layout::kNhwc;
  Strides strides;
};

// Those of a case.
std::vector<ResidualTensor> ResidualTensors(const ConvProblem& problem,
                                            const CaseTensors& tensors);

// `src` and `dst` in the problem's layouts, `oihw` dense, `bias` may be null; one of `residuals` per
// kResidualAdd. kInternal: an output is wrong; the message names the first one.
Result<VerifyResult> VerifyOutputs(const ConvProblem& problem, const float* src, const float* oihw,
                                   const float* bias, const float* dst, uint64_t seed,
                                   double cheap_products = kThoroughProducts,
                                   std::span<const ResidualTensor> residuals = {});

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_VERIFY_H_
