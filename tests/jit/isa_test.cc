// tests/jit/isa_test.cc: the decision from CPUID and XCR0 with made-up processors, and the caps.
#include "jit/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "rafter/cpu.h"
#include "tests/jit/child_process.h"

namespace rafter::jit {
namespace {

// A processor and system with everything.
constexpr CpuidWords kFull = {.leaf1_ecx = 1u << 12 | 1u << 27 | 1u << 28,
                              .leaf7_ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31,
                              .xcr0 = 0xe7};

TEST(IsaFromCpuid, EverythingThereIsAvx512) { EXPECT_EQ(IsaFromCpuid(kFull), Isa::kAvx512); }

TEST(IsaFromCpuid, NothingThereIsNone) { EXPECT_EQ(IsaFromCpuid({}), Isa::kNone); }

TEST(IsaFromCpuid, EachBitOfAvx2IsNeeded) {
  for (const int bit : {12, 27, 28}) {
    CpuidWords words = kFull;
    words.leaf1_ecx &= ~(1u << bit);
    EXPECT_EQ(IsaFromCpuid(words), Isa::kNone) << "leaf 1 ecx without bit " << bit;
  }
  CpuidWords words = kFull;
  words.leaf7_ebx &= ~(1u << 5);
  EXPECT_EQ(IsaFromCpuid(words), Isa::kNone);
  for (const int bit : {1, 2}) {
    words = kFull;
    words.xcr0 &= ~(uint64_t{1} << bit);
    EXPECT_EQ(IsaFromCpuid(words), Isa::kNone) << "xcr0 without bit " << bit;
  }
}

TEST(IsaFromCpuid, EachBitOfAvx512IsNeeded) {
  for (const int bit : {16, 17, 30, 31}) {
    CpuidWords words = kFull;
    words.leaf7_ebx &= ~(1u << bit);
    EXPECT_EQ(IsaFromCpuid(words), Isa::kAvx2) << "leaf 7 ebx without bit " << bit;
  }
  for (const int bit : {5, 6, 7}) {  // the system does not save opmask or ZMM registers
    CpuidWords words = kFull;
    words.xcr0 &= ~(uint64_t{1} << bit);
    EXPECT_EQ(IsaFromCpuid(words), Isa::kAvx2) << "xcr0 without bit " << bit;
  }
}

TEST(GetIsaInfo, RowsAreConsistent) {
  const IsaInfo& none = GetIsaInfo(Isa::kNone);
  EXPECT_EQ(none.vec_bytes, 0);
  EXPECT_EQ(none.num_vecs, 0);
  EXPECT_FALSE(none.has_opmask);
  const IsaInfo& avx2 = GetIsaInfo(Isa::kAvx2);
  EXPECT_EQ(avx2.vec_lanes(), 8);
  EXPECT_EQ(avx2.num_vecs, 16);
  EXPECT_FALSE(avx2.has_opmask);
  const IsaInfo& avx512 = GetIsaInfo(Isa::kAvx512);
  EXPECT_EQ(avx512.vec_lanes(), 16);
  EXPECT_EQ(avx512.num_vecs, 32);
  EXPECT_TRUE(avx512.has_opmask);
  for (const Isa isa : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    EXPECT_EQ(GetIsaInfo(isa).isa, isa);
    const Result<Isa> parsed = ParseIsa(IsaName(isa));
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(parsed.value(), isa);
  }
  EXPECT_EQ(GetIsaInfo(static_cast<Isa>(77)).isa, Isa::kNone);
}

TEST(ParseIsa, NamesWhatIsAllowed) {
  for (const char* text : {"", "AVX2", "sse", "avx51", "avx512 "}) {
    const Result<Isa> parsed = ParseIsa(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
    const std::string message(parsed.status().message());
    EXPECT_EQ(message.rfind(std::string("isa: \"").append(text).append("\""), 0), 0u) << message;
    EXPECT_NE(message.find("none, avx2, avx512"), std::string::npos) << message;
  }
}

// The kernel's own list of flags hides what it did not enable.
TEST(DetectedIsa, AgreesWithProcCpuinfo) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("flags", 0) == 0) {
      flags = line + " ";
      break;
    }
  }
  if (flags.empty()) GTEST_SKIP() << "no flags in /proc/cpuinfo";
  const auto has = [&](const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  Isa expected = Isa::kNone;
  if (has("avx2") && has("fma")) expected = Isa::kAvx2;
  if (expected == Isa::kAvx2 && has("avx512f") && has("avx512bw") && has("avx512dq") &&
      has("avx512vl")) {
    expected = Isa::kAvx512;
  }
  EXPECT_EQ(DetectedIsa(), expected);
}

TEST(EffectiveIsa, ApiCapsAndUncaps) {
  const Isa before = EffectiveIsa();
  for (const Isa cap : {Isa::kNone, Isa::kAvx2, Isa::kAvx512}) {
    SetMaxIsa(cap);
    EXPECT_EQ(EffectiveIsa(), std::min(before, cap));
  }
  EXPECT_EQ(EffectiveIsa(), before);
}

// What the child should see travels in EXPECTED_ISA and EXPECTED_UNKNOWN.
TEST(EnvironmentChild, DISABLED_MaxIsa) {
  const Result<Isa> expected = ParseIsa(std::getenv("EXPECTED_ISA"));
  ASSERT_TRUE(expected.ok());
  EXPECT_EQ(EffectiveIsa(), std::min(DetectedIsa(), expected.value()));
  EXPECT_EQ(UnknownMaxIsaText(), std::getenv("EXPECTED_UNKNOWN"));
  setenv("RAFTER_MAX_ISA", "none", 1);  // read once: no longer of interest
  EXPECT_EQ(EffectiveIsa(), std::min(DetectedIsa(), expected.value()));
  SetMaxIsa(Isa::kNone);
  EXPECT_EQ(EffectiveIsa(), Isa::kNone);
}

TEST(EffectiveIsa, EnvironmentCaps) {
  struct Case {
    std::string value, isa, unknown;
  };
  const std::vector<Case> cases = {{"none", "none", ""},
                                   {"avx2", "avx2", ""},
                                   {"avx512", "avx512", ""},
                                   {"", "avx512", ""},
                                   {"AVX2", "avx512", "AVX2"},
                                   {"sse4 or so", "avx512", "sse4 or so"},
                                   {std::string(100, 'x'), "avx512", std::string(63, 'x')}};
  for (const Case& c : cases) {
    const ChildResult child = RunInChild(
        "EnvironmentChild.DISABLED_MaxIsa",
        {{"RAFTER_MAX_ISA", c.value}, {"EXPECTED_ISA", c.isa}, {"EXPECTED_UNKNOWN", c.unknown}});
    EXPECT_TRUE(child.passed) << "RAFTER_MAX_ISA=" << c.value << "\n" << child.output;
  }
}

}  // namespace
}  // namespace rafter::jit
