// Tests of roofline/machine.h: what LocalMachine reads, measures and keeps. One real measurement,
// quick.
#include "roofline/machine.h"

#include <gtest/gtest.h>

#include <fstream>

#include "roofline/roof_cache.h"
#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

class LocalMachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (DetectedIsa() == Isa::kNone) GTEST_SKIP() << "no vector set";
    options_.isas = {Isa::kAvx2};
    options_.quick = true;
    options_.cache_dir = directory_.path() + "/cache";
    path_ = options_.cache_dir + "/" + RoofCacheFileName(Fingerprint(ReadEnvironment()), Today());
  }
  LocalMachineResult Get() {
    Result<LocalMachineResult> result = LocalMachine(options_);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() ? *std::move(result) : LocalMachineResult{};
  }
  // As if it had been measured today.
  void KeepMadeUpRoofs(bool quick) {
    Machine machine = MadeUpMachine();
    machine.roofs.quick = quick;
    ASSERT_TRUE(WriteRoofCache(path_, machine).ok());
  }

  TemporaryDirectory directory_;
  LocalMachineOptions options_;
  std::string path_;
};

TEST_F(LocalMachineTest, MeasuresOnceADayAndSurvivesADamagedFile) {
  const LocalMachineResult first = Get();
  EXPECT_TRUE(first.measured_now);
  EXPECT_TRUE(first.warnings.empty());
  EXPECT_EQ(first.cache_file, path_);
  EXPECT_EQ(first.machine.source, "measured");
  EXPECT_EQ(first.machine.measured_on, Today());
  ASSERT_NE(FindPeak(first.machine.roofs, Isa::kAvx2, 1), nullptr);

  const LocalMachineResult second = Get();
  EXPECT_FALSE(second.measured_now);
  EXPECT_EQ(FindPeak(second.machine.roofs, Isa::kAvx2, 1)->gflops,
            FindPeak(first.machine.roofs, Isa::kAvx2, 1)->gflops);

  std::ofstream(path_, std::ios::trunc) << "{\"schema\": ";
  const LocalMachineResult third = Get();
  EXPECT_TRUE(third.measured_now);
  ASSERT_EQ(third.warnings.size(), 1u);
  EXPECT_NE(third.warnings[0].find("measured again"), std::string::npos);
  EXPECT_FALSE(Get().measured_now);  // the file is whole again
}

TEST_F(LocalMachineTest, TakesFullRoofsForAQuickQuestion) {
  KeepMadeUpRoofs(false);
  const LocalMachineResult result = Get();
  EXPECT_FALSE(result.measured_now);
  EXPECT_EQ(FindPeak(result.machine.roofs, Isa::kAvx2, 1)->gflops, 100);
  // The environment is today's, not that of the file.
  EXPECT_EQ(result.machine.environment.cpu.isa_detected, DetectedIsa());
}

TEST_F(LocalMachineTest, ForceMeasuresAgainAndKeepsTheFullRoofs) {
  KeepMadeUpRoofs(false);
  options_.force = true;
  const LocalMachineResult result = Get();
  EXPECT_TRUE(result.measured_now);
  EXPECT_TRUE(result.machine.roofs.quick);
  const Result<Machine> kept = ReadRoofCache(path_);
  ASSERT_TRUE(kept.ok());
  EXPECT_FALSE(kept->roofs.quick);  // quick roofs do not replace full ones
  EXPECT_EQ(FindPeak(kept->roofs, Isa::kAvx2, 1)->gflops, 100);
}

TEST_F(LocalMachineTest, AnUnwritableCacheIsAWarning) {
  std::ofstream(options_.cache_dir) << "a file where the directory should be";
  const LocalMachineResult result = Get();
  EXPECT_TRUE(result.measured_now);
  EXPECT_TRUE(result.cache_file.empty());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("not kept"), std::string::npos);
}

TEST_F(LocalMachineTest, ProgressMayEndTheWork) {
  struct Enough {};
  options_.progress = [](const std::string&, double) { throw Enough(); };
  EXPECT_THROW(static_cast<void>(LocalMachine(options_)), Enough);
}

TEST_F(LocalMachineTest, ErrorsOfTheMeasurementArePassedOn) {
  options_.threads = {100'000};
  EXPECT_EQ(LocalMachine(options_).status().code(), StatusCode::kInvalidArgument);
}

TEST(ReadMachineFile, ReadsWhatWasWritten) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/machine.json";
  ASSERT_TRUE(WriteRoofCache(path, MadeUpMachine()).ok());
  const Result<Machine> machine = ReadMachineFile(path);
  ASSERT_TRUE(machine.ok());
  EXPECT_EQ(machine->name, "made up");
}

TEST(ReadMachineFile, NamesTheFileThatIsMissing) {
  const Result<Machine> machine = ReadMachineFile("/nowhere/machine.json");
  ASSERT_EQ(machine.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(machine.status().message(), "/nowhere/machine.json: no such file");
}

}  // namespace
}  // namespace rafter::roofline
