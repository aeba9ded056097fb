// runtime/topology.cc: /proc/cpuinfo, sysfs and CPUID. CPUID wins where both tell, because a
// container may hide or replace the files.
#include "runtime/topology.h"

#include <cpuid.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <utility>

#include "runtime/affinity.h"
#include "runtime/cgroup.h"
#include "runtime/system_files.h"

namespace rafter {
namespace {

std::string CpuDirectory(const std::string& root, int cpu) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

std::optional<int64_t> ReadNumber(const std::string& path) {
  return ParseDecimal(ReadSystemFile(path).value_or(""));
}

// The first processor's entry of /proc/cpuinfo.
void ReadCpuInfo(const std::string& root, Topology* topology) {
  const std::string text = ReadSystemFile(root + "/proc/cpuinfo").value_or("");
  for (std::string_view line : SplitText(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (topology->family != 0) break;  // the blank line after the first entry
      continue;
    }
    const std::string_view key = TrimSpace(line.substr(0, colon));
    const std::string_view value = TrimSpace(line.substr(colon + 1));
    const int number = static_cast<int>(ParseDecimal(value).value_or(0));
    if (key == "vendor_id") topology->vendor = value;
    if (key == "model name") topology->model_name = value;
    if (key == "cpu family") topology->family = number;
    if (key == "model") topology->model = number;
    if (key == "stepping") topology->stepping = number;
    if (key == "flags") {
      const std::vector<std::string_view> flags = SplitText(value, ' ');
      topology->hypervisor = std::find(flags.begin(), flags.end(), "hypervisor") != flags.end();
    }
  }
}

CacheInfo ReadCaches(const std::string& root, int cpu) {
  CacheInfo caches;
  for (int index = 0; index < 16; ++index) {
    const std::string cache = CpuDirectory(root, cpu) + "/cache/index" + std::to_string(index);
    const std::optional<std::string> type = ReadSystemFile(cache + "/type");
    if (!type) break;
    if (TrimSpace(*type) == "Instruction") continue;
    const int64_t bytes = ParseCacheSize(ReadSystemFile(cache + "/size").value_or(""));
    switch (ReadNumber(cache + "/level").value_or(0)) {
      case 1:
        caches.l1d_bytes = bytes;
        break;
      case 2:
        caches.l2_bytes = bytes;
        break;
      case 3:
        caches.l3_bytes = bytes;
        break;
      default:
        break;
    }
  }
  return caches;
}

// What the processor says of itself.
void ReadCpuid(Topology* topology) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(0, &eax, &ebx, &ecx, &edx) == 0) return;
  char vendor[12];
  std::memcpy(vendor, &ebx, 4);
  std::memcpy(vendor + 4, &edx, 4);
  std::memcpy(vendor + 8, &ecx, 4);
  topology->vendor.assign(vendor, sizeof(vendor));
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return;
  // The extended fields count only for families 6 and 15 (model) and 15 (family), as both vendors
  // define.
  const int base_family = static_cast<int>((eax >> 8) & 0xF);
  topology->family = base_family;
  topology->model = static_cast<int>((eax >> 4) & 0xF);
  if (base_family == 15) topology->family += static_cast<int>((eax >> 20) & 0xFF);
  if (base_family == 15 || base_family == 6) {
    topology->model += static_cast<int>((eax >> 16) & 0xF) << 4;
  }
  topology->stepping = static_cast<int>(eax & 0xF);
  topology->hypervisor = (ecx >> 31) != 0;
}

// The last answer of CountUsefulThreads, so that a new thread with the usual mask costs one system
// call.
struct LastCount {
  std::mutex mutex;
  std::vector<int> allowed_cpus;
  int threads = 0;
};

}  // namespace

std::vector<int> ReadCoreOf(const std::string& root, const std::vector<int>& cpus) {
  std::vector<int> core_of;
  std::vector<std::pair<std::pair<int64_t, int64_t>, int>> seen;  // {package, core id} → first CPU
  for (int cpu : cpus) {
    const std::string topology = CpuDirectory(root, cpu) + "/topology/";
    const std::vector<int> siblings =
        ParseCpuList(ReadSystemFile(topology + "thread_siblings_list").value_or(""));
    if (std::find(siblings.begin(), siblings.end(), cpu) != siblings.end()) {
      core_of.push_back(siblings.front());
      continue;
    }
    const std::optional<int64_t> core = ReadNumber(topology + "core_id");
    int first = cpu;
    if (core) {
      const std::pair key(ReadNumber(topology + "physical_package_id").value_or(0), *core);
      const auto same =
          std::find_if(seen.begin(), seen.end(), [&](const auto& s) { return s.first == key; });
      if (same != seen.end())
        first = same->second;
      else
        seen.emplace_back(key, cpu);
    }
    core_of.push_back(first);
  }
  return core_of;
}

Topology ReadTopologyFiles(const std::string& root, std::vector<int> allowed_cpus) {
  Topology topology;
  ReadCpuInfo(root, &topology);
  topology.caches = ReadCaches(root, allowed_cpus.front());
  topology.core_of = ReadCoreOf(root, allowed_cpus);
  topology.allowed_cpus = std::move(allowed_cpus);
  topology.cpu_quota = CgroupCpuQuota(root);
  return topology;
}

Topology ReadTopology() {
  Topology topology = ReadTopologyFiles("", AllowedCpus());
  ReadCpuid(&topology);
  return topology;
}

int UsefulThreads(std::vector<int> core_of, double cpu_quota) {
  std::sort(core_of.begin(), core_of.end());
  const auto num_cores = std::unique(core_of.begin(), core_of.end()) - core_of.begin();
  // Rounded down: threads beyond the quota are stopped in the middle of a barrier, which costs
  // whole periods of 100 ms.
  if (cpu_quota > 0 && cpu_quota < static_cast<double>(num_cores)) {
    return std::max(1, static_cast<int>(cpu_quota));
  }
  return std::max(1, static_cast<int>(num_cores));
}

int CountUsefulThreads() {
  static LastCount last;
  std::vector<int> allowed = AllowedCpus();
  // Without the lock (taken by another thread, or by one that is missing after a fork): read anew.
  std::unique_lock<std::mutex> lock(last.mutex, std::try_to_lock);
  if (lock.owns_lock() && last.allowed_cpus == allowed) return last.threads;
  const int threads = UsefulThreads(ReadCoreOf("", allowed), CgroupCpuQuota(""));
  if (lock.owns_lock()) {
    last.threads = threads;
    last.allowed_cpus = std::move(allowed);
  }
  return threads;
}

int DefaultThreadCount() noexcept {
  thread_local int cached = 0;
  if (cached == 0) {
    try {
      cached = CountUsefulThreads();
    } catch (const std::bad_alloc&) {
      return 1;
    }
  }
  return cached;
}

}  // namespace rafter
