// bench/system_stopwatch.cc: the real clock, and the system's evidence of disturbances.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>

#include "bench/sampler.h"

namespace rafter::bench {
namespace {

constexpr double kStealIntervalUs = 10000;  // the kernel counts stolen time in ticks of 1 to 10 ms

class SystemStopwatch : public Stopwatch {
 public:
  explicit SystemStopwatch(int threads)
      : usage_of_(threads > 1 ? RUSAGE_SELF : RUSAGE_THREAD),
        proc_stat_(open("/proc/stat", O_RDONLY | O_CLOEXEC)) {}
  ~SystemStopwatch() override {
    if (proc_stat_ >= 0) close(proc_stat_);
  }

  double NowUs() override {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
  }

  Evidence ReadEvidence() override {
    Evidence evidence;
    rusage usage;
    if (getrusage(usage_of_, &usage) == 0) evidence.preemptions = usage.ru_nivcsw;
    evidence.cpu = sched_getcpu();
    const double now = NowUs();
    if (now - steal_read_at_ > kStealIntervalUs) {
      steal_read_at_ = now;
      stolen_ticks_ = ReadStolenTicks();
      ++steal_readings_;
    }
    evidence.stolen_ticks = stolen_ticks_;
    evidence.steal_readings = steal_readings_;
    return evidence;
  }

 private:
  // The eighth number of the first line, "cpu  user nice system idle iowait irq softirq steal …".
  int64_t ReadStolenTicks() const {
    if (proc_stat_ < 0) return 0;
    char line[256];
    const ssize_t length = pread(proc_stat_, line, sizeof line - 1, 0);
    if (length <= 0) return 0;
    line[length] = '\0';
    long long numbers[8];
    const int found =
        std::sscanf(line, "cpu %lld %lld %lld %lld %lld %lld %lld %lld", &numbers[0], &numbers[1],
                    &numbers[2], &numbers[3], &numbers[4], &numbers[5], &numbers[6], &numbers[7]);
    return found == 8 ? numbers[7] : 0;
  }

  int usage_of_;
  int proc_stat_;
  double steal_read_at_ = -1e18;
  int64_t stolen_ticks_ = 0, steal_readings_ = 0;
};

}  // namespace

std::unique_ptr<Stopwatch> MakeSystemStopwatch(int threads) {
  return std::make_unique<SystemStopwatch>(threads);
}

}  // namespace rafter::bench
