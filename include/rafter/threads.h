// rafter/threads.h: on which threads Conv::Run works.
//
// Three ways, all safe to use from several threads at once and from inside a parallel region:
//   * OpenMP (default): a team of the process's OpenMP runtime. In a forked child one thread is used
//     (the OpenMP runtime would hang there). Inside a caller's parallel region one thread is used.
//   * Own workers: WorkerPool, threads of rafter that spin for a bounded time, then sleep; rebuilt after
//     fork in the child. Each worker is pinned to one CPU of the allowed set (one per core before
//     siblings); the calling thread takes part in the work and its affinity is never changed.
//   * The caller's pool: any class derived from ParallelFor.
#ifndef RAFTER_THREADS_H_
#define RAFTER_THREADS_H_

#include <cstdint>
#include <memory>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

// Runs tasks 0 … num_tasks-1, each exactly once, in any order, on any threads, and returns when all have
// ended. Tasks do not throw and do not wait for each other, so running them one after the other is right.
class RAFTER_EXPORT ParallelFor {
 public:
  using Task = void (*)(void* context, int64_t task) noexcept;

  virtual ~ParallelFor();
  // How many tasks can run at the same time, at least 1.
  virtual int concurrency() const noexcept = 0;
  virtual void Run(int64_t num_tasks, Task task, void* context) noexcept = 0;
};

struct WorkerPoolOptions {
  int threads = 0;        // including the caller; 0 = one per allowed physical core
  bool pin = true;        // refused pinning is no error
  int spin_us = 20;       // how long an idle worker spins before it sleeps, 0 … 1,000
};

// rafter's own workers.
class RAFTER_EXPORT WorkerPool : public ParallelFor {
 public:
  // kInvalidArgument: threads outside 0 … 1,024 or spin_us outside 0 … 1,000. kOutOfMemory.
  // kInternal: the system refused to start a thread.
  static Result<std::unique_ptr<WorkerPool>> Create(const WorkerPoolOptions& options = {});
};

// The OpenMP backend, of the process's lifetime. Never null.
RAFTER_EXPORT ParallelFor* OpenMpThreads() noexcept;

}  // namespace rafter

#endif  // RAFTER_THREADS_H_
