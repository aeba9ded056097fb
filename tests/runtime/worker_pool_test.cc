// tests/runtime/worker_pool_test.cc: rafter's own workers.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "rafter/threads.h"
#include "runtime/affinity.h"
#include "runtime/parallel.h"
#include "runtime/topology.h"
#include "tests/runtime/child_process.h"
#include "tests/runtime/counted_tasks.h"

namespace rafter {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

std::unique_ptr<WorkerPool> MakePool(const WorkerPoolOptions& options) {
  Result<std::unique_ptr<WorkerPool>> pool = WorkerPool::Create(options);
  EXPECT_TRUE(pool.ok()) << pool.status().message();
  return pool.ok() ? std::move(pool).value() : nullptr;
}

// Runs `body` once on every thread of the pool: each task waits until all have begun (5 s at most).
template <typename Body>
bool OnEveryThread(WorkerPool& pool, const Body& body) {
  std::atomic<int> begun{0};
  std::atomic<bool> all{true};
  const int threads = pool.concurrency();
  RunOnThreads(pool, threads, [&](int, int) {
    ++begun;
    const auto deadline = steady_clock::now() + std::chrono::seconds(5);
    while (begun < threads && steady_clock::now() < deadline) std::this_thread::yield();
    if (begun < threads) all = false;
    body();
  });
  return all;
}

double CpuSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

TEST(WorkerPool, RefusesOptionsOutOfRange) {
  for (const WorkerPoolOptions& options :
       {WorkerPoolOptions{.threads = -1}, WorkerPoolOptions{.threads = 1025},
        WorkerPoolOptions{.spin_us = -1}, WorkerPoolOptions{.spin_us = 1001}}) {
    const auto pool = WorkerPool::Create(options);
    ASSERT_FALSE(pool.ok());
    EXPECT_EQ(pool.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(pool.status().message().find("allowed"), std::string_view::npos);
  }
}

TEST(WorkerPool, DefaultIsOneThreadPerCore) {
  const auto pool = MakePool({});
  EXPECT_EQ(pool->concurrency(), DefaultThreadCount());
}

TEST(WorkerPool, EachTaskRunsOnce) {
  for (int threads : {1, 2, 3, 4, 8, 17}) {
    for (int spin_us : {0, 20, 1000}) {
      const auto pool = MakePool({.threads = threads, .spin_us = spin_us});
      EXPECT_EQ(pool->concurrency(), threads);
      for (int64_t tasks : {0, 1, 2, 3, 4, 5, 7, 8, 16, 17, 18, 100, 1000}) {
        EXPECT_TRUE(RunsEachTaskOnce(*pool, tasks)) << threads << " threads, " << tasks << " tasks";
      }
    }
  }
}

TEST(WorkerPool, ManyShortRuns) {
  for (int spin_us : {0, 20}) {
    const auto pool = MakePool({.threads = 3, .spin_us = spin_us});
    int64_t wrong = 0;
    for (int i = 0; i < 5000; ++i) wrong += !RunsEachTaskOnce(*pool, 1 + i % 7);
    EXPECT_EQ(wrong, 0);
  }
}

TEST(WorkerPool, AllThreadsTakePart) {
  const auto pool = MakePool({.threads = 4});
  std::mutex mutex;
  std::map<std::thread::id, int> runs;
  EXPECT_TRUE(OnEveryThread(*pool, [&] {
    const std::lock_guard<std::mutex> guard(mutex);
    ++runs[std::this_thread::get_id()];
  }));
  EXPECT_EQ(runs.size(), 4u);
  EXPECT_EQ(runs.count(std::this_thread::get_id()), 1u);  // the caller is one of them
}

TEST(WorkerPool, ALimitUsesFewerThreads) {
  const auto pool = MakePool({.threads = 4});
  int calls = 0;  // written by one task at a time only if the limit holds: each sees its own number
  RunOnThreads(*pool, 1, [&](int, int threads) { calls += threads; });
  EXPECT_EQ(calls, 1);
  std::atomic<int> tasks{0};
  RunOnThreads(*pool, 2, [&](int, int threads) { tasks += threads; });
  EXPECT_EQ(tasks, 4);
}

TEST(WorkerPool, SeveralThreadsAtOnce) {
  const auto pool = MakePool({.threads = 3});
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i) right += RunsEachTaskOnce(*pool, i % 20);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 1200);
}

