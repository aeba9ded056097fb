// kernels/conv/packed_weights.h: making a block of packed weights (the block itself is in plan.h,
// its public face in rafter/conv.h).
#ifndef RAFTER_KERNELS_CONV_PACKED_WEIGHTS_H_
#define RAFTER_KERNELS_CONV_PACKED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/plan.h"
#include "rafter/conv.h"

namespace rafter {

// Weights and bias (null: zeros) in the plan's own format. Pointers are valid; may throw bad_alloc.
Result<PackedWeights> Pack(const ConvPlan& plan, const float* oihw, const float* bias,
                           const PackOptions& options);

// FNV-1a over words of 8 bytes, begun or continued from `hash`.
uint64_t PackedChecksum(const std::byte* data, size_t bytes, uint64_t hash = 0xcbf29ce484222325u) noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_PACKED_WEIGHTS_H_
