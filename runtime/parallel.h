// runtime/parallel.h: how kernels use threads. Wraps the public ParallelFor with a per-call limit.
#ifndef RAFTER_RUNTIME_PARALLEL_H_
#define RAFTER_RUNTIME_PARALLEL_H_

#include <cstdint>

#include "rafter/threads.h"

namespace rafter {

// Calls body(thread, threads) for thread 0 … threads-1, where
// threads = max(1, min(limit, pool.concurrency())). With one thread it is a plain call. `body` is a
// callable that does not throw.
template <typename Body>
void RunOnThreads(ParallelFor& pool, int limit, const Body& body) noexcept {
  const int available = limit > 1 ? pool.concurrency() : 1;  // asking OpenMP takes 17 ns
  const int threads = limit < available ? limit : available;
  if (threads <= 1) {
    body(0, 1);
    return;
  }
  struct Context {
    const Body* body;
    int threads;
  } context{&body, threads};
  pool.Run(
      threads,
      [](void* opaque, int64_t task) noexcept {
        const auto* c = static_cast<const Context*>(opaque);
        (*c->body)(static_cast<int>(task), c->threads);
      },
      &context);
}

struct Range {
  int64_t begin = 0, end = 0;
};

// Part `index` of `parts` nearly equal consecutive parts of [0, total).
constexpr Range SplitRange(int64_t total, int64_t parts, int64_t index) noexcept {
  if (parts == 1) return {0, total};
  const int64_t base = total / parts, rest = total % parts;
  const int64_t begin = index * base + (index < rest ? index : rest);
  return {begin, begin + base + (index < rest ? 1 : 0)};
}

}  // namespace rafter

#endif  // RAFTER_RUNTIME_PARALLEL_H_
