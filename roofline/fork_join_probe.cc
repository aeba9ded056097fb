// Empty parallel runs; see fork_join_probe.h.
#include "roofline/fork_join_probe.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "roofline/wall_clock.h"
#include "runtime/parallel.h"

namespace rafter::roofline {

ForkJoinCost MeasureForkJoin(ParallelFor& pool, const std::string& backend, int threads,
                             double budget_us) {
  constexpr int kRuns = 500, kWarmUps = 3;
  const auto run = [&] { RunOnThreads(pool, threads, [](int, int) noexcept {}); };
  for (int i = 0; i < kWarmUps; ++i) run();
  std::vector<double> times_us;
  const int64_t deadline = NowNs() + std::llround(budget_us * 1000);
  do {
    const int64_t start = NowNs();
    run();
    times_us.push_back(static_cast<double>(NowNs() - start) / 1000);
  } while (times_us.size() < kRuns && NowNs() < deadline);
  std::sort(times_us.begin(), times_us.end());
  return {backend, threads, times_us.front(), times_us[times_us.size() / 2]};
}

}  // namespace rafter::roofline
