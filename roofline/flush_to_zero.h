// roofline/flush_to_zero.h: denormal numbers off for a scope. Probes and timed kernels run in the
// same mode, since a denormal operand costs up to 150 cycles on some cores and nothing on others.
#ifndef RAFTER_ROOFLINE_FLUSH_TO_ZERO_H_
#define RAFTER_ROOFLINE_FLUSH_TO_ZERO_H_

#include <xmmintrin.h>

namespace rafter::roofline {

// Sets FTZ (results) and DAZ (operands) of the calling thread; the destructor restores what was
// set.
class ScopedFlushToZero {
 public:
  ScopedFlushToZero() noexcept : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFtz | kDaz); }
  ~ScopedFlushToZero() { _mm_setcsr(saved_); }
  ScopedFlushToZero(const ScopedFlushToZero&) = delete;
  ScopedFlushToZero& operator=(const ScopedFlushToZero&) = delete;

 private:
  static constexpr unsigned kFtz = 1u << 15, kDaz = 1u << 6;
  unsigned saved_;
};

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_FLUSH_TO_ZERO_H_
