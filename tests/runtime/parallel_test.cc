// tests/runtime/parallel_test.cc: the OpenMP backend, and how kernels split work.
#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "runtime/topology.h"
#include "tests/runtime/child_process.h"
#include "tests/runtime/counted_tasks.h"

namespace rafter {
namespace {

// Sets the number of OpenMP threads for a test.
class OpenMpThreadCount {
 public:
  explicit OpenMpThreadCount(int threads) { omp_set_num_threads(threads); }
  ~OpenMpThreadCount() { omp_set_num_threads(before_); }

 private:
  const int before_ = omp_get_max_threads();
};

TEST(SplitRange, PartsAreConsecutiveAndNearlyEqual) {
  for (int64_t total : {0, 1, 2, 7, 8, 9, 100, 1001}) {
    for (int64_t parts = 1; parts <= 12; ++parts) {
      int64_t next = 0, smallest = total + 1, largest = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const Range range = SplitRange(total, parts, i);
        EXPECT_EQ(range.begin, next);
        next = range.end;
        smallest = std::min(smallest, range.end - range.begin);
        largest = std::max(largest, range.end - range.begin);
      }
      EXPECT_EQ(next, total);
      EXPECT_LE(largest - smallest, 1);
    }
  }
}

// A pool of the caller's: runs tasks backwards on one thread and says what it was asked.
class BackwardsPool : public ParallelFor {
 public:
  int concurrency() const noexcept override { return 4; }
  void Run(int64_t num_tasks, Task task, void* context) noexcept override {
    asked = num_tasks;
    while (num_tasks > 0) task(context, --num_tasks);
  }
  int64_t asked = 0;
};

TEST(RunOnThreads, LimitAndConcurrencyDecide) {
  BackwardsPool pool;
  for (int limit : {-1, 0, 1, 2, 3, 4, 5, 1000}) {
    std::vector<int> seen;
    RunOnThreads(pool, limit, [&](int thread, int threads) {
      seen.push_back(thread);
      EXPECT_EQ(threads, std::max(1, std::min(limit, 4)));
    });
    EXPECT_EQ(static_cast<int>(seen.size()), std::max(1, std::min(limit, 4)));
    std::sort(seen.begin(), seen.end());
    for (size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int>(i));
    EXPECT_EQ(pool.asked, limit >= 2 ? std::min(limit, 4) : 0);  // one thread: a plain call
  }
}

TEST(OpenMp, EachTaskRunsOnce) {
  ParallelFor* pool = OpenMpThreads();
  ASSERT_NE(pool, nullptr);
  EXPECT_EQ(pool, OpenMpThreads());
  for (int threads : {1, 2, 3, 8}) {
    const OpenMpThreadCount count(threads);
    for (int64_t tasks : {0, 1, 2, 3, 7, 8, 9, 64, 1000})
      EXPECT_TRUE(RunsEachTaskOnce(*pool, tasks));
  }
}

TEST(OpenMp, ConcurrencyFollowsTheProgram) {
  EXPECT_GE(OpenMpThreads()->concurrency(), 1);
  const int by_default = omp_get_max_threads();
  EXPECT_LE(OpenMpThreads()->concurrency(), std::max(by_default, DefaultThreadCount()));
  for (int threads : {1, by_default + 1, by_default + 5}) {
    const OpenMpThreadCount count(threads);
    EXPECT_EQ(OpenMpThreads()->concurrency(), threads);
  }
}

TEST(OpenMp, TasksRunAtTheSameTime) {
  const OpenMpThreadCount count(2);
  std::atomic<int> arrived{0};
  std::atomic<bool> met{true};
  RunOnThreads(*OpenMpThreads(), 2, [&](int, int) {
    ++arrived;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (arrived < 2) met = false;
  });
  EXPECT_EQ(arrived, 2);
  EXPECT_TRUE(met);
}

TEST(OpenMp, OneThreadInsideACallersRegion) {
  if (kThreadSanitizer) GTEST_SKIP() << "the thread sanitizer does not see OpenMP's own barriers";
  const OpenMpThreadCount count(4);
  std::atomic<int> right{0};
#pragma omp parallel num_threads(8)
  {
    if (OpenMpThreads()->concurrency() == 1 && RunsEachTaskOnce(*OpenMpThreads(), 100)) ++right;
  }
  EXPECT_EQ(right, 8);
}

TEST(OpenMp, ARunInsideATaskRunsOnOneThread) {
  const OpenMpThreadCount count(3);
  std::atomic<int> right{0};
  RunOnThreads(*OpenMpThreads(), 3, [&](int, int) {
    if (OpenMpThreads()->concurrency() == 1 && RunsEachTaskOnce(*OpenMpThreads(), 10)) ++right;
  });
  EXPECT_EQ(right, 3);
}

TEST(OpenMp, SeveralThreadsAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<int> right{0};
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      omp_set_num_threads(2);  // of the calling thread
      for (int i = 0; i < 20; ++i) right += RunsEachTaskOnce(*OpenMpThreads(), 50);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 80);
}

