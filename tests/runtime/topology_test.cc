// tests/runtime/topology_test.cc
#include "runtime/topology.h"

#include <gtest/gtest.h>

#include <thread>

#include "runtime/affinity.h"
#include "tests/runtime/fake_root.h"

namespace rafter {
namespace {

constexpr char kCpuInfo[] =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
    "model name\t: Some Xeon: 2.00GHz\nstepping\t: 7\nflags\t\t: fpu avx2 hypervisor fma\n\n"
    "processor\t: 1\nvendor_id\t: Other\ncpu family\t: 7\nflags\t\t: fpu\n";

void WriteCache(const FakeRoot& root, int index, const char* level, const char* type,
                const char* size) {
  const std::string cache = "/sys/devices/system/cpu/cpu2/cache/index" + std::to_string(index);
  root.Write(cache + "/level", level);
  root.Write(cache + "/type", type);
  root.Write(cache + "/size", size);
}

TEST(Topology, ReadsFiles) {
  const FakeRoot root;
  root.Write("/proc/cpuinfo", kCpuInfo);
  WriteCache(root, 0, "1\n", "Data\n", "32K\n");
  WriteCache(root, 1, "1\n", "Instruction\n", "64K\n");
  WriteCache(root, 2, "2\n", "Unified\n", "1024K\n");
  WriteCache(root, 3, "3\n", "Unified\n", "36608K\n");
  for (int cpu : {2, 3, 34}) {
    root.Write(
        "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
        cpu == 3 ? "3,35\n" : "2,34\n");
  }
  const Topology topology = ReadTopologyFiles(root.path(), {2, 3, 34});
  EXPECT_EQ(topology.vendor, "GenuineIntel");
  EXPECT_EQ(topology.model_name, "Some Xeon: 2.00GHz");
  EXPECT_EQ(topology.family, 6);
  EXPECT_EQ(topology.model, 85);
  EXPECT_EQ(topology.stepping, 7);
  EXPECT_TRUE(topology.hypervisor);
  EXPECT_EQ(topology.caches.l1d_bytes, 32 << 10);
  EXPECT_EQ(topology.caches.l2_bytes, 1 << 20);
  EXPECT_EQ(topology.caches.l3_bytes, 36608 << 10);
  EXPECT_EQ(topology.allowed_cpus, (std::vector<int>{2, 3, 34}));
  EXPECT_EQ(topology.core_of, (std::vector<int>{2, 3, 2}));
  EXPECT_EQ(topology.cpu_quota, 0);
}

TEST(Topology, CoresByCoreIdWhenSiblingsAreHidden) {
  const FakeRoot root;
  for (int cpu = 0; cpu < 8; ++cpu) {  // two packages, two cores each, siblings adjacent
    const std::string topology = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    root.Write(topology + "core_id", std::to_string(cpu / 2 % 2) + "\n");
    root.Write(topology + "physical_package_id", std::to_string(cpu / 4) + "\n");
  }
  EXPECT_EQ(ReadCoreOf(root.path(), {0, 1, 2, 3, 4, 5, 6, 7}),
            (std::vector<int>{0, 0, 2, 2, 4, 4, 6, 6}));
}

TEST(Topology, MissingFilesGiveUnknowns) {
  const FakeRoot root;
  const Topology topology = ReadTopologyFiles(root.path(), {4, 9});
  EXPECT_EQ(topology.vendor, "");
  EXPECT_EQ(topology.family, 0);
  EXPECT_FALSE(topology.hypervisor);
  EXPECT_EQ(topology.caches.l1d_bytes + topology.caches.l2_bytes + topology.caches.l3_bytes, 0);
  EXPECT_EQ(topology.core_of, (std::vector<int>{4, 9}));
}

TEST(Topology, ThisMachine) {
  const Topology topology = ReadTopology();
  EXPECT_EQ(topology.vendor.size(), 12u);
  EXPECT_GT(topology.family, 0);
  EXPECT_EQ(topology.allowed_cpus, AllowedCpus());
  EXPECT_EQ(topology.core_of.size(), topology.allowed_cpus.size());
}

TEST(Topology, UsefulThreads) {
  EXPECT_EQ(UsefulThreads({0, 1, 2, 3}, 0), 4);
  EXPECT_EQ(UsefulThreads({0, 1, 0, 1}, 0), 2);     // siblings do not count
  EXPECT_EQ(UsefulThreads({0, 1, 2, 3}, 3.99), 3);  // rounded down
  EXPECT_EQ(UsefulThreads({0, 1, 2, 3}, 0.5), 1);
  EXPECT_EQ(UsefulThreads({0, 1, 2, 3}, 1e18), 4);
  EXPECT_EQ(UsefulThreads({}, 0), 1);
}

TEST(Topology, DefaultThreadCountFollowsTheMaskOfTheThread) {
  const int usual = DefaultThreadCount();
  EXPECT_GE(usual, 1);
  EXPECT_LE(usual, static_cast<int>(AllowedCpus().size()));
  std::thread([] {
    ASSERT_TRUE(PinThisThread(AllowedCpus().front()));
    EXPECT_EQ(DefaultThreadCount(), 1);
  }).join();
  std::thread([usual] { EXPECT_EQ(DefaultThreadCount(), usual); }).join();
  EXPECT_EQ(DefaultThreadCount(), usual);
}

}  // namespace
}  // namespace rafter
