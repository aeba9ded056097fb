// runtime/cgroup.h: how many CPUs the control groups grant to this process. Which CPUs it may use
// (cpuset) is not here: the affinity mask already says that (runtime/affinity.h).
#ifndef RAFTER_RUNTIME_CGROUP_H_
#define RAFTER_RUNTIME_CGROUP_H_

#include <string>

namespace rafter {

// The smallest quota / period of the process's groups and all their visible ancestors, in CPUs (1.5
// = one and a half); 0 = unlimited or unknown. Reads version 2 (cpu.max) and version 1
// (cpu.cfs_quota_us, cpu.cfs_period_us), also side by side. `root` is put before every path: empty
// for the real system, a directory with a made-up tree in tests.
double CgroupCpuQuota(const std::string& root);

}  // namespace rafter

#endif  // RAFTER_RUNTIME_CGROUP_H_
