// tests/runtime/fake_root.h: a temporary directory with made-up files of /proc and /sys.
#ifndef RAFTER_TESTS_RUNTIME_FAKE_ROOT_H_
#define RAFTER_TESTS_RUNTIME_FAKE_ROOT_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rafter {

class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "rafter-root-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  const std::string& path() const { return path_; }

  // `file` begins with a slash.
  void Write(const std::string& file, const std::string& text) const {
    const std::filesystem::path full = path_ + file;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }

 private:
  std::string path_;
};

}  // namespace rafter

#endif  // RAFTER_TESTS_RUNTIME_FAKE_ROOT_H_
