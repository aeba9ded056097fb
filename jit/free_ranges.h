// jit/free_ranges.h: which parts of one arena are free: offsets and lengths only, no memory. First
// fit; neighbouring free ranges are merged.
#ifndef RAFTER_JIT_FREE_RANGES_H_
#define RAFTER_JIT_FREE_RANGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rafter::jit {

class FreeRanges {
 public:
  static constexpr size_t kNoOffset = SIZE_MAX;

  // All of [0, bytes) is free. Throws std::bad_alloc.
  explicit FreeRanges(size_t bytes);

  // Takes the first free range that is long enough; kNoOffset when there is none. Throws
  // std::bad_alloc and then changes nothing.
  size_t Take(size_t bytes);
  // Gives back exactly what one Take returned. Never allocates: Take has reserved the space for it.
  void Give(size_t offset, size_t bytes) noexcept;

  size_t free_bytes() const noexcept { return free_bytes_; }
  // Length of the longest free range.
  size_t largest_bytes() const noexcept { return largest_bytes_; }
  size_t range_count() const noexcept { return ranges_.size(); }

 private:
  struct Range {
    size_t offset, bytes;
  };
  void UpdateLargest() noexcept;

  std::vector<Range> ranges_;  // by offset; never two that touch
  size_t taken_ = 0;           // pieces taken; there are at most taken_ + 1 free ranges
  size_t free_bytes_;
  size_t largest_bytes_;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_FREE_RANGES_H_
