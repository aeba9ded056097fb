// tests/runtime/system_files_test.cc
#include "runtime/system_files.h"

#include <gtest/gtest.h>

#include "tests/runtime/fake_root.h"

namespace rafter {
namespace {

TEST(SystemFiles, ReadsWholeFilesAndReportsMissingOnes) {
  const FakeRoot root;
  const std::string text(10'000, 'x');
  root.Write("/proc/long", text);
  EXPECT_EQ(ReadSystemFile(root.path() + "/proc/long"), text);
  EXPECT_EQ(ReadSystemFile(root.path() + "/proc/missing"), std::nullopt);
  EXPECT_EQ(ReadSystemFile(root.path() + "/proc"), std::nullopt);  // a directory
}

TEST(SystemFiles, ParsesNumbers) {
  EXPECT_EQ(ParseDecimal(" 42\n"), 42);
  EXPECT_EQ(ParseDecimal("-1"), -1);
  EXPECT_EQ(ParseDecimal("max"), std::nullopt);
  EXPECT_EQ(ParseDecimal("4x"), std::nullopt);
  EXPECT_EQ(ParseDecimal(""), std::nullopt);
  EXPECT_EQ(ParseDecimal("99999999999999999999"), std::nullopt);
}

TEST(SystemFiles, ParsesCpuLists) {
  EXPECT_EQ(ParseCpuList("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCpuList("5,1,5"), (std::vector<int>{1, 5}));
  EXPECT_TRUE(ParseCpuList("").empty());
  EXPECT_TRUE(ParseCpuList("3-1").empty());
  EXPECT_EQ(ParseCpuList("a,2,-,7-"), (std::vector<int>{2}));
  EXPECT_TRUE(ParseCpuList("0-99999999999").empty());
}

TEST(SystemFiles, ParsesCacheSizes) {
  EXPECT_EQ(ParseCacheSize("32K\n"), 32 << 10);
  EXPECT_EQ(ParseCacheSize("16M"), 16 << 20);
  EXPECT_EQ(ParseCacheSize("65536"), 65536);
  EXPECT_EQ(ParseCacheSize("K"), 0);
  EXPECT_EQ(ParseCacheSize("-4K"), 0);
  EXPECT_EQ(ParseCacheSize(""), 0);
}

TEST(SystemFiles, SplitsAndTrims) {
  EXPECT_EQ(SplitText("a,,b", ','), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(SplitText("", ','), (std::vector<std::string_view>{""}));
  EXPECT_EQ(TrimSpace("\t a b\n"), "a b");
}

}  // namespace
}  // namespace rafter