TEST(OpenMp, TasksHaveTheFloatingPointModeOfTheCaller) {
  const OpenMpThreadCount count(4);
  const unsigned before = _mm_getcsr();
  for (unsigned mode : {before | 0x8040, before & ~0x8040u}) {  // denormals: flushed, kept
    _mm_setcsr(mode);
    std::atomic<int> right{0};
    RunOnThreads(*OpenMpThreads(), 4,
                 [&](int, int) { right += (_mm_getcsr() & 0x8040) == (mode & 0x8040); });
    EXPECT_EQ(right, 4);
  }
  _mm_setcsr(before);
}

TEST(OpenMp, AForkedChildUsesOneThreadAndDoesNotHang) {
  const OpenMpThreadCount count(2);
  EXPECT_TRUE(RunsEachTaskOnce(*OpenMpThreads(), 10));  // the parent has a team now
  EXPECT_TRUE(HoldsInChild([] {
    return OpenMpThreads()->concurrency() == 1 && RunsEachTaskOnce(*OpenMpThreads(), 10);
  }));
  EXPECT_EQ(OpenMpThreads()->concurrency(), 2);
}

// Run by the test below in a process of its own, with other environment variables.
TEST(OpenMp, FewerThreadsThanAskedFor) {
  omp_set_dynamic(1);  // the runtime may deliver fewer
  for (int64_t tasks : {2, 3, 8, 100}) EXPECT_TRUE(RunsEachTaskOnce(*OpenMpThreads(), tasks));
  omp_set_dynamic(0);
}

TEST(OpenMp, EnvironmentVariablesAreObeyed) {
  if (std::getenv("RAFTER_TEST_EXPECTED_THREADS") != nullptr) {  // the inner process
    EXPECT_EQ(std::to_string(OpenMpThreads()->concurrency()),
              std::getenv("RAFTER_TEST_EXPECTED_THREADS"));
    return;
  }
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
  ASSERT_GT(length, 0);
  program[length] = '\0';
  const auto run = [&](const std::string& variables) {
    std::string command = variables;
    command.append(" '").append(program).append(
        "' --gtest_filter=OpenMp.Env*:OpenMp.Fewer*:OpenMp.Each*");
    return std::system(command.append(" > /dev/null").c_str());
  };
  EXPECT_EQ(run("OMP_NUM_THREADS=5 RAFTER_TEST_EXPECTED_THREADS=5"), 0);
  EXPECT_EQ(run("OMP_NUM_THREADS=1 RAFTER_TEST_EXPECTED_THREADS=1"), 0);
  EXPECT_EQ(run("OMP_NUM_THREADS=8 OMP_THREAD_LIMIT=3 RAFTER_TEST_EXPECTED_THREADS=3"), 0);
}

}  // namespace
}  // namespace rafter
