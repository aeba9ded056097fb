// Memory limits of control groups; see memory_limit.h.
#include "roofline/memory_limit.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/system_files.h"

namespace rafter::roofline {
namespace {

// Version 1 writes 2^63 less a page for "none".
constexpr double kUnlimited = 1e18;

// The group and its ancestors below `directory`. Inside a container the path may name a group that
// the mount does not show; the mount's root then is the container's own group.
double SmallestLimit(const std::string& directory, std::string group, const std::string& file) {
  double smallest = kUnlimited;
  for (;;) {
    const std::string text = ReadSystemFile(directory + group + "/" + file).value_or("");
    const std::optional<int64_t> limit = ParseDecimal(text);  // "max" is no number
    if (limit && *limit > 0) smallest = std::min(smallest, static_cast<double>(*limit));
    if (group.empty()) return smallest;
    const size_t slash = group.find_last_of('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

double MemoryLimit(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  const std::string groups = ReadSystemFile(root + "/proc/self/cgroup").value_or("");
  double smallest = kUnlimited;
  const auto take = [&](double limit) { smallest = std::min(smallest, limit); };
  for (const std::string_view line : SplitText(groups, '\n')) {  // "4:memory:/path" or "0::/path"
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string group(line.substr(second + 1));
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const std::vector<std::string_view> controllers = SplitText(names, ',');
    if (names.empty()) {
      take(SmallestLimit(mounts, group, "memory.max"));
      take(SmallestLimit(mounts + "/unified", group, "memory.max"));
    } else if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end()) {
      take(SmallestLimit(mounts + "/memory", group, "memory.limit_in_bytes"));
    }
  }
  return smallest < kUnlimited ? smallest : 0;
}

}  // namespace rafter::roofline
