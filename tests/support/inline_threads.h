// tests/support/inline_threads.h: a caller's ParallelFor that claims any number of threads and runs
// the tasks one after the other on the calling thread, last first. Right by contract, fast, and it
// shows which results depend on the split or on the order of tasks. Races need a WorkerPool
// instead.
#ifndef RAFTER_TESTS_SUPPORT_INLINE_THREADS_H_
#define RAFTER_TESTS_SUPPORT_INLINE_THREADS_H_

#include <atomic>
#include <cstdint>

#include "rafter/threads.h"

namespace rafter::testing {

class InlineThreads : public ParallelFor {
 public:
  explicit InlineThreads(int threads) : threads_(threads) {}
  int concurrency() const noexcept override { return threads_; }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    runs_.fetch_add(1, std::memory_order_relaxed);
    for (int64_t i = num_tasks - 1; i >= 0; --i) task(context, i);
    if (num_tasks > most_tasks_) most_tasks_ = num_tasks;
  }
  int64_t runs() const { return runs_; }
  int64_t most_tasks() const { return most_tasks_; }

 private:
  int threads_;
  std::atomic<int64_t> runs_{0}, most_tasks_{0};
};

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_INLINE_THREADS_H_
