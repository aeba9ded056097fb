// runtime/affinity.h: which CPUs this process may use, and pinning that never fails a program.
#ifndef RAFTER_RUNTIME_AFFINITY_H_
#define RAFTER_RUNTIME_AFFINITY_H_

#include <vector>

namespace rafter {

// CPUs of the calling thread's mask, rising; works beyond 1,024 CPUs. Never empty.
std::vector<int> AllowedCpus();

// The order in which workers take CPUs: one per physical core first, then the siblings; the first
// entry is left to the caller's thread.
std::vector<int> PinningOrder();

// The same for given CPUs (rising), the core of each, and the CPU the caller runs on (-1 =
// unknown).
std::vector<int> OrderForPinning(const std::vector<int>& cpus, const std::vector<int>& core_of,
                                 int caller_cpu);

// Whether the system lets a thread be pinned to a CPU that it may use (tried on a thread of its own; true where only
// one CPU is allowed).
bool PinningWorks() noexcept;

// Pins the calling thread. False when the system refused.
bool PinThisThread(int cpu) noexcept;

}  // namespace rafter

#endif  // RAFTER_RUNTIME_AFFINITY_H_
