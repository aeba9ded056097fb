// tests/jit/mapped_pages.h: what /proc/self/maps says about this process, and a tiny function to
// publish.
#ifndef RAFTER_TESTS_JIT_MAPPED_PAGES_H_
#define RAFTER_TESTS_JIT_MAPPED_PAGES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace rafter::jit {

// The lines of mappings that are writable and executable at the same time.
inline std::string WritableAndExecutableMappings() {
  std::ifstream maps("/proc/self/maps");
  std::string found;
  for (std::string line; std::getline(maps, line);) {
    const size_t space = line.find(' ');
    if (space == std::string::npos || line.size() < space + 5) continue;
    if (line[space + 2] == 'w' && line[space + 3] == 'x') found += line + "\n";
  }
  return found;
}

// Permissions of the mapping of `address`, as in "r-xp"; empty when nothing is mapped there.
inline std::string PermissionsOf(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char permissions[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, permissions) != 3) continue;
    const auto value = reinterpret_cast<uintptr_t>(address);
    if (value >= begin && value < end) return permissions;
  }
  return "";
}

// mov eax, value; ret; then int3 up to `bytes`; at least 6 bytes.
inline std::vector<uint8_t> CodeReturning(uint32_t value, size_t bytes = 6) {
  std::vector<uint8_t> code(std::max<size_t>(bytes, 6), 0xcc);
  code[0] = 0xb8;
  for (int i = 0; i < 4; ++i) code[1 + i] = static_cast<uint8_t>(value >> (8 * i));
  code[5] = 0xc3;
  return code;
}

inline uint32_t CallCode(const void* code) {
  return reinterpret_cast<uint32_t (*)()>(reinterpret_cast<uintptr_t>(code))();
}

}  // namespace rafter::jit

#endif  // RAFTER_TESTS_JIT_MAPPED_PAGES_H_
