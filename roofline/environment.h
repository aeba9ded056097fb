// roofline/environment.h: what makes two measurements comparable: the processor, what the system
// and the container allow, and how the system is set. Reading it never fails: what cannot be read
// stays empty.
#ifndef RAFTER_ROOFLINE_ENVIRONMENT_H_
#define RAFTER_ROOFLINE_ENVIRONMENT_H_

#include <string>
#include <utility>
#include <vector>

#include "rafter/cpu.h"
#include "roofline/plateaus.h"

namespace rafter::roofline {

struct CpuIdentity {
  std::string vendor, model_name, microcode;
  int family = 0, model = 0, stepping = 0;
  Isa isa_detected = Isa::kNone;   // CPUID and XGETBV
  Isa isa_effective = Isa::kNone;  // after caps
  std::string hypervisor;          // "" on bare metal, its signature ("KVMKVMKVM"), or "yes"
};

struct SystemLimits {
  std::vector<int> allowed_cpus;
  int allowed_cores = 0;          // physical cores among them, as far as siblings are visible
  double cpu_quota = 0;           // CPUs by cgroup; 0 = unlimited
  double memory_limit_bytes = 0;  // by cgroup; 0 = unlimited
  double memory_available_bytes = 0;
};

struct SystemSettings {
  std::string kernel;                  // "Linux 6.1.0"
  std::string clocksource;             // "tsc"; others make short samples unreliable
  std::string transparent_huge_pages;  // "madvise"
  std::string governor;                // of the first allowed CPU; "" = not readable
  std::string smt;                     // "on", "off", "notsupported" …
  double timer_cost_ns = 0;            // of one clock reading
  double load_average = 0;             // of the last minute
  // OMP_*, GOMP_*, KMP_*, RAFTER_* of the environment, sorted.
  std::vector<std::pair<std::string, std::string>> variables;
};

struct Environment {
  CpuIdentity cpu;
  LevelCapacities caches_reported;  // of one core, by sysfs
  double getconf_l3_bytes = 0;      // by the C library (CPUID): a guest may see the host's
  SystemLimits limits;
  SystemSettings settings;
  std::string date;  // "2025-03-01T12:34:56Z"
};

Environment ReadEnvironment();

// 16 hexadecimal digits over all that decides the roofs: processor, caches, allowed CPUs, quota,
// kernel, huge pages, and the version of the probes. Not the date, the load or the ISA cap.
std::string Fingerprint(const Environment& environment);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_ENVIRONMENT_H_
