// bench/gbench_compile.cc: what making a plan costs: with an empty code cache (validation, choice,
// blocking, code generation) and with its kernels cached. Packing of weights is no part of it.
#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <utility>

#include "bench/gbench_cases.h"
#include "roofline/wall_clock.h"

namespace rafter::bench {
namespace {

// Creates within the loop; only Conv::Create is timed. A plan keeps its kernels alive, so it goes
// before the cache is emptied.
void TimeCreation(benchmark::State& state, const GbenchCase& one, bool empty_cache) {
  std::optional<Conv> kept;
  if (!empty_cache) {
    Result<Conv> conv = one.Create();
    if (conv.ok()) kept = std::move(conv).value();
  }
  for (auto _ : state) {
    static_cast<void>(_);
    if (empty_cache) ClearKernelCache();
    const int64_t start = roofline::NowNs();
    const Result<Conv> conv = one.Create();
    const int64_t end = roofline::NowNs();
    if (!conv.ok()) {
      state.SkipWithError(std::string(conv.status().message()).c_str());
      return;
    }
    state.SetIterationTime(static_cast<double>(end - start) * 1e-9);
  }
}

void Register(const std::string& name, const GbenchCase& one, bool empty_cache) {
  benchmark::RegisterBenchmark(
      (name + "/" + one.name()).c_str(),
      [one, empty_cache](benchmark::State& state) { TimeCreation(state, one, empty_cache); })
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime();
}

}  // namespace

void RegisterCompileBenchmarks(const std::vector<GbenchCase>& cases) {
  for (const GbenchCase& one : cases) Register("create", one, true);
  for (const GbenchCase& one : cases) Register("create_cached", one, false);
}

}  // namespace rafter::bench
