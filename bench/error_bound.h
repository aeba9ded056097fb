// bench/error_bound.h: how far an output may lie from the exact value: the rounding of the sum, carried through the
// post-ops. Each one multiplies the error by its steepest slope and adds that of its own evaluation.
#ifndef RAFTER_BENCH_ERROR_BOUND_H_
#define RAFTER_BENCH_ERROR_BOUND_H_

#include <cstdint>

#include "rafter/post_ops.h"

namespace rafter::bench {

// A value known up to `error`.
struct BoundedValue {
  double value = 0, error = 0;
};

// `terms` products were added; `magnitude` is the sum of their absolute values.
BoundedValue BoundSum(double value, double magnitude, int64_t terms) noexcept;

// One post-op; `residual` is what a kResidualAdd adds.
BoundedValue BoundPostOp(const PostOp& op, const BoundedValue& in, int64_t oc,
                         double residual) noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_ERROR_BOUND_H_
