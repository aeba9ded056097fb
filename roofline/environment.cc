// Reads /proc, /sys and CPUID; see environment.h.
#include "roofline/environment.h"

#include <cpuid.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>

#include "roofline/wall_clock.h"
#include "runtime/topology.h"

namespace rafter::roofline {
namespace {

// Changes when the probes change what they measure: roofs of older versions are then not used
// again.
constexpr int kProbeVersion = 1;

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "always [madvise] never" → "madvise"
std::string Bracketed(const std::string& line) {
  const size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return line;
  return line.substr(open + 1, close - open - 1);
}

// The value of "key   : value" in /proc/cpuinfo or /proc/meminfo; empty when absent.
std::string ProcValue(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon == 0 ? 0 : colon - 1);
    if (key_end + 1 != key.size()) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string Hypervisor(bool flagged) {
  if (!flagged) return "";
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid(0x40000000, eax, ebx, ecx, edx);
  std::array<char, 13> signature{};
  std::memcpy(signature.data(), &ebx, 4);
  std::memcpy(signature.data() + 4, &ecx, 4);
  std::memcpy(signature.data() + 8, &edx, 4);
  const std::string name(signature.data());
  const bool printable =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return name.empty() || !printable ? "yes" : name;
}

// The smallest limit of a control group and its ancestors; a file that says "max" or is absent
// counts not.
double SmallestLimit(const std::string& root, std::string group, const std::string& file) {
  constexpr double kUnlimited = 1e18;  // version 1 writes 2^63 less a page
  double smallest = kUnlimited;
  for (;;) {
    const std::string text = FirstLine(root + group + "/" + file);
    const double value = text.empty() || text == "max" ? kUnlimited : std::atof(text.c_str());
    if (value > 0) smallest = std::min(smallest, value);
    if (group.empty() || group == "/") break;
    group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
  return smallest < kUnlimited ? smallest : 0;
}

double MemoryLimit() {
  double limit = 0;
  const auto take = [&](double value) {
    if (value > 0) limit = limit > 0 ? std::min(limit, value) : value;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "4:memory:/path" or "0::/path"
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") {
      take(SmallestLimit("/sys/fs/cgroup", group, "memory.max"));
      take(SmallestLimit("/sys/fs/cgroup/unified", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      take(SmallestLimit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return limit;
}

std::vector<std::pair<std::string, std::string>> ThreadVariables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string::npos) continue;
    for (const char* prefix : {"OMP_", "GOMP_", "KMP_", "RAFTER_"}) {
      if (text.rfind(prefix, 0) == 0)
        found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

SystemSettings ReadSettings(int first_cpu) {
  SystemSettings settings;
  utsname names{};
  if (uname(&names) == 0) settings.kernel = std::string(names.sysname) + " " + names.release;
  settings.clocksource =
      FirstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  settings.transparent_huge_pages =
      Bracketed(FirstLine("/sys/kernel/mm/transparent_hugepage/enabled"));
  settings.governor = FirstLine("/sys/devices/system/cpu/cpu" + std::to_string(first_cpu) +
                                "/cpufreq/scaling_governor");
  settings.smt = FirstLine("/sys/devices/system/cpu/smt/control");
  settings.timer_cost_ns = TimerCostNs();
  double load = 0;
  if (getloadavg(&load, 1) == 1) settings.load_average = load;
  settings.variables = ThreadVariables();
  return settings;
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

}  // namespace

Environment ReadEnvironment() {
  const Topology topology = ReadTopology();
  Environment environment;
  environment.cpu = {topology.vendor, topology.model_name, ProcValue("/proc/cpuinfo", "microcode"),
                     topology.family, topology.model,      topology.stepping,
                     DetectedIsa(),   EffectiveIsa(),      Hypervisor(topology.hypervisor)};
  environment.caches_reported = {static_cast<double>(topology.caches.l1d_bytes),
                                 static_cast<double>(topology.caches.l2_bytes),
                                 static_cast<double>(topology.caches.l3_bytes)};
  environment.getconf_l3_bytes = static_cast<double>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
  SystemLimits& limits = environment.limits;
  limits.allowed_cpus = topology.allowed_cpus;
  limits.allowed_cores =
      static_cast<int>(std::set<int>(topology.core_of.begin(), topology.core_of.end()).size());
  limits.cpu_quota = topology.cpu_quota;
  limits.memory_limit_bytes = MemoryLimit();
  limits.memory_available_bytes =
      1024 * std::atof(ProcValue("/proc/meminfo", "MemAvailable").c_str());
  environment.settings =
      ReadSettings(topology.allowed_cpus.empty() ? 0 : topology.allowed_cpus.front());
  environment.date = UtcNow();
  return environment;
}

std::string Fingerprint(const Environment& environment) {
  std::ostringstream text;
  const CpuIdentity& cpu = environment.cpu;
  text << kProbeVersion << '|' << cpu.vendor << '|' << cpu.model_name << '|' << cpu.microcode << '|'
       << cpu.family << '|' << cpu.model << '|' << cpu.stepping << '|' << IsaName(cpu.isa_detected)
       << '|' << cpu.hypervisor << '|' << environment.caches_reported.l1_bytes << '|'
       << environment.caches_reported.l2_bytes << '|' << environment.caches_reported.l3_bytes << '|'
       << environment.limits.cpu_quota << '|' << environment.settings.kernel << '|'
       << environment.settings.transparent_huge_pages;
  for (const int allowed : environment.limits.allowed_cpus) text << '|' << allowed;
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text.str()) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(hash));
  return digits.data();
}

}  // namespace rafter::roofline
