// kernels/padding/reference.h: the oracle of paddings: plain loops over elements, no cleverness.
#ifndef RAFTER_KERNELS_PADDING_REFERENCE_H_
#define RAFTER_KERNELS_PADDING_REFERENCE_H_

#include "kernels/padding/problem.h"

namespace rafter::reference {

// The tensors share no element, or the image lies at its place inside dst.
void RunPad(const PadProblem& problem, const float* src, float* dst) noexcept;

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_PADDING_REFERENCE_H_
