// runtime/affinity.cc: affinity masks of any size. Which CPUs are siblings comes from
// runtime/topology.
#include "runtime/affinity.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "runtime/topology.h"

namespace rafter {
namespace {

constexpr int kFirstMaskCpus = 1024;
constexpr int kMaxMaskCpus = 1 << 20;  // Linux stops at 8,192 today

struct CpuMask {
  explicit CpuMask(int num_cpus)
      : bits(CPU_ALLOC(static_cast<size_t>(num_cpus))),
        bytes(CPU_ALLOC_SIZE(static_cast<size_t>(num_cpus))) {
    if (bits != nullptr) CPU_ZERO_S(bytes, bits);
  }
  ~CpuMask() { CPU_FREE(bits); }
  CpuMask(const CpuMask&) = delete;
  CpuMask& operator=(const CpuMask&) = delete;

  cpu_set_t* bits;
  size_t bytes;
};

}  // namespace

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  // The system refuses with EINVAL a mask that is smaller than its own.
  for (int num_cpus = kFirstMaskCpus; num_cpus <= kMaxMaskCpus; num_cpus *= 2) {
    CpuMask mask(num_cpus);
    if (mask.bits == nullptr) break;
    if (sched_getaffinity(0, mask.bytes, mask.bits) == 0) {
      for (int cpu = 0; cpu < num_cpus; ++cpu) {
        if (CPU_ISSET_S(static_cast<size_t>(cpu), mask.bytes, mask.bits)) cpus.push_back(cpu);
      }
      break;
    }
    if (errno != EINVAL) break;
  }
  if (cpus.empty()) {  // a filter forbids the call: count what is online
    const long online = std::max(1L, sysconf(_SC_NPROCESSORS_ONLN));
    for (int cpu = 0; cpu < online; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

std::vector<int> OrderForPinning(const std::vector<int>& cpus, const std::vector<int>& core_of,
                                 int caller_cpu) {
  // Position of each CPU among the allowed CPUs of its core: 0 for the first, 1 for its first
  // sibling.
  std::vector<int> rank(cpus.size(), 0);
  for (size_t i = 0; i < cpus.size(); ++i) {
    rank[i] = static_cast<int>(std::count(core_of.begin(), core_of.begin() + i, core_of[i]));
  }
  std::vector<size_t> by_rank(cpus.size());
  for (size_t i = 0; i < by_rank.size(); ++i) by_rank[i] = i;
  // Within a rank the order starts at the caller's core and wraps around, so that workers sit next
  // to it.
  const auto caller = std::find(cpus.begin(), cpus.end(), caller_cpu);
  const int start = caller == cpus.end() ? -1 : core_of[static_cast<size_t>(caller - cpus.begin())];
  std::stable_sort(by_rank.begin(), by_rank.end(), [&](size_t a, size_t b) {
    if (rank[a] != rank[b]) return rank[a] < rank[b];
    return (core_of[a] < start) < (core_of[b] < start);
  });
  std::vector<int> order;
  for (size_t i : by_rank) order.push_back(cpus[i]);
  // The caller's own CPU may be the second of its core: it changes places with the first.
  const auto own = std::find(order.begin(), order.end(), caller_cpu);
  if (own != order.end()) std::iter_swap(order.begin(), own);
  return order;
}

std::vector<int> PinningOrder() {
  const std::vector<int> cpus = AllowedCpus();
  return OrderForPinning(cpus, ReadCoreOf("", cpus), sched_getcpu());
}

bool PinningWorks() noexcept try {
  const std::vector<int> cpus = AllowedCpus();
  if (cpus.size() < 2) return true;
  bool works = false;
  std::thread([&] { works = PinThisThread(cpus.back()); }).join();
  return works;
} catch (...) {  // no memory, or no thread: nothing was refused
  return true;
}

bool PinThisThread(int cpu) noexcept {
  if (cpu < 0 || cpu >= kMaxMaskCpus) return false;
  CpuMask mask(std::max(kFirstMaskCpus, cpu + 1));
  if (mask.bits == nullptr) return false;
  CPU_SET_S(static_cast<size_t>(cpu), mask.bytes, mask.bits);
  return sched_setaffinity(0, mask.bytes, mask.bits) == 0;
}

}  // namespace rafter
