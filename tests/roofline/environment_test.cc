// Tests of roofline/environment.h: what must hold on every machine, and the fingerprint.
#include "roofline/environment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace rafter::roofline {
namespace {

TEST(ReadEnvironment, KnowsThisMachine) {
  const Environment environment = ReadEnvironment();
  EXPECT_EQ(environment.cpu.isa_detected, DetectedIsa());
  EXPECT_FALSE(environment.cpu.vendor.empty());
  EXPECT_FALSE(environment.limits.allowed_cpus.empty());
  EXPECT_GE(environment.limits.allowed_cores, 1);
  EXPECT_GT(environment.limits.memory_available_bytes, 0);
  EXPECT_EQ(environment.settings.kernel.rfind("Linux ", 0), 0u);
  EXPECT_GT(environment.settings.timer_cost_ns, 0);
  ASSERT_EQ(environment.date.size(), 20u);
  EXPECT_EQ(environment.date.back(), 'Z');
}

TEST(ReadEnvironment, ListsVariablesThatChangeThreads) {
  setenv("OMP_RAFTER_TEST", "a=b", 1);
  const auto variables = ReadEnvironment().settings.variables;
  unsetenv("OMP_RAFTER_TEST");
  EXPECT_TRUE(std::is_sorted(variables.begin(), variables.end()));
  EXPECT_NE(std::find(variables.begin(), variables.end(),
                      std::pair<std::string, std::string>("OMP_RAFTER_TEST", "a=b")),
            variables.end());
}

TEST(Fingerprint, Is16HexadecimalDigits) {
  const std::string fingerprint = Fingerprint(ReadEnvironment());
  EXPECT_EQ(fingerprint.size(), 16u);
  EXPECT_EQ(fingerprint.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Fingerprint, IgnoresWhatDoesNotDecideTheRoofs) {
  Environment a = ReadEnvironment(), b = a;
  b.date = "another";
  b.settings.load_average += 3;
  b.settings.timer_cost_ns += 1;
  b.limits.memory_available_bytes /= 2;
  b.cpu.isa_effective = Isa::kNone;
  EXPECT_EQ(Fingerprint(a), Fingerprint(b));
}

TEST(Fingerprint, ChangesWithTheMachine) {
  const Environment base = ReadEnvironment();
  const auto changed = [&](auto change) {
    Environment other = base;
    change(other);
    return Fingerprint(other) != Fingerprint(base);
  };
  EXPECT_TRUE(changed([](Environment& e) { e.cpu.model_name += "X"; }));
  EXPECT_TRUE(changed([](Environment& e) { e.cpu.stepping += 1; }));
  EXPECT_TRUE(changed([](Environment& e) { e.caches_reported.l3_bytes += 1; }));
  EXPECT_TRUE(changed([](Environment& e) { e.limits.allowed_cpus.push_back(4095); }));
  EXPECT_TRUE(changed([](Environment& e) { e.limits.cpu_quota += 1; }));
  EXPECT_TRUE(changed([](Environment& e) { e.settings.kernel += "-1"; }));
}

}  // namespace
}  // namespace rafter::roofline
