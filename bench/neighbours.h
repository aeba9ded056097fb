// bench/neighbours.h: how much of the machine other work uses while a case is timed. A busy second core shares
// caches, memory and often the core itself: times are then not those of the machine, and ratios of code that is bound
// by different things may lie.
#ifndef RAFTER_BENCH_NEIGHBOURS_H_
#define RAFTER_BENCH_NEIGHBOURS_H_

#include <span>
#include <string>

namespace rafter::bench {

// From this much of a CPU on other work is taken into account (JudgeOnBusyMachine).
inline constexpr double kBusyCpus = 0.25;

// Readings of the system's clocks, in seconds.
struct CpuTimes {
  double busy = -1;  // of all CPUs that this process may use, in any program; -1 = not readable
  double own = 0;    // of this process, all threads
  double wall = 0;
};

CpuTimes ReadCpuTimes();

// CPUs that other programs kept busy between two readings, on average, less what rounding may pretend (the system
// counts in steps of 10 ms); never negative. -1 where it cannot be known: nothing readable, or less than 50 ms apart.
double BusyCpusBetween(const CpuTimes& before, const CpuTimes& after) noexcept;

// The sum of busy ticks of the allowed CPUs in the text of /proc/stat; -1 when there are none. Waiting for devices and
// stolen time are not busy.
double BusyTicks(const std::string& proc_stat, std::span<const int> allowed_cpus);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_NEIGHBOURS_H_
