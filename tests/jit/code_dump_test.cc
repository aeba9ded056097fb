// tests/jit/code_dump_test.cc: dump files and perf map lines, each in a child with its own
// environment.
#include "jit/code_dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jit/compiled_kernel.h"
#include "tests/jit/child_process.h"
#include "tests/jit/mapped_pages.h"

namespace rafter::jit {
namespace {

namespace fs = std::filesystem;

// A new empty directory that goes away with the object.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (fs::temp_directory_path() / "rafter-dump-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::map<std::string, std::string> FilesIn(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    files[entry.path().filename().string()] = ReadFile(entry.path());
  }
  return files;
}

std::string CodeText(uint32_t value) {
  const std::vector<uint8_t> code = CodeReturning(value);
  return std::string(code.begin(), code.end());
}

CompiledKernel MakeKernel(const std::string& name, uint32_t value) {
  return CompiledKernel(name, Publish(CodeReturning(value)).value());
}

// Announces what the parent expects, and prints the lines that the perf map should have.
TEST(DumpChild, DISABLED_AnnounceAll) {
  std::vector<std::pair<std::string, uint32_t>> kernels = {
      {"direct_f32_avx2", 1}, {"direct_f32_avx2", 1},  // the same code again
      {"direct_f32_avx2", 2}, {"direct_f32_avx2", 2},  // other code of the same name
      {"../../etc/x y\n", 3}, {".hidden", 4},         {"", 5}, {std::string(400, 'n'), 6}};
  std::vector<CompiledKernel> alive;
  for (const auto& [name, value] : kernels) {
    alive.push_back(MakeKernel(name, value));
    AnnounceKernel(alive.back());
  }
  std::printf("FIRST %lx\n", reinterpret_cast<unsigned long>(alive.front().code()));
}

TEST(CodeDump, WritesOneFilePerKernel) {
  const TemporaryDirectory temporary;
  const fs::path directory = temporary.path() / "made" / "on demand";
  for (int run = 0; run < 2; ++run) {  // the second run finds all its files
    const ChildResult child =
        RunInChild("DumpChild.DISABLED_AnnounceAll", {{"RAFTER_JIT_DUMP", directory.string()}});
    ASSERT_TRUE(child.passed) << child.output;
    const std::map<std::string, std::string> expected = {
        {"direct_f32_avx2.bin", CodeText(1)},
        {"direct_f32_avx2.2.bin", CodeText(2)},
        {"_.._.._etc_x_y_.bin", CodeText(3)},
        {"_.hidden.bin", CodeText(4)},
        {"_.bin", CodeText(5)},
        {std::string(200, 'n') + ".bin", CodeText(6)},
    };
    EXPECT_EQ(FilesIn(directory), expected);
    EXPECT_FALSE(fs::exists("/tmp/perf-" + std::to_string(child.pid) + ".map"));
  }
}

TEST(CodeDump, UnusableDirectoryHarmsNothing) {
  const TemporaryDirectory temporary;
  const fs::path file = temporary.path() / "file";
  std::ofstream(file) << "not a directory";
  for (const fs::path& directory : {file, file / "below", fs::path("/proc/nothing")}) {
    const ChildResult child =
        RunInChild("DumpChild.DISABLED_AnnounceAll", {{"RAFTER_JIT_DUMP", directory.string()}});
    EXPECT_TRUE(child.passed) << child.output;
  }
  EXPECT_EQ(ReadFile(file), "not a directory");
}

TEST(CodeDump, PerfMapNamesEveryKernel) {
  const ChildResult child =
      RunInChild("DumpChild.DISABLED_AnnounceAll", {{"RAFTER_JIT_PERF", "1"}});
  ASSERT_TRUE(child.passed) << child.output;
  const fs::path map = "/tmp/perf-" + std::to_string(child.pid) + ".map";
  const std::string text = ReadFile(map);
  fs::remove(map);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 8);
  std::istringstream lines(text);
  std::string address, size, name;
  ASSERT_TRUE(lines >> address >> size >> name);
  EXPECT_NE(child.output.find("FIRST " + address + "\n"), std::string::npos) << child.output;
  EXPECT_EQ(size, "6");
  EXPECT_EQ(name, "direct_f32_avx2");
}

TEST(CodeDump, NothingIsWrittenUnasked) {
  const ChildResult child =
      RunInChild("DumpChild.DISABLED_AnnounceAll", {{"RAFTER_JIT_PERF", "0"}});
  ASSERT_TRUE(child.passed) << child.output;
  EXPECT_FALSE(fs::exists("/tmp/perf-" + std::to_string(child.pid) + ".map"));
}

}  // namespace
}  // namespace rafter::jit
