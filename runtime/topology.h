// runtime/topology.h: cores, siblings and caches as the system reports them (a virtual machine may
// lie).
#ifndef RAFTER_RUNTIME_TOPOLOGY_H_
#define RAFTER_RUNTIME_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rafter {

struct CacheInfo {
  int64_t l1d_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // as seen by one core; 0 = unknown
};

struct Topology {
  std::string vendor;      // "AuthenticAMD"
  std::string model_name;  // of /proc/cpuinfo
  int family = 0, model = 0, stepping = 0;
  bool hypervisor = false;
  CacheInfo caches;
  // For each allowed CPU (rising): the lowest CPU number of its physical core.
  std::vector<int> allowed_cpus;
  std::vector<int> core_of;
  double cpu_quota = 0;  // CPUs granted by cgroup quotas (v1 and v2, all ancestors); 0 = unlimited
};

// Read anew on each call (cheap enough for `info`, not for a hot path).
Topology ReadTopology();

// The part of it that comes from files, for the given CPUs (rising, not empty). `root` is put
// before every path: empty for the real system, a directory with a made-up tree in tests. What no
// file tells stays at its default; a CPU of unknown core counts as a core of its own.
Topology ReadTopologyFiles(const std::string& root, std::vector<int> allowed_cpus);

// Only the cores: for each of `cpus`, the lowest CPU number of its physical core.
std::vector<int> ReadCoreOf(const std::string& root, const std::vector<int>& cpus);

// Threads that may usefully run: min(physical cores allowed, floor(quota)), at least 1. Cached for
// each calling thread, as each may have another affinity mask.
int DefaultThreadCount() noexcept;

// The same for the calling thread's mask as it is now; the cgroup quota is read again when the mask
// is another one than at the last call.
int CountUsefulThreads();

// The rule itself, for given cores (one entry per CPU) and quota (0 = unlimited).
int UsefulThreads(std::vector<int> core_of, double cpu_quota);

}  // namespace rafter

#endif  // RAFTER_RUNTIME_TOPOLOGY_H_
