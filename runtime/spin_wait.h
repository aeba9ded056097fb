// runtime/spin_wait.h: waiting for another thread: first a bounded spin, then sleep in the kernel
// (futex).
#ifndef RAFTER_RUNTIME_SPIN_WAIT_H_
#define RAFTER_RUNTIME_SPIN_WAIT_H_

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rafter {

static_assert(sizeof(std::atomic<uint32_t>) == 4 && std::atomic<uint32_t>::is_always_lock_free);

// Sleeps while `word` has the value `expected`; may return early (a signal), so callers look again.
inline void FutexWait(std::atomic<uint32_t>& word, uint32_t expected) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}

// Wakes the one thread that sleeps on `word`.
inline void FutexWake(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Spins until `done()` or until `spin_us` microseconds have passed; returns the last answer of
// `done`.
template <typename Done>
bool SpinUntil(int spin_us, const Done& done) noexcept {
  constexpr int kPausesPerLook = 4;  // a pause is 40 … 140 cycles
  constexpr int kLooksPerClock = 8;  // reading the clock takes about 20 ns
  if (done()) return true;
  if (spin_us <= 0) return false;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::microseconds(spin_us);
  for (;;) {
    for (int look = 0; look < kLooksPerClock; ++look) {
      for (int pause = 0; pause < kPausesPerLook; ++pause) _mm_pause();
      if (done()) return true;
    }
    if (Clock::now() >= deadline) return false;
  }
}

}  // namespace rafter

#endif  // RAFTER_RUNTIME_SPIN_WAIT_H_
