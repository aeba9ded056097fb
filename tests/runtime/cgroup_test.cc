// tests/runtime/cgroup_test.cc: made-up trees as they occur on hosts and in containers.
#include "runtime/cgroup.h"

#include <gtest/gtest.h>

#include "tests/runtime/fake_root.h"

namespace rafter {
namespace {

constexpr char kVersion2Mount[] =
    "25 21 0:22 / /sys rw - sysfs sysfs rw\n"
    "35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(Cgroup, NothingReadableMeansUnlimited) {
  const FakeRoot root;
  EXPECT_EQ(CgroupCpuQuota(root.path()), 0);
  EXPECT_GE(CgroupCpuQuota(""), 0);  // the real system: whatever it is, no failure
}

TEST(Cgroup, Version2TakesTheSmallestOfAllAncestors) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo", kVersion2Mount);
  root.Write("/proc/self/cgroup", "0::/slice/service/worker\n");
  root.Write("/sys/fs/cgroup/slice/service/worker/cpu.max", "max 100000\n");
  EXPECT_EQ(CgroupCpuQuota(root.path()), 0);
  root.Write("/sys/fs/cgroup/slice/service/cpu.max", "765000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 7.65);
  root.Write("/sys/fs/cgroup/slice/cpu.max", "100000 50000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 2.0);
  root.Write("/sys/fs/cgroup/cpu.max", "150000\n");  // the period is left out
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 1.5);
}

TEST(Cgroup, Version2InANamespace) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo", kVersion2Mount);
  root.Write("/proc/self/cgroup", "0::/../other\n");  // moved out of what the container sees
  root.Write("/sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 3.0);
  root.Write("/proc/self/cgroup", "0::/\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 3.0);
}

TEST(Cgroup, Version1WithSeveralControllers) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo",
             "30 25 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
             "31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  root.Write("/proc/self/cgroup", "4:cpuset:/set\n3:cpu,cpuacct:/a/b\n1:name=systemd:/x\n");
  const std::string group = "/sys/fs/cgroup/cpu,cpuacct/a/b";
  root.Write(group + "/cpu.cfs_quota_us", "-1\n");
  root.Write(group + "/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(CgroupCpuQuota(root.path()), 0);
  root.Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "250000\n");
  root.Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "50000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 5.0);
  root.Write(group + "/cpu.cfs_quota_us", "50000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 0.5);
}

// Docker without cgroup namespaces: /proc shows the host's path, the mount only the container's
// part.
TEST(Cgroup, Version1MountShowsAPart) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo",
             "31 25 0:27 /docker/0123 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
  root.Write("/proc/self/cgroup", "3:cpuacct,cpu:/docker/0123/inner\n");
  root.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  root.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 4.0);
  root.Write("/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us", "200000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 2.0);
}

TEST(Cgroup, BothVersionsSideBySideAndEscapedPaths) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo",
             "31 25 0:27 / /sys/fs/my\\040cgroup/cpu rw - cgroup cgroup rw,cpu\n"
             "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.Write("/proc/self/cgroup", "1:cpu:/v1:colon\n0::/v2\n");
  root.Write("/sys/fs/my cgroup/cpu/v1:colon/cpu.cfs_quota_us", "600000\n");
  root.Write("/sys/fs/my cgroup/cpu/v1:colon/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 6.0);
  root.Write("/sys/fs/cgroup/unified/v2/cpu.max", "550000 100000\n");
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 5.5);
}

TEST(Cgroup, DamagedFilesMeanUnlimited) {
  const FakeRoot root;
  root.Write("/proc/self/mountinfo", "rubbish\n1 2 - \n\n - cgroup2\n");
  root.Write("/proc/self/cgroup", "rubbish\n::\n0:\n");
  root.Write("/sys/fs/cgroup/cpu.max", "lots of\n");
  EXPECT_EQ(CgroupCpuQuota(root.path()), 0);
  root.Write("/sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(CgroupCpuQuota(root.path()), 0);
  root.Write("/sys/fs/cgroup/cpu.max",
             "200000 100000\n");  // the customary place, without mountinfo
  EXPECT_DOUBLE_EQ(CgroupCpuQuota(root.path()), 2.0);
}

}  // namespace
}  // namespace rafter
