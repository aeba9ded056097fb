// runtime/floating_point_mode.h: rounding and denormal handling of the calling thread (MXCSR).
//
// Every thread has its own. A task that ran with the worker's mode instead of the caller's would
// give other bits, depending on which thread took it; so both backends lend the caller's mode to
// the task.
#ifndef RAFTER_RUNTIME_FLOATING_POINT_MODE_H_
#define RAFTER_RUNTIME_FLOATING_POINT_MODE_H_

#include <xmmintrin.h>

namespace rafter {

constexpr unsigned kFloatingPointFlags = 0x3F;  // sticky exception flags: results, not mode

inline unsigned FloatingPointMode() noexcept { return _mm_getcsr() & ~kFloatingPointFlags; }

// Writing MXCSR costs about 10 times what reading does, and the mode nearly always is the same
// already.
inline void SetFloatingPointMode(unsigned mode) noexcept {
  if (FloatingPointMode() != mode) _mm_setcsr(mode);
}

}  // namespace rafter

#endif  // RAFTER_RUNTIME_FLOATING_POINT_MODE_H_
