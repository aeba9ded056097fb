// roofline/page_probe.cc: see page_probe.h.
#include "roofline/page_probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "roofline/wall_clock.h"

namespace rafter::roofline {
namespace {

constexpr int kTrials = 3;

double WriteUs(void* memory, size_t bytes, int value) {
  const int64_t start = NowNs();
  std::memset(memory, value, bytes);
  return static_cast<double>(NowNs() - start) * 1e-3;
}

}  // namespace

PageCost MeasureFirstTouch(size_t bytes) {
  PageCost cost;
  for (int i = 0; i < kTrials; ++i) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return {};
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    const double fresh = WriteUs(memory, bytes, 1);
    const double warm = std::min(WriteUs(memory, bytes, 2), WriteUs(memory, bytes, 3));
    munmap(memory, bytes);
    cost.fresh_us = cost.bytes == 0 ? fresh : std::min(cost.fresh_us, fresh);
    cost.warm_us = cost.bytes == 0 ? warm : std::min(cost.warm_us, warm);
    cost.bytes = bytes;
  }
  return cost;
}

}  // namespace rafter::roofline
