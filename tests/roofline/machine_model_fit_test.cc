// Tests of FitMachineModel (roofline/model.h) on roofs with round numbers.
#include <gtest/gtest.h>

#include "roofline/model.h"
#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

TEST(FitMachineModel, TakesWhatWasMeasured) {
  Machine machine = MadeUpMachine();
  machine.roofs.peaks[0].gflops = 126;  // 2 pipes x 8 lanes x 2 x 4 GHz = 128
  const MachineModel model = FitMachineModel(machine, {});
  EXPECT_EQ(model.name, "made up");
  EXPECT_EQ(model.clock_ghz, 4);
  EXPECT_EQ(model.fma_pipes, 2);
  EXPECT_EQ(model.fma_latency, 4);  // one chain: 16 GFLOP/s = 4 FLOP per cycle of 16 per FMA
  EXPECT_EQ(model.load_ports, 2);   // 240 GB/s = 60 bytes per cycle of 32 per load
  EXPECT_EQ(model.l1d_bytes, 32 << 10);
  EXPECT_EQ(model.l2_bytes, 512 << 10);
  EXPECT_EQ(model.l3_bytes, 32 << 20);
  EXPECT_DOUBLE_EQ(model.l2_bytes_per_cycle, 30);
  EXPECT_DOUBLE_EQ(model.l3_bytes_per_cycle, 15);
  EXPECT_DOUBLE_EQ(model.dram_bytes_per_cycle, 5);
  EXPECT_DOUBLE_EQ(model.fork_join_us, 0.75);
}

TEST(FitMachineModel, SeesWideVectorsThatRunInHalves) {
  Machine machine = MadeUpMachine();
  machine.roofs.peaks = {{Isa::kAvx2, 1, 126, 0, 0}, {Isa::kAvx512, 1, 125, 0, 0}};
  EXPECT_EQ(FitMachineModel(machine, {}).avx512_vec_bytes_per_fma, 32);
  machine.roofs.peaks[1].gflops = 250;
  EXPECT_EQ(FitMachineModel(machine, {}).avx512_vec_bytes_per_fma, 64);
}

TEST(FitMachineModel, KeepsTheBaseWhereNothingIsKnown) {
  MachineModel base;
  base.name = "base";
  base.clock_ghz = 2.5;
  base.fma_pipes = 1;
  base.l3_bytes = 12345;
  base.fork_join_us = 9;
  const MachineModel model = FitMachineModel(Machine{}, base);
  EXPECT_EQ(model.name, "base");
  EXPECT_EQ(model.clock_ghz, 2.5);
  EXPECT_EQ(model.fma_pipes, 1);
  EXPECT_EQ(model.l3_bytes, 12345);
  EXPECT_EQ(model.fork_join_us, 9);
}

}  // namespace
}  // namespace rafter::roofline
