// Tests of cli/output_file.h.
#include "cli/output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace rafter::cli {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() { std::filesystem::create_directories(directory_); }
  ~OutputFileTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  static std::string Content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::string directory_ = testing::TempDir() + "/rafter_output_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OutputFileTest, WritesAndReplaces) {
  {
    Result<OutputFile> file = OutputFile::Open("--json", Path("a"));
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(file->Write("a long first content\n").ok());
    EXPECT_TRUE(file->Write("first\n").ok());
    EXPECT_EQ(Content(Path("a")), "first\n");
  }
  Result<OutputFile> again = OutputFile::Open("--json", Path("a"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(Content(Path("a")), "first\n") << "the old content stays until there is a new one";
  EXPECT_TRUE(again->Write("second\n").ok());
  EXPECT_EQ(Content(Path("a")), "second\n");
}

TEST_F(OutputFileTest, LeavesNothingBehindWhenNothingWasWritten) {
  ASSERT_TRUE(OutputFile::Open("--json", Path("new")).ok());
  EXPECT_FALSE(std::filesystem::exists(Path("new")));
  std::ofstream(Path("old")) << "kept";
  ASSERT_TRUE(OutputFile::Open("--json", Path("old")).ok());
  EXPECT_EQ(Content(Path("old")), "kept");
}

TEST_F(OutputFileTest, RefusesWhatCannotBeWritten) {
  for (const std::string& path : {Path("no/such/directory"), directory_, std::string("--quiet")}) {
    const Result<OutputFile> file = OutputFile::Open("--csv", path);
    ASSERT_FALSE(file.ok()) << path;
    EXPECT_EQ(file.status().message().find("--csv: '" + path + "' is not allowed; allowed: "), 0u)
        << file.status().message();
  }
}

TEST_F(OutputFileTest, KnowsItsTwin) {
  Result<OutputFile> a = OutputFile::Open("--json", Path("a"));
  Result<OutputFile> twin = OutputFile::Open("--csv", directory_ + "/./a");
  Result<OutputFile> b = OutputFile::Open("--csv", Path("b"));
  ASSERT_TRUE(a.ok() && twin.ok() && b.ok());
  EXPECT_TRUE(a->SameAs(*twin));
  EXPECT_FALSE(a->SameAs(*b));
}

TEST_F(OutputFileTest, ReportsAFullDevice) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  Result<OutputFile> file = OutputFile::Open("--json", "/dev/full");
  ASSERT_TRUE(file.ok());
  const Status status = file->Write("text");
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_EQ(status.message().find("--json: '/dev/full' cannot be written: "), 0u);
}

}  // namespace
}  // namespace rafter::cli
