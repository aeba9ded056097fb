// kernels/reorder/reference.h: the oracle of reorders: plain loops over elements, no cleverness.
#ifndef RAFTER_KERNELS_REORDER_REFERENCE_H_
#define RAFTER_KERNELS_REORDER_REFERENCE_H_

#include "kernels/reorder/problem.h"

namespace rafter::reference {

// The tensors share no element.
void RunReorder(const ReorderProblem& problem, const float* src, float* dst) noexcept;

// Sets lanes behind the last channel of every block of a blocked tensor to zero; `data` is its start.
void ClearMissingLanes(const TensorShape& shape, Layout layout, const Strides& strides, float* data) noexcept;

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_REORDER_REFERENCE_H_
