// bench/pages.h: where the memory of a result comes from at each call of a benchmarked operator.
#ifndef RAFTER_BENCH_PAGES_H_
#define RAFTER_BENCH_PAGES_H_

#include <cstdint>

namespace rafter::bench {

enum class Pages : uint8_t {
  kKept,    // a buffer that stays, huge pages advised, touched before
  kFresh,   // mapped anew for each call in pages of 4 KB, so that the call itself takes the faults
  kPooled,  // taken from a warm MemoryPool and given back
  kHuge,    // mapped anew for each call, huge pages advised
};

// "kept", "fresh", "pooled", "huge".
constexpr const char* PagesName(Pages pages) noexcept {
  switch (pages) {
    case Pages::kKept: return "kept";
    case Pages::kFresh: return "fresh";
    case Pages::kPooled: return "pooled";
    case Pages::kHuge: return "huge";
  }
  return "unknown";
}

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_PAGES_H_
