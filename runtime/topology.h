// runtime/topology.h: cores, siblings and caches as the system reports them (a virtual machine may lie).
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
  std::string vendor;        // "AuthenticAMD"
  std::string model_name;    // of /proc/cpuinfo
  int family = 0, model = 0, stepping = 0;
  bool hypervisor = false;
  CacheInfo caches;
  // For each allowed CPU (rising): the lowest CPU number of its physical core.
  std::vector<int> allowed_cpus;
  std::vector<int> core_of;
  double cpu_quota = 0;      // CPUs granted by cgroup quotas (v1 and v2, all ancestors); 0 = unlimited
};

// Read anew on each call (cheap enough for `info`, not for a hot path).
Topology ReadTopology();

// Threads that may usefully run: min(physical cores allowed, floor(quota)), at least 1. Cached.
int DefaultThreadCount() noexcept;

}  // namespace rafter

#endif  // RAFTER_RUNTIME_TOPOLOGY_H_
