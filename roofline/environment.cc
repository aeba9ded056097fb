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
#include <set>
#include <sstream>
#include <string_view>

#include "roofline/memory_limit.h"
#include "roofline/wall_clock.h"
#include "runtime/system_files.h"
#include "runtime/topology.h"

namespace rafter::roofline {
namespace {

// Changes when the probes change what they measure: roofs of older versions are then not used
// again.
constexpr int kProbeVersion = 1;

// A file of one line; empty when it cannot be read.
std::string FirstLine(const std::string& path) {
  const std::string text = ReadSystemFile(path).value_or("");
  return std::string(TrimSpace(text.substr(0, text.find('\n'))));
}

// "always [madvise] never" → "madvise"
std::string Bracketed(const std::string& line) {
  const size_t open = line.find('['), close = line.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return line;
  return line.substr(open + 1, close - open - 1);
}

// The value of "key   : value" in /proc/cpuinfo or /proc/meminfo; empty when absent.
std::string ProcValue(const std::string& path, std::string_view key) {
  const std::string text = ReadSystemFile(path).value_or("");
  for (const std::string_view line : SplitText(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || TrimSpace(line.substr(0, colon)) != key) continue;
    return std::string(TrimSpace(line.substr(colon + 1)));
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
  limits.memory_limit_bytes = MemoryLimit("");
  limits.memory_available_bytes =
      1024 * std::atof(ProcValue("/proc/meminfo", "MemAvailable").c_str());
  environment.settings =
      ReadSettings(topology.allowed_cpus.empty() ? 0 : topology.allowed_cpus.front());
  environment.date = UtcNow();
  return environment;
}

std::string Fingerprint(const Environment& environment) {
  std::ostringstream text;
  text.precision(17);
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
