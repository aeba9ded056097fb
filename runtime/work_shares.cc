// runtime/work_shares.cc
#include "runtime/work_shares.h"

#include <algorithm>
#include <atomic>

namespace rafter {

namespace {

constexpr int64_t kMaxBundles = int64_t{1} << 31;  // numbers of bundles fit 32 bits

constexpr uint64_t Pack(uint64_t first, uint64_t end) { return first | end << 32; }

}  // namespace

WorkShares::WorkShares(int64_t items, int threads) noexcept
    : items_(items),
      items_per_bundle_(items / kMaxBundles + 1),
      shares_in_use_(std::min(threads, kMaxShares)) {
  const int64_t bundles = (items + items_per_bundle_ - 1) / items_per_bundle_;
  for (int i = 0; i < shares_in_use_; ++i) {
    const Range range = SplitRange(bundles, shares_in_use_, i);
    shares_[i].left = Pack(static_cast<uint64_t>(range.begin), static_cast<uint64_t>(range.end));
  }
}

Range WorkShares::Take(int thread) noexcept {
  for (int i = 0; i < shares_in_use_; ++i) {
    const int64_t bundle = TakeFrom(shares_[(thread + i) % shares_in_use_], i == 0);
    if (bundle < 0) continue;
    const int64_t begin = bundle * items_per_bundle_;
    return {begin, std::min(begin + items_per_bundle_, items_)};
  }
  return {};
}

int64_t WorkShares::TakeFrom(Share& share, bool front) noexcept {
  // Relaxed: items carry no data between threads; the end of the parallel region orders their results.
  std::atomic_ref<uint64_t> left(share.left);
  uint64_t seen = left.load(std::memory_order_relaxed);
  for (;;) {
    const uint64_t first = seen & 0xffffffff, end = seen >> 32;
    if (first >= end) return -1;
    const uint64_t next = front ? Pack(first + 1, end) : Pack(first, end - 1);
    if (left.compare_exchange_weak(seen, next, std::memory_order_relaxed)) {
      return static_cast<int64_t>(front ? first : end - 1);
    }
  }
}

}  // namespace rafter
