// runtime/work_shares.h: an even split of numbered items over the threads of one call that evens itself out: a
// thread takes its own share from the front, item by item, then takes from the ends of others' shares.
//
// Threads rarely run equally fast: a hyper-thread beside it, a stolen virtual CPU or a slower core is enough. With a
// fixed split all wait for the slowest; with shares they finish together, and where nothing disturbs them each thread
// runs the same items as in the last call, so that caches stay warm. Who runs an item must not change its result.
#ifndef RAFTER_RUNTIME_WORK_SHARES_H_
#define RAFTER_RUNTIME_WORK_SHARES_H_

#include <cstdint>

#include "runtime/parallel.h"

namespace rafter {

class WorkShares {
 public:
  // `items` at least 0, `threads` at least 1.
  WorkShares(int64_t items, int threads) noexcept;

  // The next items for `thread` (0 … threads - 1), over all threads each item once; an empty range: all are taken.
  // One item at a time unless there are more than 2^31. Safe to call from all threads at once.
  Range Take(int thread) noexcept;

 private:
  // More threads than this take from each other's shares from the start.
  static constexpr int kMaxShares = 64;

  // What is left of a share: first item in the low half, end in the high half, so that owner and thieves change
  // it by one compare-and-swap. A line each; not initialised beyond the shares in use.
  struct alignas(64) Share {
    uint64_t left;
  };

  // One bundle from a share's front or back, or -1.
  int64_t TakeFrom(Share& share, bool front) noexcept;

  int64_t items_, items_per_bundle_;
  int shares_in_use_;
  Share shares_[kMaxShares];
};

}  // namespace rafter

#endif  // RAFTER_RUNTIME_WORK_SHARES_H_
