// jit/free_ranges.cc: bookkeeping of free ranges in a sorted vector. An arena of 1 MiB has at most
// 128 of them when its pieces are pages, so linear scans cost less than a tree.
#include "jit/free_ranges.h"

#include <algorithm>

namespace rafter::jit {

FreeRanges::FreeRanges(size_t bytes) : free_bytes_(bytes), largest_bytes_(bytes) {
  ranges_.reserve(16);
  ranges_.push_back({0, bytes});
}

size_t FreeRanges::Take(size_t bytes) {
  if (bytes > largest_bytes_) return kNoOffset;
  const size_t most_ranges = taken_ + 2;
  if (ranges_.capacity() < most_ranges) ranges_.reserve(2 * most_ranges);
  const auto fit = std::find_if(ranges_.begin(), ranges_.end(),
                                [bytes](const Range& range) { return range.bytes >= bytes; });
  const size_t offset = fit->offset;
  const bool was_largest = fit->bytes == largest_bytes_;
  fit->offset += bytes;
  fit->bytes -= bytes;
  if (fit->bytes == 0) ranges_.erase(fit);
  ++taken_;
  free_bytes_ -= bytes;
  if (was_largest) UpdateLargest();
  return offset;
}

void FreeRanges::Give(size_t offset, size_t bytes) noexcept {
  auto next =
      std::lower_bound(ranges_.begin(), ranges_.end(), offset,
                       [](const Range& range, size_t value) { return range.offset < value; });
  const bool joins_next = next != ranges_.end() && offset + bytes == next->offset;
  const bool joins_previous =
      next != ranges_.begin() && (next - 1)->offset + (next - 1)->bytes == offset;
  if (joins_previous) {
    (next - 1)->bytes += bytes;
    if (joins_next) {
      (next - 1)->bytes += next->bytes;
      next = ranges_.erase(next);
    }
    --next;
  } else if (joins_next) {
    next->offset = offset;
    next->bytes += bytes;
  } else {
    next = ranges_.insert(next, {offset, bytes});
  }
  --taken_;
  free_bytes_ += bytes;
  largest_bytes_ = std::max(largest_bytes_, next->bytes);
}

void FreeRanges::UpdateLargest() noexcept {
  largest_bytes_ = 0;
  for (const Range& range : ranges_) largest_bytes_ = std::max(largest_bytes_, range.bytes);
}

}  // namespace rafter::jit
