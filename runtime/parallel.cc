// runtime/parallel.cc: the OpenMP backend. The only file of rafter that includes omp.h; works with
// libgomp and with libomp. Workers of our own: runtime/worker_pool.cc.
#include "runtime/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/affinity.h"
#include "runtime/floating_point_mode.h"
#include "runtime/fork_generation.h"
#include "runtime/topology.h"

namespace rafter {

ParallelFor::~ParallelFor() = default;

namespace {

// CPUs that the OpenMP runtime found when the program started; its default is one thread for each.
int CountCpus() noexcept {
  try {
    return static_cast<int>(AllowedCpus().size());
  } catch (const std::bad_alloc&) {
    return 0;
  }
}
const int cpus_at_load = CountCpus();

// One call of Run. The atomics are more than OpenMP's own barriers give: they tell the thread
// sanitizer, which does not see into libgomp, that the caller's writes come before the tasks and
// theirs before the return. (The whole costs about 20 ns beside a region of 300 ns.)
struct Job {
  ParallelFor::Task task;
  void* context;
  int64_t num_tasks;
  unsigned floating_point_mode;
  std::atomic<int64_t> next{0};
  std::atomic<bool> published{false};
  std::atomic<int> left_team{0};
};

// What one thread of the team does. The first task is the one of its own number, so that a thread
// meets the same part of the data in call after call; the others are taken as they come. Each task
// runs exactly once with any number of threads that the runtime delivers.
void TakePart(Job& job, int thread, int team) noexcept {
  (void)job.published.load(std::memory_order_acquire);
  const unsigned own_mode = FloatingPointMode();
  SetFloatingPointMode(job.floating_point_mode);
  for (int64_t task = thread; task < job.num_tasks;) {
    job.task(job.context, task);
    task = team + job.next.fetch_add(1, std::memory_order_relaxed);
  }
  SetFloatingPointMode(own_mode);
  job.left_team.fetch_add(1, std::memory_order_acq_rel);
}

// Only what the compiler generates for the region stays in here, hidden from the thread sanitizer:
// it hands `job` over through memory that libgomp orders.
__attribute__((no_sanitize("thread"))) void RunTeam(Job& job, int threads) noexcept {
  Job* const shared = &job;
#pragma omp parallel num_threads(threads) default(none) firstprivate(shared)
  TakePart(*shared, omp_get_thread_num(), omp_get_num_threads());
}

class OpenMpBackend final : public ParallelFor {
 public:
  int concurrency() const noexcept override {
    // The child of a process whose OpenMP team ran would wait for threads that do not exist in it.
    if (ForkGeneration() != 0 || omp_in_parallel() != 0) return 1;
    const int asked = std::min(omp_get_max_threads(), omp_get_thread_limit());
    return std::max(1, ChosenByUser(asked) ? asked : std::min(asked, DefaultThreadCount()));
  }

  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    const int threads = static_cast<int>(std::min<int64_t>(num_tasks, concurrency()));
    if (threads <= 1) {
      for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
      return;
    }
    Job job{task, context, num_tasks, FloatingPointMode()};
    job.published.store(true, std::memory_order_release);
    RunTeam(job, threads);
    (void)job.left_team.load(std::memory_order_acquire);
  }

 private:
  // OMP_NUM_THREADS, omp_set_num_threads or a binding policy: whoever set one of them is obeyed.
  // Without them the runtime counts every CPU, also the second of a core and those beyond a
  // container's quota.
  static bool ChosenByUser(int asked) noexcept {
    static const bool by_environment = std::getenv("OMP_NUM_THREADS") != nullptr;
    return by_environment || asked != cpus_at_load || omp_get_proc_bind() != omp_proc_bind_false;
  }
};

}  // namespace

ParallelFor* OpenMpThreads() noexcept {
  // Never destroyed: other objects may use it until the very end of the process.
  alignas(OpenMpBackend) static unsigned char storage[sizeof(OpenMpBackend)];
  static ParallelFor* const backend = new (storage) OpenMpBackend;
  return backend;
}

}  // namespace rafter
