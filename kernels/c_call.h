// kernels/c_call.h: what every function of the C interface does around its work: no exception leaves, the text of the
// last failure is kept per thread, structs of the caller are taken as they are. Not for conversions: c_structs.h.
#ifndef RAFTER_KERNELS_C_CALL_H_
#define RAFTER_KERNELS_C_CALL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "kernels/c_structs.h"
#include "rafter/memory_pool.h"
#include "rafter/operator.h"
#include "rafter/rafter_c.h"
#include "rafter/status.h"
#include "rafter/threads.h"

namespace rafter {

// First member of every object of the C interface: tells it from objects of other kinds, from what was destroyed (whose
// memory the allocator writes its own links into) and from garbage. kKind: any number that no other kind has.
template <uint64_t kKind>
class HandleMark {
 public:
  ~HandleMark() { value_ = 0; }
  bool fits() const noexcept { return value_ == kMark; }

 private:
  static constexpr uint64_t kMark = 0x7261'6674'6572'0000u + kKind;
  volatile uint64_t value_ = kMark;  // volatile: the last store must not be left out as dead
};

// Whether `handle` is an object of its kind that lives, as far as can be told.
template <typename Handle>
bool Lives(const Handle* handle) noexcept {
  return handle != nullptr && handle->mark.fits();
}

}  // namespace rafter

struct rafter_worker_pool {
  rafter::HandleMark<1> mark;
  std::unique_ptr<rafter::WorkerPool> pool;
};
struct rafter_memory_pool {
  rafter::HandleMark<2> mark;
  rafter::MemoryPool pool;
};

namespace rafter {

// Keeps the text of a failure for rafter_last_error.
rafter_status Report(const Status& status) noexcept;

inline rafter_status Invalid(const char* message) noexcept {
  return Report(Status(StatusCode::kInvalidArgument, message));
}

// kOk for an object that lives; the text names `name`.
template <typename Handle>
rafter_status CheckHandle(const Handle* handle, const char* name) noexcept {
  if (Lives(handle)) return RAFTER_OK;
  try {
    return Report(Status::InvalidArgument(std::string(name) + (handle == nullptr
                      ? ": NULL" : ": is no such object, or was destroyed before")));
  } catch (const std::bad_alloc&) {
    return Report(Status::OutOfMemory());
  }
}

// Deletes an object that lives.
template <typename Handle>
void Destroy(Handle* handle, const char* name) noexcept {
  if (handle != nullptr && CheckHandle(handle, name) == RAFTER_OK) delete handle;
}

// Questions that all plans answer.
template <typename Operator>
const char* KernelNameOf(const Operator* op) noexcept {
  return op != nullptr ? op->kernel_name().c_str() : "";
}
template <typename Operator>
rafter_isa IsaOf(const Operator* op) noexcept {
  return op != nullptr ? static_cast<rafter_isa>(op->isa()) : RAFTER_ISA_NONE;
}
template <typename Operator>
int32_t ThreadsOf(const Operator* op) noexcept {
  return op != nullptr ? op->threads() : 0;
}
// The plan of a handle that lives, or null.
template <typename Handle>
auto PlanOf(const Handle* handle) noexcept -> decltype(&handle->op) {
  return Lives(handle) ? &handle->op : nullptr;
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
  if (options.workers != nullptr) {
    if (const rafter_status status = CheckHandle(options.workers, "workers"); status != RAFTER_OK) return status;
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
