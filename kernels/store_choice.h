// kernels/store_choice.h: whether stores of a streaming operator or of a convolution go past the caches (non-temporal).
// They spare the read of each line before it is written, but the result is then in memory only.
#ifndef RAFTER_KERNELS_STORE_CHOICE_H_
#define RAFTER_KERNELS_STORE_CHOICE_H_

#include <xmmintrin.h>

#include "runtime/machine_model.h"

namespace rafter {

// `bytes` are all bytes read and written by a call. Not for operators that work in place: their lines are there.
inline bool StoresPastCaches(double bytes, const MachineModel& machine) noexcept {
  return bytes > static_cast<double>(machine.l3_bytes);
}

// Outputs of a convolution above this share of L3: the next layer would not find them, and nothing is read from memory
// only to be overwritten. Zen 3, AVX2, 3 to 64 channels 3x3, 1 and 2 threads: at 300x300 (23 MB) 1.43x and 1.56x, at
// 224x224 (13 MB) 1.29x and 1.62x; 1x1 32 to 64 at 256x256 (17 MB) 1.25x and 1.45x. It pays from 2 MB on when nobody
// reads the output, which is why the size alone does not decide.
inline constexpr double kOutputL3Share = 0.5;
// … and above this share where other guests use L3 as well. 3 to 64 3x3 at 224x224 (13 MB) 2749 and 2287 us (2 threads
// 1321 and 1267), 1x1 64 to 128 at 147x147 (11 MB) 4809 and 4351, 16 to 320 at 80x80 (8 MB) 1119 and 888, 8 to 256 at
// 100x100 (10 MB) 1320 and 929 (quiet: 823 and 886), 11 to 256 at 112x112 3378 and 1428. From 3 MB on it gains 5 to
// 8 %.
inline constexpr double kOutputSharedL3Share = 0.2;

inline bool OutputExceedsCaches(double bytes, const MachineModel& machine) noexcept {
  return bytes > static_cast<double>(machine.l3_bytes) * (machine.l3_shared ? kOutputSharedL3Share : kOutputL3Share);
}

// Orders such stores before whatever the thread does next: once at the end of its work, since it waits for the memory.
inline void FinishStores() noexcept { _mm_sfence(); }

}  // namespace rafter

#endif  // RAFTER_KERNELS_STORE_CHOICE_H_
