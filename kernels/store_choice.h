// kernels/store_choice.h: whether a streaming operator's stores go past the caches (non-temporal). They spare the read
// of each line before it is written, but the result is then in memory only.
#ifndef RAFTER_KERNELS_STORE_CHOICE_H_
#define RAFTER_KERNELS_STORE_CHOICE_H_

#include <xmmintrin.h>

#include "runtime/machine_model.h"

namespace rafter {

// `bytes` are all bytes read and written by a call. Not for operators that work in place: their lines are there.
inline bool StoresPastCaches(double bytes, const MachineModel& machine) noexcept {
  return bytes > static_cast<double>(machine.l3_bytes);
}

// Orders such stores before whatever the thread does next: once at the end of its work, since it waits for the memory.
inline void FinishStores() noexcept { _mm_sfence(); }

}  // namespace rafter

#endif  // RAFTER_KERNELS_STORE_CHOICE_H_
