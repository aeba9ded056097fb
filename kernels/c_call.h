// kernels/c_call.h: what every function of the C interface does around its work: no exception leaves, the text of the
// last failure is kept per thread, structs of the caller are taken as they are. Not for conversions: c_structs.h.
#ifndef RAFTER_KERNELS_C_CALL_H_
#define RAFTER_KERNELS_C_CALL_H_

#include <algorithm>
#include <memory>
#include <new>

#include "kernels/c_structs.h"
#include "rafter/operator.h"
#include "rafter/rafter_c.h"
#include "rafter/status.h"
#include "rafter/threads.h"

struct rafter_worker_pool {
  std::unique_ptr<rafter::WorkerPool> pool;
};

namespace rafter {

// Keeps the text of a failure for rafter_last_error.
rafter_status Report(const Status& status) noexcept;

inline rafter_status Invalid(const char* message) noexcept {
  return Report(Status(StatusCode::kInvalidArgument, message));
}

// Runs `body`, which returns a Status and may throw bad_alloc.
template <typename Body>
rafter_status Guarded(const Body& body) noexcept {
  try {
    return Report(body());
  } catch (const std::bad_alloc&) {
    return Report(Status::OutOfMemory());
  } catch (...) {
    return Report(Status(StatusCode::kInternal, "unexpected exception"));
  }
}

// The caller's pool as a ParallelFor, for the time of one call.
class CallerThreads : public ParallelFor {
 public:
  explicit CallerThreads(const rafter_parallel_for& pool) : pool_(pool) {}
  int concurrency() const noexcept override { return pool_.concurrency; }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    pool_.run(pool_.context, num_tasks, task, context);
  }

 private:
  const rafter_parallel_for& pool_;
};

// Null where `pool` is fit to be called.
inline const char* WhyNot(const rafter_parallel_for& pool) noexcept {
  if (pool.run == nullptr) return "parallel_for.run: NULL";
  if (pool.concurrency >= 1) return nullptr;
  return "parallel_for.concurrency: is below 1, allowed: how many tasks can run at the same time";
}

// Calls run(options) with the caller's options, or the defaults.
template <typename RunBody>
rafter_status WithOptions(const rafter_operator_options* given, const RunBody& run) noexcept {
  rafter_operator_options options{};
  if (given != nullptr) {
    const rafter_status sized = Guarded([&]() -> Status {
      const auto copy = Sized(*given, sizeof(rafter_operator_options), "options");
      if (copy.ok()) options = *copy;
      return copy.status();
    });
    if (sized != RAFTER_OK) return sized;
  }
  if (options.workers != nullptr && options.parallel_for != nullptr) {
    return Invalid("workers and parallel_for: only one of them may be set");
  }
  OperatorRunOptions call{nullptr, options.max_threads};
  if (options.workers != nullptr) call.threads = options.workers->pool.get();
  if (options.parallel_for == nullptr) return Report(run(call));
  if (const char* why = WhyNot(*options.parallel_for)) return Invalid(why);
  CallerThreads threads(*options.parallel_for);
  call.threads = &threads;
  return Report(run(call));
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_C_CALL_H_
