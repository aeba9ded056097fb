// runtime/worker_pool.cc: rafter's own workers (rafter/threads.h, WorkerPool).
//
// clang-format off
//   caller                                worker i (pinned to one CPU)
//   ------                                ----------------------------
//   writes job_                           spins spin_us on slot i's signal, then sleeps on it
//   fills slot 0 … n-1 with tasks    ──▶  sees the signal
//   raises the signals, wakes sleepers    claims tasks of slot i, then of the other slots
//   claims tasks of slot 0, then of all   subtracts what it ran from unfinished_
//   waits until unfinished_ is 0     ◀──  the last one wakes the caller if that sleeps
// clang-format on
//
// Each slot holds a range of tasks; taking one is a compare-exchange of the slot's `unclaimed`
// count. Thread i starts with its own range, so it meets the same part of the data in call after
// call. A thread that is through takes from the others: tasks of a worker that sleeps, or whose
// core another program holds, are done by the caller, and the end waits only for tasks that a
// worker has really begun.
//
// Why a claim is safe without job numbers: `unclaimed` is positive only between the opening of a
// job and the claim of its last task, and a job does not end before each claimed task has been
// subtracted from unfinished_. So whoever claims, however late it comes, belongs to the job that is
// open, and job_ and Slot::end, read after the claim, cannot change before its subtraction.
//
// A Run that finds the pool busy (another thread's Run, or one from inside a task) runs its tasks
// itself.
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "rafter/threads.h"
#include "runtime/affinity.h"
#include "runtime/floating_point_mode.h"
#include "runtime/fork_generation.h"
#include "runtime/parallel.h"
#include "runtime/spin_wait.h"
#include "runtime/topology.h"

namespace rafter {
namespace {

constexpr int kMaxThreads = 1024, kMaxSpinUs = 1000;
// The caller is what everyone waits for: it spins longer than idle workers before it sleeps (waking
// takes about 5 us, far more in a virtual machine).
constexpr int kCallerSpinUs = 100;

// Blocks every signal that another thread can handle as well; faults of the thread itself stay
// deliverable, so that crash handlers work.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The pool whose task the current thread is executing.
thread_local const ParallelFor* pool_of_this_thread = nullptr;

class WorkerThreads final : public WorkerPool {
 public:
  WorkerThreads(int threads, bool pin, int spin_us)
      : threads_(threads),
        pin_(pin),
        spin_us_(spin_us),
        slots_(new Slot[static_cast<size_t>(threads)]) {}
  ~WorkerThreads() override {
    if (state_.load(std::memory_order_relaxed) >> 1 == ForkGeneration()) StopWorkers();
    // Otherwise this is a forked child that never used the pool: the threads are its parent's.
  }

  // False when the system refused a thread; those that did start are then in use.
  bool StartWorkers() noexcept;
  int concurrency() const noexcept override;
  void Run(int64_t num_tasks, Task task, void* context) noexcept override;

 private:
  struct alignas(64) Slot {
    std::atomic<int64_t> unclaimed{0};  // tasks end - unclaimed … end - 1 are still to be claimed
    int64_t end = 0;                    // read only after a claim
    std::atomic<uint32_t> signal{0};    // futex of worker i: differs from what it saw last = work
    std::atomic<uint32_t> sleeping{0};
    WorkerThreads* pool = nullptr;
    pthread_t thread{};
    int index = 0;
    int cpu = -1;  // -1 = not pinned
  };
  struct Job {
    Task task = nullptr;
    void* context = nullptr;
    unsigned floating_point_mode = 0;
  };

  bool TryAcquire() noexcept;
  void StopWorkers() noexcept;
  void ChooseCpus() noexcept;
  void Open(int64_t num_tasks, int participants, const Job& job) noexcept;
  void TakePart(int first_slot) noexcept;
  void Drain(Slot& slot) noexcept;
  void AwaitEnd() noexcept;
  void WorkerLoop(Slot& slot) noexcept;
  static void Signal(Slot& slot) noexcept;

  const int threads_;
  const bool pin_;
  const int spin_us_;
  bool shares_cpus_ = false;  // more threads than CPUs: whoever spins keeps another from working
  const std::unique_ptr<Slot[]> slots_;
  std::atomic<int> started_{1};  // the caller and the workers that run
  std::atomic<bool> stop_{false};
  std::atomic<uint32_t> state_{ForkGeneration()
                               << 1};  // generation * 2 + (1 while a Run uses the workers)

