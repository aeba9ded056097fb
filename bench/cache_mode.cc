// bench/cache_mode.cc: flushing lines, and the proof that it works.
#include "bench/cache_mode.h"

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "kernels/sizes.h"
#include "roofline/wall_clock.h"

namespace rafter::bench {
namespace {

// Reads a word of every line; the sum keeps the compiler from leaving it out.
uint64_t TouchLines(std::span<const uint64_t> words) {
  uint64_t sum = 0;
  for (size_t i = 0; i < words.size(); i += kLineBytes / sizeof(uint64_t)) sum += words[i];
  return sum;
}

}  // namespace

const char* CacheModeName(CacheMode mode) noexcept {
  switch (mode) {
    case CacheMode::kHot:
      return "hot";
    case CacheMode::kColdWeights:
      return "cold-weights";
    case CacheMode::kCold:
      return "cold";
  }
  return "unknown";
}

std::optional<CacheMode> ParseCacheMode(std::string_view name) noexcept {
  for (const CacheMode mode : {CacheMode::kHot, CacheMode::kColdWeights, CacheMode::kCold}) {
    if (name == CacheModeName(mode)) return mode;
  }
  return std::nullopt;
}

void FlushFromCaches(Memory memory) noexcept {
  if (memory.empty()) return;
  const auto first = reinterpret_cast<uintptr_t>(memory.data()) & ~(kLineBytes - 1);
  const auto end = reinterpret_cast<uintptr_t>(memory.data()) + memory.size();
  for (uintptr_t line = first; line < end; line += kLineBytes) _mm_clflush(reinterpret_cast<const void*>(line));
  _mm_mfence();
}

ColdCheck CheckFlushing(size_t bytes) {
  const std::vector<uint64_t> words(std::max(bytes, size_t{64} << 10) / sizeof(uint64_t), 1);
  const auto memory = std::as_bytes(std::span(words));
  // Written through a volatile, so that no call is left out.
  volatile uint64_t sink = TouchLines(words);
  ColdCheck check;
  constexpr int kTrials = 5;
  for (int i = 0; i < kTrials; ++i) {
    FlushFromCaches(memory);
    const int64_t start = roofline::NowNs();
    sink = TouchLines(words);
    const int64_t middle = roofline::NowNs();
    sink = TouchLines(words);
    const int64_t end = roofline::NowNs();
    const auto rate = [&](int64_t ns) {
      return static_cast<double>(memory.size()) / static_cast<double>(std::max<int64_t>(ns, 1));
    };
    check.cold_gb_per_s = std::max(check.cold_gb_per_s, rate(middle - start));
    check.hot_gb_per_s = std::max(check.hot_gb_per_s, rate(end - middle));
  }
  static_cast<void>(sink);
  check.works = check.cold_gb_per_s <= 0.8 * check.hot_gb_per_s;
  return check;
}

}  // namespace rafter::bench
