// bench/neighbours.cc: /proc/stat and the process's own times.
#include "bench/neighbours.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

#include "roofline/wall_clock.h"
#include "runtime/affinity.h"

namespace rafter::bench {
namespace {

constexpr double kShortestSeconds = 0.05;
// Two readings of two CPUs may each be off by a part of a tick: so much is seen on a machine at rest.
constexpr double kTickSeconds = 0.015;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

double BusyTicks(const std::string& proc_stat, std::span<const int> allowed_cpus) {
  std::istringstream lines(proc_stat);
  double sum = 0;
  bool any = false;
  for (std::string line; std::getline(lines, line);) {
    int cpu = -1;
    long long user = 0, nice = 0, system = 0, idle = 0, waiting = 0, irq = 0, soft_irq = 0;
    // "cpu3 user nice system idle iowait irq softirq steal …"; the first line, of all CPUs, has no number.
    const int found = std::sscanf(line.c_str(), "cpu%d %lld %lld %lld %lld %lld %lld %lld", &cpu, &user, &nice, &system,
                                  &idle, &waiting, &irq, &soft_irq);
    if (found != 8 || std::find(allowed_cpus.begin(), allowed_cpus.end(), cpu) == allowed_cpus.end()) continue;
    sum += static_cast<double>(user + nice + system + irq + soft_irq);
    any = true;
  }
  return any ? sum : -1;
}

CpuTimes ReadCpuTimes() {
  CpuTimes times;
  times.wall = static_cast<double>(roofline::NowNs()) * 1e-9;
  rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0) times.own = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  std::ifstream file("/proc/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const double ticks = BusyTicks(text, AllowedCpus());
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  if (ticks >= 0 && per_second > 0) times.busy = ticks / per_second;
  return times;
}

double BusyCpusBetween(const CpuTimes& before, const CpuTimes& after) noexcept {
  const double wall = after.wall - before.wall;
  if (before.busy < 0 || after.busy < 0 || wall < kShortestSeconds) return -1;
  const double others = (after.busy - before.busy) - (after.own - before.own);
  return std::max(0.0, (others - kTickSeconds) / wall);
}

}  // namespace rafter::bench
