// Tests of the data-sheet machines: roofline/data_sheets.h through roofline/machine.h.
#include "roofline/data_sheets.h"

#include <gtest/gtest.h>

#include "roofline/machine.h"
#include "roofline/model.h"

namespace rafter::roofline {
namespace {

TEST(DataSheets, AllAreWellFormed) {
  ASSERT_FALSE(DataSheetNames().empty());
  for (const std::string& name : DataSheetNames()) {
    const Result<Machine> machine = DataSheetMachine(name);
    ASSERT_TRUE(machine.ok()) << name << ": " << machine.status().message();
    EXPECT_EQ(machine->source, "data sheet");
    EXPECT_FALSE(machine->note.empty()) << name;
  }
}

TEST(DataSheets, AnUnknownNameListsTheKnownOnes) {
  const Result<Machine> machine = DataSheetMachine("abacus");
  ASSERT_EQ(machine.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(machine.status().message(), "machine: \"abacus\"; allowed: i9-10980xe-16c, v100");
}

TEST(DataSheets, RidgePointsAreTheTaughtOnes) {
  const Result<Machine> cpu = DataSheetMachine("i9-10980xe-16c");
  ASSERT_TRUE(cpu.ok());
  EXPECT_DOUBLE_EQ(RidgePoint(cpu->roofs, Isa::kAvx512, 16, Level::kDram), 48);
  const Result<Machine> gpu = DataSheetMachine("v100");
  ASSERT_TRUE(gpu.ok());
  EXPECT_NEAR(RidgePoint(gpu->roofs, Isa::kNone, 0, Level::kDram), 173.6, 0.05);
}

TEST(DataSheets, TheDepthwiseLessonComesOut) {
  // 2.346 FLOP/byte under a ridge of 48 can reach 4.9 % of the peak, for any set and thread count.
  const Result<Machine> cpu = DataSheetMachine("i9-10980xe-16c");
  ASSERT_TRUE(cpu.ok());
  const double bytes = 1e6;
  const Result<Bound> bound = BoundOf(*cpu, Isa::kAvx2, 1, Work{2.346 * bytes, bytes / 2, bytes / 2});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->binding, Binding::kDram);
  EXPECT_NEAR(bound->compute_us / bound->bound_us, 0.049, 0.0005);
}

}  // namespace
}  // namespace rafter::roofline
