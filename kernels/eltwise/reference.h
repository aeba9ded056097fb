// kernels/eltwise/reference.h: the oracle of element-wise chains: double precision, rounded to f32 once at the end.
// Also what runs where no code can be generated.
#ifndef RAFTER_KERNELS_ELTWISE_REFERENCE_H_
#define RAFTER_KERNELS_ELTWISE_REFERENCE_H_

#include <cstdint>

#include "kernels/eltwise/problem.h"
#include "runtime/parallel.h"

namespace rafter::reference {

// One operation on one value, by the formula of rafter/eltwise.h. `operand` is the element of a binary operation.
double ApplyEltwise(const EltwiseOp& op, double x, int64_t c, double operand) noexcept;

// One element of the result, not yet rounded.
double EltwiseElement(const EltwiseProblem& problem, const float* src, const float* const* operands, int64_t n,
                      int64_t c, int64_t h, int64_t w) noexcept;

// Rows (n, h) of the whole tensor; lanes behind the last channel become zero.
void RunEltwise(const EltwiseProblem& problem, const float* src, const float* const* operands, float* dst,
                Range rows) noexcept;

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_ELTWISE_REFERENCE_H_
