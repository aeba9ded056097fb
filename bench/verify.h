// bench/verify.h: compares outputs with exact sums before anything is timed.
//
// The expected values are computed in double, straight from the definition of the operation, one
// output at a time; nothing is shared with the kernels. All outputs where that is cheap, else all
// pixels at the image's border and random ones, at least 4,096 outputs.
#ifndef RAFTER_BENCH_VERIFY_H_
#define RAFTER_BENCH_VERIFY_H_

#include <cstdint>

#include "kernels/conv/problem.h"
#include "rafter/status.h"

namespace rafter::bench {

// Products that a check may cost before outputs are sampled: about 0.1 s on one core.
inline constexpr double kThoroughProducts = 64e6;

struct VerifyResult {
  int64_t outputs = 0;   // compared
  double max_error = 0;  // largest absolute difference
};

// `src` and `dst` in the problem's layouts, `oihw` dense, `bias` may be null. No post-ops.
// kInternal: an output is wrong; the message names the first one.
Result<VerifyResult> VerifyOutputs(const ConvProblem& problem, const float* src, const float* oihw,
                                   const float* bias, const float* dst, uint64_t seed,
                                   double cheap_products = kThoroughProducts);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_VERIFY_H_
