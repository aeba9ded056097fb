// kernels/concat/reference.h: the oracle of concatenations: plain loops over elements, no cleverness.
#ifndef RAFTER_KERNELS_CONCAT_REFERENCE_H_
#define RAFTER_KERNELS_CONCAT_REFERENCE_H_

#include <span>

#include "kernels/concat/problem.h"

namespace rafter::reference {

// Inputs share no element with the result.
void RunConcat(const ConcatProblem& problem, std::span<const float* const> inputs, float* dst) noexcept;

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_CONCAT_REFERENCE_H_
