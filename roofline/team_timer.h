// roofline/team_timer.h: times the same work on several threads at once, from the first start to
// the last end inside the threads, so that waking the team does not count.
#ifndef RAFTER_ROOFLINE_TEAM_TIMER_H_
#define RAFTER_ROOFLINE_TEAM_TIMER_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "rafter/threads.h"
#include "roofline/flush_to_zero.h"
#include "roofline/wall_clock.h"
#include "runtime/parallel.h"

namespace rafter::roofline {

class TeamTimer {
 public:
  // `pool` may be null for one thread: the work then runs on the calling thread.
  TeamTimer(ParallelFor* pool, int threads)
      : pool_(pool),
        threads_(pool == nullptr ? 1 : std::clamp(threads, 1, pool->concurrency())),
        spans_(static_cast<size_t>(threads_)) {}

  int threads() const noexcept { return threads_; }

  // Calls body(thread) once for each thread, with denormals flushed; nanoseconds, at least 1.
  template <typename Body>
  double RunNs(const Body& body) noexcept {
    if (threads_ == 1) {
      Timed(body, 0);
    } else {
      RunOnThreads(*pool_, threads_, [&](int thread, int) noexcept { Timed(body, thread); });
    }
    int64_t start = spans_[0].start_ns, end = spans_[0].end_ns;
    for (const Span& span : spans_) {
      start = std::min(start, span.start_ns);
      end = std::max(end, span.end_ns);
    }
    return static_cast<double>(std::max<int64_t>(end - start, 1));
  }

 private:
  struct alignas(64) Span {  // one cache line per thread
    int64_t start_ns = 0, end_ns = 0;
  };

  template <typename Body>
  void Timed(const Body& body, int thread) noexcept {
    const ScopedFlushToZero flush;
    Span& span = spans_[static_cast<size_t>(thread)];
    span.start_ns = NowNs();
    body(thread);
    span.end_ns = NowNs();
  }

  ParallelFor* pool_;
  int threads_;
  std::vector<Span> spans_;
};

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_TEAM_TIMER_H_
