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

// Roofs of one and two threads with the wanted peaks.
Roofs RoofsOf(int threads, double gflops, double l1_in_place = 200) {
  Roofs roofs = MadeUpMachine().roofs;
  roofs.quick = true;
  for (BandwidthCurve& curve : roofs.curves) curve.threads = threads;
  roofs.curves[3] = LeveledCurve(Isa::kAvx2, threads, Mix::kInPlace, l1_in_place, 100, 50, 17);
  roofs.levels[0].threads = threads;
  roofs.peaks = {{Isa::kAvx2, threads, gflops, gflops, gflops}};
  return roofs;
}

TEST_F(LocalMachineTest, MeasuresImplausibleRoofsAgain) {
  options_.threads = {1, 2};
  int of_two = 0;
  options_.measure = [&](const RoofOptions& wanted) -> Result<Roofs> {
    if (wanted.threads == std::vector<int>{1}) return RoofsOf(1, 97.7);
    return ++of_two < 3 ? RoofsOf(2, 5.3) : RoofsOf(2, 180);
  };
  const LocalMachineResult result = Get();
  EXPECT_EQ(of_two, 3);
  EXPECT_TRUE(result.warnings.empty());
  EXPECT_FALSE(result.doubtful);
  EXPECT_EQ(result.cache_file, path_);
  EXPECT_EQ(FindPeak(result.machine.roofs, Isa::kAvx2, 2)->gflops, 180);
  EXPECT_FALSE(Get().measured_now);
}

TEST_F(LocalMachineTest, UsesButDoesNotKeepWhatStaysImplausible) {
  options_.threads = {1, 2};
  int of_two = 0;
  options_.measure = [&](const RoofOptions& wanted) -> Result<Roofs> {
    if (wanted.threads == std::vector<int>{1}) return RoofsOf(1, 97.7);
    ++of_two;
    return RoofsOf(2, 5.3);
  };
  const LocalMachineResult result = Get();
  EXPECT_EQ(of_two, 3);
  EXPECT_TRUE(result.doubtful);
  EXPECT_TRUE(result.cache_file.empty());
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("busy machine: roofs of avx2, 2 threads"), std::string::npos) << result.warnings[0];
  EXPECT_NE(result.warnings[0].find("5.3 GFLOP/s, of one thread 97.7"), std::string::npos) << result.warnings[0];
  EXPECT_EQ(FindPeak(result.machine.roofs, Isa::kAvx2, 2)->gflops, 5.3);
  // One thread's were fine.
  const Result<Machine> kept = ReadRoofCache(path_);
  ASSERT_TRUE(kept.ok());
  EXPECT_NE(FindPeak(kept->roofs, Isa::kAvx2, 1), nullptr);
  EXPECT_EQ(FindPeak(kept->roofs, Isa::kAvx2, 2), nullptr);
}

TEST_F(LocalMachineTest, RemarksOnWhatWasMeasuredOnABusyMachine) {
  options_.measure = [](const RoofOptions&) -> Result<Roofs> { return RoofsOf(1, 97.7); };
  options_.busy_cpus = [] { return 1.4; };
  const LocalMachineResult busy = Get();
  EXPECT_FALSE(busy.doubtful);
  ASSERT_EQ(busy.warnings.size(), 1u);
  EXPECT_NE(busy.warnings[0].find("other work kept 1.4 CPUs busy"), std::string::npos) << busy.warnings[0];
  EXPECT_EQ(busy.warnings[0].find("not kept"), std::string::npos) << busy.warnings[0];
  EXPECT_TRUE(ReadRoofCache(path_).ok());
  options_.busy_cpus = [] { return 0.1; };
  options_.force = true;
  EXPECT_TRUE(Get().warnings.empty());
}

TEST_F(LocalMachineTest, DoesNotBelieveImplausibleRoofsOfTheFile) {
  Machine machine = MadeUpMachine();
  machine.roofs = RoofsOf(1, 100);
  MergeRoofs(RoofsOf(2, 5.3), machine.roofs);
  ASSERT_TRUE(WriteRoofCache(path_, machine).ok());
  options_.threads = {1, 2};
  options_.measure = [](const RoofOptions&) -> Result<Roofs> { return RoofsOf(2, 180); };
  const LocalMachineResult result = Get();
  EXPECT_TRUE(result.measured_now);
  ASSERT_EQ(result.warnings.size(), 1u);
  EXPECT_NE(result.warnings[0].find("measured again"), std::string::npos);
  EXPECT_EQ(FindPeak(result.machine.roofs, Isa::kAvx2, 2)->gflops, 180);
}

TEST_F(LocalMachineTest, PollingMayEndTheWork) {
  struct Enough {};
  int polls = 0;
  options_.poll = [&] {
    if (++polls == 20) throw Enough();
  };
  EXPECT_THROW(static_cast<void>(LocalMachine(options_)), Enough);
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
