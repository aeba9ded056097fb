// Tests of cli/capped_process.h: the program starts itself again, once, with the limits in its
// environment.
#include "cli/capped_process.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <string>

namespace rafter::cli {
namespace {

void RestartInto(const char* filter) {
  std::string program = "rafter_tests_cli", flag = std::string("--gtest_filter=") + filter,
              disabled = "--gtest_also_run_disabled_tests";
  char* arguments[] = {program.data(), flag.data(), disabled.data(), nullptr};
  RestartCapped(Isa::kAvx2, arguments);
}

// Runs only in the process that the next test starts.
TEST(CappedProcess, DISABLED_SecondLife) {
  EXPECT_STREQ(getenv("RAFTER_MAX_ISA"), "avx2");
  EXPECT_STREQ(getenv("ONEDNN_MAX_CPU_ISA"), "AVX2");
  EXPECT_LE(EffectiveIsa(), Isa::kAvx2);
  RestartInto("no such test");  // returns: the limits are there
  if (HasFailure()) exit(1);
  exit(77);
}

TEST(CappedProcessDeathTest, StartsAgainWithTheLimits) {
  EXPECT_EXIT(
      {
        RestartInto("CappedProcess.DISABLED_SecondLife");
        exit(2);
      },
      testing::ExitedWithCode(77), "");
}

}  // namespace
}  // namespace rafter::cli
