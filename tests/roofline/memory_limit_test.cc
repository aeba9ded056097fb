// Tests of roofline/memory_limit.h on made-up trees of control groups.
#include "roofline/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

class MemoryLimitTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_.path() + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  double Limit() const { return MemoryLimit(root_.path()); }

 private:
  TemporaryDirectory root_;
};

TEST_F(MemoryLimitTest, IsUnknownWithoutFiles) { EXPECT_EQ(Limit(), 0); }

TEST_F(MemoryLimitTest, Version2TakesTheSmallestOfAllAncestors) {
  Write("/proc/self/cgroup", "0::/a/b/c\n");
  Write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  EXPECT_EQ(Limit(), 0);
  Write("/sys/fs/cgroup/a/b/memory.max", "3000000\n");
  Write("/sys/fs/cgroup/a/memory.max", "2000000\n");
  EXPECT_EQ(Limit(), 2000000);
}

TEST_F(MemoryLimitTest, AContainerSeesItsOwnGroupAtTheRoot) {
  Write("/proc/self/cgroup", "0::/host/path/of/container\n");
  Write("/sys/fs/cgroup/memory.max", "5000000\n");
  EXPECT_EQ(Limit(), 5000000);
}

TEST_F(MemoryLimitTest, Version1) {
  Write("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/x/y\n0::/\n");
  Write("/sys/fs/cgroup/memory/x/y/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(Limit(), 0);
  Write("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000000\n");
  EXPECT_EQ(Limit(), 7000000);
}

TEST_F(MemoryLimitTest, SkipsGarbage) {
  Write("/proc/self/cgroup", "nonsense\n::\n0::/a\n");
  Write("/sys/fs/cgroup/a/memory.max", "lots\n");
  EXPECT_EQ(Limit(), 0);
}

}  // namespace
}  // namespace rafter::roofline
