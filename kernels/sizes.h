// kernels/sizes.h: the sizes that every operator counts in, and rounding them up.
//
// Not for: blocks of channels (include/rafter/tensor.h, ChannelBlock), constants that were measured (each folder's
// tuning.h), sizes of caches and pages (runtime/machine_model.h).
#ifndef RAFTER_KERNELS_SIZES_H_
#define RAFTER_KERNELS_SIZES_H_

#include <cstdint>

namespace rafter {

// Bytes of an element: tensors and weights are f32.
inline constexpr int64_t kFloat = sizeof(float);

// A cache line, the unit in which memory is fetched and streamed: in bytes and in elements.
inline constexpr int64_t kLineBytes = 64, kLineFloats = kLineBytes / kFloat;

// The least integer that is not below value / unit. unit > 0; values may be negative.
constexpr int64_t CeilDiv(int64_t value, int64_t unit) { return value / unit + (value % unit > 0 ? 1 : 0); }

// The least multiple of unit that is not below value. unit > 0.
constexpr int64_t RoundUp(int64_t value, int64_t unit) { return CeilDiv(value, unit) * unit; }

}  // namespace rafter

#endif  // RAFTER_KERNELS_SIZES_H_
