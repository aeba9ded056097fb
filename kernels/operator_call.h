// kernels/operator_call.h: checks and decisions that every memory-bound operator makes at its Create and Run
// (rafter/operator.h). Not for anything that one operator does alone.
#ifndef RAFTER_KERNELS_OPERATOR_CALL_H_
#define RAFTER_KERNELS_OPERATOR_CALL_H_

#include <algorithm>
#include <cstdint>
#include <string>

#include "rafter/operator.h"
#include "rafter/status.h"
#include "runtime/machine_model.h"

namespace rafter {

// Threads that an operator is planned for. kInvalidArgument beyond 1,024.
inline Result<int> PlannedThreads(const OperatorOptions& options) {
  constexpr int kMaxThreads = 1024;
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Status::InvalidArgument("threads: " + std::to_string(options.threads) +
                                   " is out of range, allowed: 0 (all) to 1024");
  }
  return options.threads > 0 ? options.threads : std::max(OpenMpThreads()->concurrency(), 1);
}

// On which threads, and on how many, one call works.
struct CallThreads {
  ParallelFor* pool = nullptr;
  int threads = 1;
};
inline CallThreads ThreadsOfCall(const OperatorRunOptions& options, int planned) noexcept {
  CallThreads call{options.threads != nullptr ? options.threads : OpenMpThreads(), planned};
  if (options.max_threads > 0) call.threads = std::min(call.threads, options.max_threads);
  if (call.threads > 1) call.threads = std::max(1, std::min(call.threads, call.pool->concurrency()));
  return call;
}

// Literals only: a Run that fails must not allocate.
inline Status CheckMaxThreads(const OperatorRunOptions& options) noexcept {
  if (options.max_threads >= 0) return {};
  return Status(StatusCode::kInvalidArgument,
                "max_threads: is negative, allowed: 0 (the plan's own count) and above");
}

// `null` and `misaligned` are the messages, literals that name the pointer.
inline Status CheckPointer(const float* pointer, const char* null, const char* misaligned) noexcept {
  if (pointer == nullptr) return Status(StatusCode::kInvalidArgument, null);
  if (reinterpret_cast<uintptr_t>(pointer) % alignof(float) != 0) {
    return Status(StatusCode::kInvalidArgument, misaligned);
  }
  return {};
}

// The two tensors of most operators.
inline Status CheckSrcAndDst(const float* src, const float* dst) noexcept {
  const auto bits = reinterpret_cast<uintptr_t>(src) | reinterpret_cast<uintptr_t>(dst);
  if (src != nullptr && dst != nullptr && bits % alignof(float) == 0) return {};
  Status status = CheckPointer(src, "src: is null, allowed: a pointer to the source tensor",
                               "src: is not aligned to 4 bytes");
  if (!status.ok()) return status;
  return CheckPointer(dst, "dst: is null, allowed: a pointer to the destination tensor",
                      "dst: is not aligned to 4 bytes");
}

// Threads beyond which `bytes` of traffic (read and written) would be shared out too thinly: what one thread moves in
// the time of a fork-join is not worth a second one.
inline int ThreadsForBytes(double bytes, int threads, const MachineModel& machine) noexcept {
  const double bytes_per_us = machine.l3_bytes_per_cycle * machine.clock_ghz * 1000;
  const double worth = bytes / (2 * bytes_per_us * machine.fork_join_us);
  return worth < 2 ? 1 : static_cast<int>(std::min<double>(threads, worth));
}

}  // namespace rafter

#endif  // RAFTER_KERNELS_OPERATOR_CALL_H_
