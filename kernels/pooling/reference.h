// kernels/pooling/reference.h: the oracle of pooling: plain loops over the taps of each window, in double precision.
// Also what runs where no code can be generated.
#ifndef RAFTER_KERNELS_POOLING_REFERENCE_H_
#define RAFTER_KERNELS_POOLING_REFERENCE_H_

#include <cstdint>

#include "kernels/pooling/problem.h"
#include "runtime/parallel.h"

namespace rafter::reference {

// One output element, not yet rounded.
double PoolElement(const PoolingProblem& problem, const float* src, int64_t n, int64_t c, int64_t h,
                   int64_t w) noexcept;

// Rows (n, h) of the output; lanes behind the last channel become zero.
void RunPooling(const PoolingProblem& problem, const float* src, float* dst, Range rows) noexcept;

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_POOLING_REFERENCE_H_