TEST(WorkerPool, ARunInsideATaskRunsThere) {
  const auto pool = MakePool({.threads = 3});
  const auto other = MakePool({.threads = 2});
  std::atomic<int> right{0};
  for (int i = 0; i < 50; ++i) {
    RunOnThreads(*pool, 3, [&](int, int) {
      right +=
          pool->concurrency() == 1 && RunsEachTaskOnce(*pool, 20) && RunsEachTaskOnce(*other, 20);
    });
  }
  EXPECT_EQ(right, 150);
  EXPECT_EQ(pool->concurrency(), 3);
}

TEST(WorkerPool, InsideACallersOpenMpRegion) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer does not see OpenMP's own barriers";
  const auto pool = MakePool({.threads = 2});
  int right = 0;
#pragma omp parallel num_threads(8) reduction(+ : right)
  for (int i = 0; i < 20; ++i) right += RunsEachTaskOnce(*pool, 10);
  EXPECT_EQ(right, 160);
}

TEST(WorkerPool, WorkersArePinnedAndTheCallerIsNot) {
  const std::vector<int> mask = AllowedCpus();
  if (mask.size() < 2) GTEST_SKIP() << "one CPU allowed: nothing to pin";
  const auto caller = std::this_thread::get_id();
  const int threads = static_cast<int>(std::min<size_t>(mask.size(), 8));
  const auto pool = MakePool({.threads = threads});
  std::mutex mutex;
  std::vector<int> cpus;
  EXPECT_TRUE(OnEveryThread(*pool, [&] {
    if (std::this_thread::get_id() == caller) return;
    const std::vector<int> own = AllowedCpus();
    const std::lock_guard<std::mutex> guard(mutex);
    cpus.insert(cpus.end(), own.begin(), own.end());
    EXPECT_EQ(own.size(), 1u);
  }));
  EXPECT_EQ(static_cast<int>(cpus.size()), threads - 1);
  std::sort(cpus.begin(), cpus.end());
  EXPECT_EQ(std::unique(cpus.begin(), cpus.end()), cpus.end());  // no two on one CPU
  EXPECT_EQ(AllowedCpus(), mask);
}

TEST(WorkerPool, UnpinnedWorkersKeepTheMask) {
  const std::vector<int> mask = AllowedCpus();
  const auto pool = MakePool({.threads = 3, .pin = false});
  std::atomic<int> right{0};
  EXPECT_TRUE(OnEveryThread(*pool, [&] { right += AllowedCpus() == mask; }));
  EXPECT_EQ(right, 3);
}

TEST(WorkerPool, APinnedCallerKeepsItsMask) {
  std::thread([] {
    const int cpu = AllowedCpus().back();
    ASSERT_TRUE(PinThisThread(cpu));
    const auto pool = MakePool({.threads = 2});  // more threads than CPUs: nobody spins
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(RunsEachTaskOnce(*pool, 10));
    EXPECT_EQ(AllowedCpus(), std::vector<int>{cpu});
  }).join();
}

TEST(WorkerPool, WorkersBlockSignals) {
  const auto pool = MakePool({.threads = 2});
  const auto caller = std::this_thread::get_id();
  std::atomic<int> checked{0};
  EXPECT_TRUE(OnEveryThread(*pool, [&] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const bool is_worker = std::this_thread::get_id() != caller;
    for (int signal : {SIGINT, SIGTERM, SIGALRM, SIGCHLD, SIGUSR1, SIGPROF}) {
      checked += (sigismember(&blocked, signal) == 1) == is_worker;
    }
    if (is_worker) checked += sigismember(&blocked, SIGSEGV) == 0;  // its own faults reach handlers
  }));
  EXPECT_EQ(checked, 13);
}

TEST(WorkerPool, IdleWorkersSleep) {
  const auto pool = MakePool({.threads = 3, .spin_us = 1000});
  const auto caller = std::this_thread::get_id();
  std::mutex mutex;
  std::vector<clockid_t> worker_clocks;
  EXPECT_TRUE(OnEveryThread(*pool, [&] {
    if (std::this_thread::get_id() == caller) return;
    const std::lock_guard<std::mutex> guard(mutex);
    worker_clocks.emplace_back();
    EXPECT_EQ(pthread_getcpuclockid(pthread_self(), &worker_clocks.back()), 0);
  }));
  ASSERT_EQ(worker_clocks.size(), 2u);
  const auto used = [&] { return CpuSeconds(worker_clocks[0]) + CpuSeconds(worker_clocks[1]); };
  std::this_thread::sleep_for(
      milliseconds(50));  // beyond the spin of 1 ms, on a loaded machine too
  const double before = used();
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_LT(used() - before, 0.001);
  EXPECT_TRUE(RunsEachTaskOnce(*pool, 100));
}

