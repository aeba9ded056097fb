// runtime/system_files.h: reads the small text files of /proc and /sys. A missing or odd file is an
// ordinary answer here (nullopt, empty list), because containers and virtual machines hide many of
// them.
#ifndef RAFTER_RUNTIME_SYSTEM_FILES_H_
#define RAFTER_RUNTIME_SYSTEM_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rafter {

// The whole file, up to 4 MiB (/proc/cpuinfo of a large machine has 1 MiB).
std::optional<std::string> ReadSystemFile(const std::string& path);

std::string_view TrimSpace(std::string_view text);

// A decimal number that fills `text` (spaces around it are ignored).
std::optional<int64_t> ParseDecimal(std::string_view text);

// "0-3,8" → {0, 1, 2, 3, 8}; what does not parse is left out. Rising, each once.
std::vector<int> ParseCpuList(std::string_view text);

// "512K", "32M", "65536" → bytes; 0 when it does not parse.
int64_t ParseCacheSize(std::string_view text);

// Parts between separators; empty parts are kept.
std::vector<std::string_view> SplitText(std::string_view text, char separator);

}  // namespace rafter

#endif  // RAFTER_RUNTIME_SYSTEM_FILES_H_
