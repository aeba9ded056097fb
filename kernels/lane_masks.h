// kernels/lane_masks.h: lane masks for the tails of vectors, for jit::Assembler::LoadTailMask: -1 used, 0 not.
#ifndef RAFTER_KERNELS_LANE_MASKS_H_
#define RAFTER_KERNELS_LANE_MASKS_H_

#include <cstdint>

namespace rafter {

// The window that starts at 16 - n has n used lanes.
inline constexpr int32_t kLaneMasks[32] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};

// 16 lanes, the first n (0 to 16) of them used.
inline const int32_t* FirstLanes(int64_t n) noexcept { return kLaneMasks + 16 - n; }

}  // namespace rafter

#endif  // RAFTER_KERNELS_LANE_MASKS_H_