  Job job_;
  std::atomic<int> participants_{0};
  alignas(64) std::atomic<int64_t> unfinished_{0};
  std::atomic<uint32_t> jobs_ended_{0};  // futex of the caller
  std::atomic<uint32_t> caller_sleeps_{0};
};

int WorkerThreads::concurrency() const noexcept {
  return pool_of_this_thread == this ? 1 : started_.load(std::memory_order_relaxed);
}

void WorkerThreads::Run(int64_t num_tasks, Task task, void* context) noexcept {
  if (num_tasks <= 1 || threads_ == 1 || !TryAcquire()) {
    for (int64_t i = 0; i < num_tasks; ++i) task(context, i);
    return;
  }
  const ParallelFor* const outer_pool = pool_of_this_thread;
  pool_of_this_thread = this;
  const int started = started_.load(std::memory_order_relaxed);
  const int participants = static_cast<int>(std::min<int64_t>(num_tasks, started));
  Open(num_tasks, participants, Job{task, context, FloatingPointMode()});
  TakePart(0);
  AwaitEnd();
  pool_of_this_thread = outer_pool;
  state_.fetch_sub(1, std::memory_order_release);  // idle
}

// True: this thread owns the workers until it stores an idle state. In a forked child the state
// still is the parent's, perhaps busy with a Run that does not exist here: the first to replace it
// starts workers.
bool WorkerThreads::TryAcquire() noexcept {
  const uint32_t generation = ForkGeneration();
  uint32_t state = state_.load(std::memory_order_relaxed);
  const bool forked = state >> 1 != generation;
  if (!forked && (state & 1) != 0) return false;
  if (!state_.compare_exchange_strong(state, generation << 1 | 1, std::memory_order_acquire))
    return false;
  if (forked) StartWorkers();
  return true;
}

void WorkerThreads::Open(int64_t num_tasks, int participants, const Job& job) noexcept {
  job_ = job;
  participants_.store(participants, std::memory_order_relaxed);
  unfinished_.store(num_tasks, std::memory_order_relaxed);
  for (int i = 0; i < participants; ++i) {
    const Range range = SplitRange(num_tasks, participants, i);
    slots_[i].end = range.end;
    slots_[i].unclaimed.store(range.end - range.begin, std::memory_order_release);
  }
  for (int i = 1; i < participants; ++i) Signal(slots_[i]);
}

// Pairs with WorkerLoop: either the worker sees the new signal before it sleeps, or this sees it
// sleeping. Only the worker clears `sleeping`: a caller that is late could clear the next sleep's.
void WorkerThreads::Signal(Slot& slot) noexcept {
  slot.signal.fetch_add(1, std::memory_order_seq_cst);
  if (slot.sleeping.load(std::memory_order_seq_cst) != 0) FutexWake(slot.signal);
}

void WorkerThreads::TakePart(int first_slot) noexcept {
  const int participants =
      participants_.load(std::memory_order_relaxed);  // of this job or a later one
  for (int i = 0; i < participants; ++i) Drain(slots_[(first_slot + i) % participants]);
}

void WorkerThreads::Drain(Slot& slot) noexcept {
  int64_t finished = 0;
  int64_t left = slot.unclaimed.load(std::memory_order_relaxed);
  while (left > 0) {
    if (!slot.unclaimed.compare_exchange_weak(left, left - 1, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
      continue;
    }
    SetFloatingPointMode(job_.floating_point_mode);
    job_.task(job_.context, slot.end - left);
    ++finished;
    left = slot.unclaimed.load(std::memory_order_relaxed);
  }
  if (finished == 0) return;
  if (unfinished_.fetch_sub(finished, std::memory_order_acq_rel) != finished) return;
  jobs_ended_.fetch_add(1, std::memory_order_seq_cst);
  if (caller_sleeps_.load(std::memory_order_seq_cst) != 0) FutexWake(jobs_ended_);
}

void WorkerThreads::AwaitEnd() noexcept {
  const auto ended = [this] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (SpinUntil(shares_cpus_ ? 0 : std::max(kCallerSpinUs, spin_us_), ended)) return;
  caller_sleeps_.store(1, std::memory_order_seq_cst);
  for (;;) {
    const uint32_t before = jobs_ended_.load(std::memory_order_seq_cst);
    if (ended()) break;
    FutexWait(jobs_ended_, before);
  }
  caller_sleeps_.store(0, std::memory_order_relaxed);
}

void WorkerThreads::WorkerLoop(Slot& slot) noexcept {
  if (slot.cpu >= 0)
    PinThisThread(slot.cpu);  // refused (the CPU went away, a container forbids): unpinned
  pthread_setname_np(pthread_self(), "rafter-worker");
  pool_of_this_thread = this;
  uint32_t seen = 0;
  const auto signalled = [&] { return slot.signal.load(std::memory_order_acquire) != seen; };
  for (;;) {
    if (!SpinUntil(shares_cpus_ ? 0 : spin_us_, signalled)) {
      slot.sleeping.store(1, std::memory_order_seq_cst);
      while (slot.signal.load(std::memory_order_seq_cst) == seen) FutexWait(slot.signal, seen);
      slot.sleeping.store(0, std::memory_order_relaxed);
    }
    seen = slot.signal.load(std::memory_order_acquire);
    if (stop_.load(std::memory_order_acquire)) return;
    TakePart(slot.index);
  }
}

// CPUs for the workers; the first of the order is left to the caller, which is never pinned.
void WorkerThreads::ChooseCpus() noexcept {
  std::vector<int> order;
  try {
    order = PinningOrder();
  } catch (const std::bad_alloc&) {
    order.clear();
  }
  shares_cpus_ = static_cast<size_t>(threads_) > order.size();
  for (int i = 1; i < threads_; ++i) {
    slots_[i].cpu = pin_ && order.size() > 1 ? order[static_cast<size_t>(i) % order.size()] : -1;
  }
}

bool WorkerThreads::StartWorkers() noexcept {
  ChooseCpus();
  unfinished_.store(0, std::memory_order_relaxed);
  caller_sleeps_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  started_.store(1, std::memory_order_relaxed);
  const SignalsBlocked inherited_by_the_workers;
  const auto entry = [](void* opaque) -> void* {
    auto* slot = static_cast<Slot*>(opaque);
    slot->pool->WorkerLoop(*slot);
    return nullptr;
  };
  for (int i = 0; i < threads_; ++i) {
    Slot& slot = slots_[i];
    slot.unclaimed.store(0, std::memory_order_relaxed);
    slot.signal.store(0, std::memory_order_relaxed);
    slot.sleeping.store(0, std::memory_order_relaxed);
    slot.pool = this;
    slot.index = i;
    if (i == 0) continue;  // the caller's
    if (pthread_create(&slot.thread, nullptr, entry, &slot) != 0) return false;
    started_.store(i + 1, std::memory_order_relaxed);
  }
  return true;
}

void WorkerThreads::StopWorkers() noexcept {
  stop_.store(true, std::memory_order_release);
  const int started = started_.load(std::memory_order_relaxed);
  for (int i = 1; i < started; ++i) Signal(slots_[i]);
  for (int i = 1; i < started; ++i) pthread_join(slots_[i].thread, nullptr);
}

Status CheckOptions(const WorkerPoolOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Status::InvalidArgument("threads is " + std::to_string(options.threads) +
                                   ", allowed is 0 to 1024 (0 = one per allowed physical core)");
  }
  if (options.spin_us < 0 || options.spin_us > kMaxSpinUs) {
    return Status::InvalidArgument("spin_us is " + std::to_string(options.spin_us) +
                                   ", allowed is 0 to 1000");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<WorkerPool>> WorkerPool::Create(const WorkerPoolOptions& options) {
  try {
    Status status = CheckOptions(options);
    if (!status.ok()) return status;
    const int threads = options.threads > 0 ? options.threads : CountUsefulThreads();
    auto pool = std::make_unique<WorkerThreads>(std::min(threads, kMaxThreads), options.pin,
                                                options.spin_us);
    if (!pool->StartWorkers()) {
      return Status(StatusCode::kInternal, "the system refused to start a worker thread");
    }
    return std::unique_ptr<WorkerPool>(std::move(pool));
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  }
}

}  // namespace rafter
