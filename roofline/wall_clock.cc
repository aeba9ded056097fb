// The cost of reading the clock; see wall_clock.h.
#include "roofline/wall_clock.h"

#include <algorithm>

namespace rafter::roofline {

double TimerCostNs() noexcept {
  constexpr int kBatches = 20, kCalls = 50;
  double best = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t start = NowNs();
    int64_t now = start;
    for (int call = 0; call < kCalls; ++call) now = NowNs();
    best = std::min(best, static_cast<double>(now - start) / kCalls);
  }
  return best;
}

}  // namespace rafter::roofline
