// bench/cache_mode.h: what the caches hold before a call is timed.
//
//   hot           everything that the previous call left: the upper limit of speed
//   cold-weights  activations as the previous call left them, weights in memory: what a network does, whose
//                 layers push each other's weights out of the caches
//   cold          nothing: the first inference, the lower limit of speed
//
// Cold means that every line is flushed before each sample, outside of the timed stretch; a sample is then one call.
// Flushing leaves the TLBs and the pages of memory as they are, so that a stream of the prefetcher's liking stays
// milder than it would be after a long pause.
#ifndef RAFTER_BENCH_CACHE_MODE_H_
#define RAFTER_BENCH_CACHE_MODE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace rafter::bench {

enum class CacheMode : uint8_t { kHot, kColdWeights, kCold };

// "hot", "cold-weights", "cold".
const char* CacheModeName(CacheMode mode) noexcept;
std::optional<CacheMode> ParseCacheMode(std::string_view name) noexcept;

using Memory = std::span<const std::byte>;

// Pushes every line of `memory` out of all caches of this core and those that it shares.
void FlushFromCaches(Memory memory) noexcept;

// Whether flushing does what it says: the same buffer read after flushing and read again.
struct ColdCheck {
  double cold_gb_per_s = 0, hot_gb_per_s = 0;
  bool works = false;  // cold is at most 0.8 of hot
};
// Of a buffer of `bytes` (at least 64 KiB); takes a few milliseconds.
ColdCheck CheckFlushing(size_t bytes);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_CACHE_MODE_H_
