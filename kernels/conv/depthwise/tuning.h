// kernels/conv/depthwise/tuning.h: constants of the depthwise kernels, each with where it was measured.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_

#include <cstdint>

namespace rafter::depthwise {

// More phases than this in one direction (a dilation beyond it) go to the general algorithms.
inline constexpr int64_t kMaxPhases = 4096;

// Sums of a row whose kernel goes in pieces, per thread, on the stack.
inline constexpr int64_t kPartialBytes = 16 << 10;

// Model. Chains of a tile overlap with those of the next vector: as if there were so many times more of them.
inline constexpr double kOverlap = 1.5;
// Time over the larger of arithmetic and memory, and cycles per output vector for zeroing, bias, store and loops.
inline constexpr double kLosses = 1.15, kOutputCycles = 0.5;

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_TUNING_H_
