// Tests of roofline/machine_json.h: round trips and refusals.
#include "roofline/machine_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

Machine FullMachine() {
  Machine machine = MadeUpMachine();
  machine.note = "with \"quotes\" and µ";
  machine.roofs.curves.push_back({Isa::kAvx2, 1, Mix::kStore, true, {{1e8, 33.25, 32.5}}});
  Environment& environment = machine.environment;
  environment.date = "2025-03-01T12:34:56Z";
  environment.cpu = {"GenuineIntel", "Some CPU", "0x1",      6, 85, 7,
                     Isa::kAvx512,   Isa::kAvx2, "KVMKVMKVM"};
  environment.caches_reported = {32768, 1048576, 25e6};
  environment.getconf_l3_bytes = 38e6;
  environment.limits = {{0, 2, 5}, 2, 1.5, 1e9, 2e9};
  environment.settings = {
      "Linux 6.1", "tsc", "madvise", "performance",
      "on",        21.5,  0.25,      {{"OMP_NUM_THREADS", "2"}, {"RAFTER_MAX_ISA", "avx2"}}};
  return machine;
}

TEST(MachineJson, RoundTripIsExact) {
  const nlohmann::ordered_json json = MachineToJson(FullMachine());
  const Result<Machine> again = MachineFromJson(json.dump());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(MachineToJson(*again).dump(1), json.dump(1));
  EXPECT_EQ(again->environment.limits.allowed_cpus, (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(again->environment.settings.variables.size(), 2u);
  EXPECT_EQ(again->environment.cpu.isa_effective, Isa::kAvx2);
  EXPECT_TRUE(again->roofs.curves.back().non_temporal);
  EXPECT_EQ(again->roofs.curves.back().points.front().median_gb_per_s, 32.5);
  EXPECT_EQ(again->roofs.levels.front().effective.l2_bytes, 512 * kKiB);
  EXPECT_EQ(again->roofs.fork_joins.back().backend, "workers");
  EXPECT_EQ(again->roofs.clock.imul_ghz, 4.01);
}

TEST(MachineJson, NumbersThatAreNotFiniteBecomeNull) {
  Machine machine = FullMachine();
  machine.roofs.clock.ghz = std::numeric_limits<double>::quiet_NaN();
  machine.environment.limits.cpu_quota = std::numeric_limits<double>::infinity();
  const nlohmann::ordered_json json = MachineToJson(machine);
  EXPECT_TRUE(json["roofs"]["clock"]["ghz"].is_null());
  EXPECT_TRUE(json["environment"]["limits"]["cpu_quota"].is_null());
  const Result<Machine> again = MachineFromJson(json.dump());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->roofs.clock.ghz, 0);
}

TEST(MachineJson, DataSheetsMayBeShort) {
  const Result<Machine> machine =
      MachineFromJson(R"({"schema": 1, "name": "x", "source": "data sheet",
    "roofs": {"peaks": [{"isa": "any", "threads": 0, "gflops": 10}],
              "bandwidth": [{"isa": "any", "threads": 0, "mix": "copy", "points": [[1000, 2]]}]}})");
  ASSERT_TRUE(machine.ok()) << machine.status().message();
  EXPECT_EQ(machine->roofs.curves.front().points.front().median_gb_per_s, 2);
  EXPECT_EQ(machine->roofs.peaks.front().isa, Isa::kNone);
}

// Replaces one value of a good machine and expects a refusal.
void ExpectRefused(const char* pointer, const nlohmann::ordered_json& value) {
  nlohmann::ordered_json json = MachineToJson(FullMachine());
  json[nlohmann::ordered_json::json_pointer(pointer)] = value;
  const Result<Machine> machine = MachineFromJson(json.dump());
  ASSERT_FALSE(machine.ok()) << pointer;
  EXPECT_EQ(machine.status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(machine.status().message().empty());
}

TEST(MachineJson, RefusesWrongValues) {
  ExpectRefused("/schema", 2);
  ExpectRefused("/name", 5);
  ExpectRefused("/roofs/peaks/0/isa", "sse9");
  ExpectRefused("/roofs/peaks/0/gflops", -1);
  ExpectRefused("/roofs/peaks/0/threads", "two");
  ExpectRefused("/roofs/bandwidth/0/mix", "3:1");
  ExpectRefused("/roofs/bandwidth/0/points/0", 17);
  ExpectRefused("/roofs/bandwidth/0/points/1/0", 1);  // footprints must rise
  ExpectRefused("/roofs/bandwidth/0/points/1/1", nullptr);
  ExpectRefused("/roofs/levels", "none");
  ExpectRefused("/roofs/clock", 4.2);
  ExpectRefused("/environment/limits/allowed_cpus", "0-3");
}

TEST(MachineJson, RefusesMissingMembers) {
  for (const char* member : {"schema", "name", "source", "roofs"}) {
    nlohmann::ordered_json json = MachineToJson(FullMachine());
    json.erase(member);
    EXPECT_FALSE(MachineFromJson(json.dump()).ok()) << member;
  }
}

TEST(MachineJson, RefusesEveryTruncation) {
  const std::string text = MachineToJson(MadeUpMachine()).dump();
  for (size_t length = 0; length < text.size(); length += 7) {
    EXPECT_FALSE(MachineFromJson(text.substr(0, length)).ok()) << length;
  }
  for (const char* garbage :
       {"", "null", "[]", "42", "\"x\"", "{}", "\xff\xfe", "{\"schema\": 1}"}) {
    EXPECT_FALSE(MachineFromJson(garbage).ok()) << garbage;
  }
}

TEST(MachineJson, IgnoresUnknownMembers) {
  nlohmann::ordered_json json = MachineToJson(FullMachine());
  json["roofs"]["future"] = {1, 2, 3};
  EXPECT_TRUE(MachineFromJson(json.dump()).ok());
}

}  // namespace
}  // namespace rafter::roofline
