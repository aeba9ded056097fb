// jit/code_dump.cc: writes dump files and perf map lines. For debugging, hence simple system calls
// per kernel; without the two variables it costs one branch. Errors are ignored on purpose.
#include "jit/code_dump.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>

#include "jit/compiled_kernel.h"

namespace rafter::jit {
namespace {

namespace fs = std::filesystem;

// Files named name.bin, name.2.bin, … up to this number.
constexpr int kMaxVariants = 1000;
// Room for suffixes below the 255 bytes that file systems allow.
constexpr size_t kMaxNameBytes = 200;

struct DumpSettings {
  fs::path directory;  // empty: no dump
  bool perf_map = false;
  std::mutex mutex;  // one writer at a time
};

DumpSettings& Settings() {
  // Never destroyed: kernels may be compiled while static objects go away.
  static DumpSettings* settings = [] {
    auto* made = new DumpSettings;
    if (const char* directory = std::getenv("RAFTER_JIT_DUMP")) made->directory = directory;
    const char* perf = std::getenv("RAFTER_JIT_PERF");
    made->perf_map = perf != nullptr && std::string_view(perf) == "1";
    return made;
  }();
  return *settings;
}

// Kernel names are ours and tame, but a file name must never leave the directory and a map line
// never break.
std::string SafeName(const std::string& name) {
  std::string safe = name.substr(0, kMaxNameBytes);
  for (char& c : safe) {
    const bool tame = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.' || c == '+' || c == '=';
    if (!tame) c = '_';
  }
  if (safe.empty() || safe.front() == '.') safe.insert(safe.begin(), '_');
  return safe;
}

// Writes all of `bytes` or returns false.
bool WriteAll(int file, const void* data, size_t bytes) {
  const char* next = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = write(file, next, bytes);
    if (written <= 0) return false;
    next += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

bool HasContents(const fs::path& path, std::string_view code) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  const std::string contents{std::istreambuf_iterator<char>(file),
                             std::istreambuf_iterator<char>()};
  return contents == code;
}

// Another kernel of the same name and other code (compiled for another layer, or by an earlier run)
// keeps its file: this one gets a number.
void Dump(const fs::path& directory, const std::string& name, std::string_view code) {
  std::error_code ignored;
  fs::create_directories(directory, ignored);
  for (int variant = 1; variant <= kMaxVariants; ++variant) {
    std::string file_name = name;
    if (variant > 1) file_name.append(1, '.').append(std::to_string(variant));
    const fs::path path = directory / file_name.append(".bin");
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      const bool complete = WriteAll(file, code.data(), code.size());
      close(file);
      if (!complete) unlink(path.c_str());
      return;
    }
    if (errno != EEXIST || HasContents(path, code)) return;
  }
}

// perf reads lines "address size name", both numbers in hexadecimal, and for an address named twice
// believes the later line. Opened each time, since the process may have forked.
void AppendToPerfMap(const std::string& name, std::string_view code) {
  char path[64];
  std::snprintf(path, sizeof path, "/tmp/perf-%d.map", static_cast<int>(getpid()));
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return;
  char numbers[64];
  const int length = std::snprintf(numbers, sizeof numbers, "%" PRIxPTR " %zx ",
                                   reinterpret_cast<uintptr_t>(code.data()), code.size());
  const std::string line = std::string(numbers, static_cast<size_t>(length)) + name + "\n";
  WriteAll(file, line.data(), line.size());
  close(file);
}

}  // namespace

void AnnounceKernel(const CompiledKernel& kernel) noexcept {
  try {
    DumpSettings& settings = Settings();
    if (settings.directory.empty() && !settings.perf_map) return;
    const std::string name = SafeName(kernel.name());
    const std::string_view code(static_cast<const char*>(kernel.code()), kernel.code_bytes());
    const std::lock_guard lock(settings.mutex);
    if (!settings.directory.empty()) Dump(settings.directory, name, code);
    if (settings.perf_map) AppendToPerfMap(name, code);
  } catch (...) {  // out of memory or a failing disk: the kernel works all the same
  }
}

}  // namespace rafter::jit
