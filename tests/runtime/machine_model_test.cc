// tests/runtime/machine_model_test.cc
#include "runtime/machine_model.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "runtime/topology.h"

namespace rafter {
namespace {

Topology Cpu(const char* vendor, int family, int model) {
  Topology topology;
  topology.vendor = vendor;
  topology.family = family;
  topology.model = model;
  return topology;
}

struct Expected {
  const char* vendor;
  int family, model;
  const char* name;
  int fma_pipes, fma_latency, avx512_vec_bytes_per_fma;
  int64_t l2_bytes;
};

TEST(MachineModel, FamiliesOfCpus) {
  const Expected rows[] = {
      {"AuthenticAMD", 0x17, 0x01, "AMD Zen", 1, 5, 32, 512 << 10},
      {"AuthenticAMD", 0x17, 0x31, "AMD Zen 2", 2, 5, 32, 512 << 10},
      {"AuthenticAMD", 0x19, 0x01, "AMD Zen 3", 2, 4, 32, 512 << 10},
      {"AuthenticAMD", 0x19, 0x21, "AMD Zen 3", 2, 4, 32, 512 << 10},
      {"AuthenticAMD", 0x19, 0x11, "AMD Zen 4", 2, 4, 32, 1 << 20},
      {"AuthenticAMD", 0x19, 0xA0, "AMD Zen 4", 2, 4, 32, 1 << 20},
      {"AuthenticAMD", 0x1A, 0x02, "AMD Zen 5", 2, 4, 64, 1 << 20},
      {"AuthenticAMD", 0x1A, 0x44, "AMD Zen 5", 2, 4, 64, 1 << 20},
      {"AuthenticAMD", 0x1A, 0x24, "AMD Zen 5 mobile", 2, 4, 32, 1 << 20},
      {"GenuineIntel", 6, 0x3F, "Intel Haswell", 2, 5, 32, 256 << 10},
      {"GenuineIntel", 6, 0x9E, "Intel Skylake", 2, 4, 32, 256 << 10},
      {"GenuineIntel", 6, 0x55, "Intel Skylake-SP", 2, 4, 64, 1 << 20},
      {"GenuineIntel", 6, 0x6A, "Intel Ice Lake-SP", 2, 4, 64, 1280 << 10},
      {"GenuineIntel", 6, 0x7E, "Intel Ice Lake", 2, 4, 32, 512 << 10},
      {"GenuineIntel", 6, 0x8F, "Intel Sapphire Rapids", 2, 4, 64, 2 << 20},
      {"GenuineIntel", 6, 0xB7, "Intel Golden Cove", 2, 4, 32, 1280 << 10},
  };
  for (const Expected& row : rows) {
    const MachineModel model = DefaultMachineModel(Cpu(row.vendor, row.family, row.model));
    EXPECT_EQ(model.name, row.name) << row.model;
    EXPECT_EQ(model.fma_pipes, row.fma_pipes) << row.name;
    EXPECT_EQ(model.fma_latency, row.fma_latency) << row.name;
    EXPECT_EQ(model.avx512_vec_bytes_per_fma, row.avx512_vec_bytes_per_fma) << row.name;
    EXPECT_EQ(model.l2_bytes, row.l2_bytes) << row.name;
    EXPECT_GT(model.l3_bytes, 0) << row.name;
  }
}

TEST(MachineModel, UnknownCpusAreGeneric) {
  EXPECT_EQ(DefaultMachineModel({}).name, "generic AVX2");
  EXPECT_EQ(DefaultMachineModel(Cpu("GenuineIntel", 6, 1)).name, "generic AVX2");
  EXPECT_EQ(DefaultMachineModel(Cpu("SomethingElse", 0x19, 1)).name, "generic AVX2");
}

TEST(MachineModel, CachesComeFromTheSystemUnlessImplausible) {
  Topology topology = Cpu("AuthenticAMD", 0x19, 0x01);
  topology.caches = {48 << 10, 768 << 10, 24 << 20};
  MachineModel model = DefaultMachineModel(topology);
  EXPECT_EQ(model.l1d_bytes, 48 << 10);
  EXPECT_EQ(model.l2_bytes, 768 << 10);
  EXPECT_EQ(model.l3_bytes, 24 << 20);
  EXPECT_FALSE(model.l3_shared);
  topology.hypervisor =
      true;  // a virtual machine invents private caches and shows a whole socket's L3
  topology.caches.l3_bytes = int64_t{1} << 30;
  model = DefaultMachineModel(topology);
  EXPECT_EQ(model.l1d_bytes, 32 << 10);
  EXPECT_EQ(model.l2_bytes, 512 << 10);
  EXPECT_EQ(model.l3_bytes, 32 << 20);
  EXPECT_TRUE(model.l3_shared);
  Topology unknown;
  unknown.caches.l3_bytes = int64_t{1} << 30;
  EXPECT_EQ(DefaultMachineModel(unknown).l3_bytes, 64 << 20);
  EXPECT_EQ(DefaultMachineModel(unknown).l2_bytes, MachineModel().l2_bytes);
}

TEST(MachineModel, TeamsMustSaveTwiceWhatTheyCost) {
  MachineModel model;
  model.fork_join_us = 2;
  EXPECT_FALSE(model.TeamPays(1000, 1));
  EXPECT_FALSE(model.TeamPays(7.9, 2));
  EXPECT_TRUE(model.TeamPays(8.1, 2));
  EXPECT_TRUE(model.TeamPays(5.4, 4));
}

TEST(MachineModel, PeakUsesTheWidthReallyExecuted) {
  MachineModel model;
  model.clock_ghz = 4;
  model.fma_pipes = 2;
  model.avx512_vec_bytes_per_fma = 64;
  EXPECT_DOUBLE_EQ(model.PeakFlopsPerUs(Isa::kAvx2), 4000.0 * 2 * 8 * 2);
  EXPECT_DOUBLE_EQ(model.PeakFlopsPerUs(Isa::kAvx512), 4000.0 * 2 * 16 * 2);
  model.avx512_vec_bytes_per_fma = 32;
  EXPECT_DOUBLE_EQ(model.PeakFlopsPerUs(Isa::kAvx512), model.PeakFlopsPerUs(Isa::kAvx2));
  EXPECT_DOUBLE_EQ(model.PeakFlopsPerUs(Isa::kNone), 4000.0 * 2 * 2);
}

TEST(MachineModel, ReferencesStayValidWhileOthersSetModels) {
  const MachineModel& first = CurrentMachineModel();
  const MachineModel original = first;
  EXPECT_EQ(&first, &CurrentMachineModel());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 1; i <= 50; ++i) {
        MachineModel model;
        model.name = "a name that is too long for a small string " + std::to_string(t);
        model.fma_pipes = i;
        model.fma_latency = i;
        SetMachineModel(model);
        const MachineModel& current = CurrentMachineModel();
        EXPECT_EQ(current.fma_pipes, current.fma_latency);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(first.name, original.name);
  EXPECT_EQ(first.l2_bytes, original.l2_bytes);
  EXPECT_EQ(CurrentMachineModel().fma_pipes, 50);
  SetMachineModel(original);
  EXPECT_EQ(CurrentMachineModel().name, original.name);
}

}  // namespace
}  // namespace rafter
