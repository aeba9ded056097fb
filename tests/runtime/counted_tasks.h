// tests/runtime/counted_tasks.h: counts how often each task of a ParallelFor runs.
#ifndef RAFTER_TESTS_RUNTIME_COUNTED_TASKS_H_
#define RAFTER_TESTS_RUNTIME_COUNTED_TASKS_H_

#include <cstdint>
#include <vector>

#include "rafter/threads.h"

namespace rafter {

// True if each of `num_tasks` tasks ran exactly once. The counters are plain integers on purpose:
// what the tasks write must be visible after Run without any help (the thread sanitizer checks that
// too).
inline bool RunsEachTaskOnce(ParallelFor& pool, int64_t num_tasks) {
  std::vector<int> runs(static_cast<size_t>(num_tasks), 0);
  pool.Run(
      num_tasks,
      [](void* context, int64_t task) noexcept {
        ++(*static_cast<std::vector<int>*>(context))[static_cast<size_t>(task)];
      },
      &runs);
  for (int count : runs) {
    if (count != 1) return false;
  }
  return true;
}

}  // namespace rafter

#endif  // RAFTER_TESTS_RUNTIME_COUNTED_TASKS_H_