// A worker that stays in its first task (another program holds its core) must not keep the rest
// waiting.
TEST(WorkerPool, TheCallerTakesOverWhatNoWorkerHasBegun) {
  const auto pool = MakePool({.threads = 2});
  struct Shared {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> by_caller{0}, by_worker{0};
  } shared;
  pool->Run(
      8,
      [](void* context, int64_t) noexcept {
        auto* s = static_cast<Shared*>(context);
        if (std::this_thread::get_id() == s->caller) {
          ++s->by_caller;
          return;
        }
        ++s->by_worker;
        const auto deadline = steady_clock::now() + std::chrono::seconds(5);
        while (s->by_caller < 7 && steady_clock::now() < deadline) std::this_thread::yield();
      },
      &shared);
  EXPECT_EQ(shared.by_caller + shared.by_worker, 8);
  EXPECT_GE(shared.by_caller, 7);  // 8 if the worker came too late for any
}

TEST(WorkerPool, TasksHaveTheFloatingPointModeOfTheCaller) {
  const auto pool = MakePool({.threads = 4});
  const unsigned before = _mm_getcsr();
  for (unsigned mode :
       {before | 0x8040, before & ~0x8040u, before | 0x8040}) {  // denormals flushed, kept
    _mm_setcsr(mode);
    std::atomic<int> right{0};
    EXPECT_TRUE(OnEveryThread(*pool, [&] { right += (_mm_getcsr() & 0x8040) == (mode & 0x8040); }));
    EXPECT_EQ(right, 4);
  }
  _mm_setcsr(before);
}

TEST(WorkerPool, CreatedAndDestroyedOften) {
  for (int i = 0; i < 50; ++i) {
    const auto pool = MakePool({.threads = 1 + i % 5, .spin_us = i % 2 * 20});
    if (i % 3 != 0) {
      EXPECT_TRUE(RunsEachTaskOnce(*pool, i));
    }
  }
}

TEST(WorkerPool, WorksInAForkedChild) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer forbids threads in a child";
  auto pool = MakePool({.threads = 3});
  EXPECT_TRUE(RunsEachTaskOnce(*pool, 100));
  EXPECT_TRUE(HoldsInChild([&] {
    for (int i = 0; i < 20; ++i) {
      if (!RunsEachTaskOnce(*pool, 100)) return false;
    }
    // The workers are real ones, and a grandchild gets its own again.
    bool all = OnEveryThread(*pool, [] {}) && pool->concurrency() == 3;
    all = all &&
          HoldsInChild([&] { return RunsEachTaskOnce(*pool, 100) && OnEveryThread(*pool, [] {}); });
    pool.reset();
    return all;
  }));
  EXPECT_TRUE(RunsEachTaskOnce(*pool, 100));
}

TEST(WorkerPool, AForkedChildMayDestroyAPoolItNeverUsed) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer forbids threads in a child";
  auto pool = MakePool({.threads = 3});
  EXPECT_TRUE(HoldsInChild([&] {
    pool.reset();
    return RunsEachTaskOnce(*MakePool({.threads = 2}), 10);
  }));
  EXPECT_TRUE(RunsEachTaskOnce(*pool, 100));
}

TEST(WorkerPool, ForkWhileAnotherThreadRuns) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer forbids threads in a child";
  const auto pool = MakePool({.threads = 2});
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::thread busy([&] {
    while (!stop) wrong += !RunsEachTaskOnce(*pool, 5);
  });
  int right = 0;
  for (int i = 0; i < 20; ++i) right += HoldsInChild([&] { return RunsEachTaskOnce(*pool, 50); });
  stop = true;
  busy.join();
  EXPECT_EQ(right, 20);
  EXPECT_EQ(wrong, 0);
}

TEST(WorkerPool, SeveralThreadsOfAChildUseItFirst) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer forbids threads in a child";
  const auto pool = MakePool({.threads = 3});
  EXPECT_TRUE(HoldsInChild([&] {
    std::atomic<int> right{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t)
      callers.emplace_back([&] { right += RunsEachTaskOnce(*pool, 100); });
    for (std::thread& caller : callers) caller.join();
    return right == 4;
  }));
}

}  // namespace
}  // namespace rafter
