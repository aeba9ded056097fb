// kernels/shift.h: addresses that may lie outside of a tensor.
#ifndef RAFTER_KERNELS_SHIFT_H_
#define RAFTER_KERNELS_SHIFT_H_

#include <cstdint>

namespace rafter {

// Kernels are given the place of taps in the padding, which they never read: integer arithmetic, since pointers must
// stay within their array.
template <typename T>
T* Shift(T* pointer, int64_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<uintptr_t>(pointer) + static_cast<uintptr_t>(bytes));
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_SHIFT_H_
