// Tests of roofline/roof_cache.h on temporary directories.
#include "roofline/roof_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "roofline/machine_json.h"
#include "tests/roofline/made_up_machine.h"

namespace rafter::roofline {
namespace {

namespace fs = std::filesystem;

// Sets or (null) removes a variable of the environment; restores it at the end.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    Set(value);
  }
  ~ScopedVariable() { Set(old_ ? old_->c_str() : nullptr); }

 private:
  void Set(const char* value) const {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(CacheDirectory, FollowsTheXdgSpecification) {
  const ScopedVariable home("HOME", "/home/someone");
  {
    const ScopedVariable xdg("XDG_CACHE_HOME", "/var/tmp/caches");
    EXPECT_EQ(CacheDirectory(), "/var/tmp/caches/rafter");
  }
  for (const char* unusable : {static_cast<const char*>(nullptr), "", "relative/path"}) {
    const ScopedVariable xdg("XDG_CACHE_HOME", unusable);
    EXPECT_EQ(CacheDirectory(), "/home/someone/.cache/rafter");
  }
}

TEST(CacheDirectory, IsEmptyWithoutAHome) {
  const ScopedVariable xdg("XDG_CACHE_HOME", nullptr);
  const ScopedVariable home("HOME", nullptr);
  EXPECT_EQ(CacheDirectory(), "");
}

TEST(RoofCacheFileName, NamesMachineAndDay) {
  EXPECT_EQ(RoofCacheFileName("0123456789abcdef", "2025-03-01"),
            "roofs-0123456789abcdef-2025-03-01.json");
}

TEST(Today, IsADate) {
  const std::string today = Today();
  ASSERT_EQ(today.size(), 10u);
  EXPECT_EQ(today[4], '-');
  EXPECT_EQ(today[7], '-');
  EXPECT_EQ(today.substr(0, 2), "20");
}

TEST(RoofCache, ReadsWhatItWrote) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/a/b/roofs.json";  // directories are made
  const Status written = WriteRoofCache(path, MadeUpMachine());
  ASSERT_TRUE(written.ok()) << written.message();
  const Result<Machine> read = ReadRoofCache(path);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(MachineToJson(*read), MachineToJson(MadeUpMachine()));
  // Nothing but the file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(fs::path(path).parent_path()), {}), 1);
}

TEST(RoofCache, OverwritesWhatWasThere) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/roofs.json";
  std::ofstream(path) << "damaged";
  ASSERT_TRUE(WriteRoofCache(path, MadeUpMachine()).ok());
  EXPECT_TRUE(ReadRoofCache(path).ok());
}

TEST(RoofCache, SaysWhetherAFileIsMissingOrDamaged) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/roofs.json";
  EXPECT_EQ(ReadRoofCache(path).status().code(), StatusCode::kUnsupported);
  std::ofstream(path) << "{\"schema\": 1, ";
  const Result<Machine> damaged = ReadRoofCache(path);
  EXPECT_EQ(damaged.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(damaged.status().message().find(path), std::string::npos);
  std::ofstream(path, std::ios::trunc);
  EXPECT_EQ(ReadRoofCache(path).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadRoofCache(directory.path()).status().code(), StatusCode::kInvalidArgument);
}

TEST(RoofCache, ReportsWhereItCannotWrite) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  const Status below_a_file =
      WriteRoofCache(directory.path() + "/file/roofs.json", MadeUpMachine());
  EXPECT_EQ(below_a_file.code(), StatusCode::kInternal);
  EXPECT_FALSE(below_a_file.message().empty());
  fs::create_directories(directory.path() + "/taken/inside");
  EXPECT_FALSE(WriteRoofCache(directory.path() + "/taken", MadeUpMachine()).ok());
}

}  // namespace
}  // namespace rafter::roofline
