// Files of roofs; see roof_cache.h.
#include "roofline/roof_cache.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "roofline/input_text.h"
#include "roofline/machine_json.h"

namespace rafter::roofline {

namespace fs = std::filesystem;

std::string CacheDirectory() {
  const char* cache_home = std::getenv("XDG_CACHE_HOME");
  if (cache_home != nullptr && cache_home[0] == '/') return std::string(cache_home) + "/rafter";
  const char* home = std::getenv("HOME");
  if (home != nullptr && home[0] != '\0') return std::string(home) + "/.cache/rafter";
  return "";
}

std::string RoofCacheFileName(const std::string& fingerprint, const std::string& date) {
  return "roofs-" + fingerprint + "-" + date + ".json";
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &local);
  return text.data();
}

Result<Machine> ReadRoofCache(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Status::Unsupported(path + ": no such file");
  const Result<std::string> text = ReadTextFile(path);
  if (!text.ok()) return Status::InvalidArgument(path + ": " + std::string(text.status().message()));
  Result<Machine> machine = MachineFromJson(*text);
  if (machine.ok()) return machine;
  return Status::InvalidArgument(path + ": " + std::string(machine.status().message()));
}

Status WriteRoofCache(const std::string& path, const Machine& machine) {
  std::error_code error;
  const fs::path target(path);
  fs::create_directories(target.parent_path(), error);
  if (error) return Status::Internal(target.parent_path().string() + ": " + error.message());
  const std::string temporary = path + "." + std::to_string(getpid()) + ".tmp";
  {
    errno = 0;
    std::ofstream file(temporary, std::ios::trunc);
    file << MachineToJson(machine).dump(1) << '\n';
    file.close();
    if (!file) {
      const std::string reason = errno != 0 ? std::strerror(errno) : "cannot be written";
      fs::remove(temporary, error);
      return Status::Internal(temporary + ": " + reason);
    }
  }
  fs::rename(temporary, target, error);
  if (!error) return {};
  const std::string reason = error.message();
  fs::remove(temporary, error);
  return Status::Internal(path + ": " + reason);
}

}  // namespace rafter::roofline
