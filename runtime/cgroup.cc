// runtime/cgroup.cc: /proc/self/cgroup names the groups, /proc/self/mountinfo says where they are
// visible. Inside a container the mount shows only a part of the hierarchy (its fourth field), and
// the group's path may or may not be relative to that part; both forms occur.
#include "runtime/cgroup.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/system_files.h"

namespace rafter {
namespace {

struct Mount {
  bool version2 = false;
  std::string shown;  // the part of the hierarchy that the mount shows, "/" = all
  std::string point;  // where it is mounted
};

// mountinfo writes space, tab, newline and backslash as three octal digits.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      plain +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool HasItem(std::string_view list, std::string_view item) {
  const std::vector<std::string_view> items = SplitText(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

// "31 23 0:28 /shown /point options [optional fields] - type source super_options"
std::optional<Mount> ParseMount(std::string_view line) {
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> front = SplitText(line.substr(0, dash), ' ');
  const std::vector<std::string_view> back = SplitText(line.substr(dash + 3), ' ');
  if (front.size() < 5 || back.size() < 3) return std::nullopt;
  const bool version2 = back[0] == "cgroup2";
  if (!version2 && (back[0] != "cgroup" || !HasItem(back[2], "cpu"))) return std::nullopt;
  return Mount{version2, Unescape(front[3]), Unescape(front[4])};
}

std::vector<Mount> CpuMounts(const std::string& root) {
  std::vector<Mount> mounts;
  const std::string text = ReadSystemFile(root + "/proc/self/mountinfo").value_or("");
  for (std::string_view line : SplitText(text, '\n')) {
    if (auto mount = ParseMount(line)) mounts.push_back(*std::move(mount));
  }
  if (mounts.empty()) {  // mountinfo is hidden: the customary places
    mounts = {{true, "/", "/sys/fs/cgroup"},
              {false, "/", "/sys/fs/cgroup/cpu"},
              {false, "/", "/sys/fs/cgroup/cpu,cpuacct"}};
  }
  return mounts;
}

// The process's group in the hierarchy of version 2 or of version 1's cpu controller.
std::optional<std::string> GroupPath(const std::string& root, bool version2) {
  const std::string text = ReadSystemFile(root + "/proc/self/cgroup").value_or("");
  for (std::string_view line :
       SplitText(text, '\n')) {  // "id:controllers:path", path may have colons
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? controllers.empty() && line.substr(0, first) == "0"
                 : HasItem(controllers, "cpu")) {
      return std::string(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

// `group` as a path below the mount point ("" or "/a/b").
std::string BelowMount(std::string group, const std::string& shown) {
  if (group.find("/..") != std::string::npos) return "";  // outside of what the mount shows
  if (shown != "/" && group.compare(0, shown.size(), shown) == 0 &&
      (group.size() == shown.size() || group[shown.size()] == '/')) {
    group.erase(0, shown.size());
  }
  return group == "/" ? "" : group;
}

// CPUs granted by the files of one group; 0 = no limit.
double QuotaOf(const std::string& directory, bool version2) {
  std::optional<int64_t> quota, period;
  if (version2) {
    const std::string text = ReadSystemFile(directory + "/cpu.max").value_or("");
    const std::vector<std::string_view> parts = SplitText(TrimSpace(text), ' ');  // "max 100000"
    quota = ParseDecimal(parts[0]);
    period = parts.size() > 1 ? ParseDecimal(parts[1]) : std::optional<int64_t>(100'000);
  } else {
    quota =
        ParseDecimal(ReadSystemFile(directory + "/cpu.cfs_quota_us").value_or(""));  // -1 = none
    period = ParseDecimal(ReadSystemFile(directory + "/cpu.cfs_period_us").value_or("100000"));
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return 0;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

double CgroupCpuQuota(const std::string& root) {
  double smallest = 0;
  for (const Mount& mount : CpuMounts(root)) {
    const std::optional<std::string> group = GroupPath(root, mount.version2);
    std::string below = BelowMount(group.value_or("/"), mount.shown);
    for (;;) {
      const double quota = QuotaOf(root + mount.point + below, mount.version2);
      if (quota > 0 && (smallest == 0 || quota < smallest)) smallest = quota;
      if (below.empty()) break;
      below.erase(below.rfind('/') == std::string::npos ? 0 : below.rfind('/'));
    }
  }
  return smallest;
}

}  // namespace rafter
