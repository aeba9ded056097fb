// bench/gbench_threads.cc: what a busy program on a worker's core costs a small convolution on two threads, own workers
// and OpenMP. Times of single calls: the counters p50_us, p99_us and max_us are the result, not the mean.
//
// A worker that is kept from its CPU must not be waited for: the caller takes what no worker has begun (tested in
// tests/runtime/worker_pool_test.cc).
#include <benchmark/benchmark.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rafter/conv.h"
#include "runtime/affinity.h"
#include "runtime/parallel.h"

namespace rafter::bench {
namespace {

using Clock = std::chrono::steady_clock;

// A child process that keeps one CPU busy while it lives.
class BusyProgram {
 public:
  explicit BusyProgram(int cpu) : child_(fork()) {
    if (child_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    PinThisThread(cpu);
    for (volatile unsigned work = 0;;) work = work + 1;
  }
  ~BusyProgram() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  BusyProgram(const BusyProgram&) = delete;
  BusyProgram& operator=(const BusyProgram&) = delete;

 private:
  const pid_t child_;
};

// A CPU on which one of the pool's threads works beside the caller; -1 when all run on one.
int CpuOfAWorker(ParallelFor& pool) {
  std::atomic<int> cpu{-1};
  for (int attempt = 0; attempt < 100 && cpu < 0; ++attempt) {
    const auto caller = std::this_thread::get_id();
    RunOnThreads(pool, 2, [&](int, int) {
      if (std::this_thread::get_id() != caller) cpu = sched_getcpu();
      const auto until = Clock::now() + std::chrono::microseconds(200);
      while (Clock::now() < until) {
      }
    });
  }
  return cpu;
}

// About 5 us on one core: 0.4 MFLOP.
void SmallConv(benchmark::State& state, bool own_workers, bool busy) {
  const auto conv = Conv::Create({.ic = 32, .oc = 32, .in = {14, 14}}, {.threads = 2});
  const std::vector<float> src(32 * 196, 1.0f), weights(32 * 32, 1.0f);
  std::vector<float> dst(2 * 32 * 196);
  const auto packed = conv->PackWeights(weights.data(), nullptr);
  std::unique_ptr<WorkerPool> workers;
  if (own_workers) workers = std::move(WorkerPool::Create({.threads = 2})).value();
  ParallelFor& pool = own_workers ? *static_cast<ParallelFor*>(workers.get()) : *OpenMpThreads();
  const int cpu = CpuOfAWorker(pool);
  if (cpu < 0) {
    state.SkipWithError("the machine gives one CPU only");
    return;
  }
  std::unique_ptr<BusyProgram> program;
  if (busy) program = std::make_unique<BusyProgram>(cpu);
  // The plan would take one thread for so little work, so the two images of a batch are shared out here.
  std::vector<double> times_us;
  for (auto _ : state) {
    const auto start = Clock::now();
    RunOnThreads(pool, 2, [&](int thread, int) {
      (void)conv->Run(src.data(), *packed, dst.data() + thread * 32 * 196, {.max_threads = 1});
    });
    times_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(times_us.begin(), times_us.end());
  const auto at = [&](double share) { return times_us[static_cast<size_t>(share * (times_us.size() - 1))]; };
  state.counters["p50_us"] = at(0.50);
  state.counters["p99_us"] = at(0.99);
  state.counters["max_us"] = at(1.0);
}

const int registered = [] {
  for (const bool own : {true, false}) {
    for (const bool busy : {false, true}) {
      const std::string name = std::string("threads/conv_5us/") + (own ? "own_workers" : "openmp") +
                               (busy ? "/busy_neighbour" : "/quiet");
      benchmark::RegisterBenchmark(name.c_str(), [own, busy](benchmark::State& state) { SmallConv(state, own, busy); })
          ->Iterations(50'000)
          ->UseRealTime();
    }
  }
  return 0;
}();

}  // namespace
}  // namespace rafter::bench
