// bench/gbench_compile.cc: what making a plan costs, and a call. Of creation only Conv::Create is timed: no
// packing of weights, no destruction of the plan.
//
//   create/FAMILY, create_cached/FAMILY   one algorithm, told by name, so that the others are not asked
//   plan/LAYOUT, plan_cached/LAYOUT       as programs do it: every algorithm is asked; layers of ResNet-50 in turn
//   plan_again/LAYOUT                     the same layers created again while their plans are known
//   run/overhead                          Run of one multiply-add by the reference: checks and dispatch (bar: 150 ns)
//
// "cached": all kernels of the plan are in the code cache, plans are forgotten; otherwise the cache is emptied before
// each call, so that every kernel is generated. Counters: median_us of one call (the bars are 100 us and 2 us),
// kernels that one call generates.
#include <benchmark/benchmark.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/descriptor.h"
#include "bench/gbench_cases.h"
#include "bench/statistics.h"
#include "jit/code_cache.h"
#include "kernels/conv/plan_cache.h"
#include "roofline/wall_clock.h"

namespace rafter::bench {
namespace {

using Maker = std::function<Result<Conv>()>;

// What is known before each call.
enum class Known { kNothing, kKernels, kPlans };

// One iteration makes each plan once; its time is that of all of them. `makers` are not empty.
void TimeCreation(benchmark::State& state, const std::vector<Maker>& makers, Known known) {
  std::vector<Conv> kept;  // a plan keeps its kernels alive
  for (const Maker& make : makers) {
    Result<Conv> conv = make();
    if (conv.ok() && known != Known::kNothing) kept.push_back(std::move(conv).value());
  }
  std::vector<double> times_us;
  const uint64_t misses_before = jit::GetCodeCacheStats().misses;
  for (auto _ : state) {
    static_cast<void>(_);
    double all_us = 0;
    for (const Maker& make : makers) {
      if (known == Known::kNothing) ClearKernelCache();
      if (known == Known::kKernels) ForgetPlans();
      const int64_t start = roofline::NowNs();
      const Result<Conv> conv = make();
      const int64_t end = roofline::NowNs();
      if (!conv.ok()) {
        state.SkipWithError(std::string(conv.status().message()).c_str());
        return;
      }
      times_us.push_back(static_cast<double>(end - start) * 1e-3);
      all_us += times_us.back();
    }
    state.SetIterationTime(all_us * 1e-6);
  }
  const uint64_t misses = jit::GetCodeCacheStats().misses - misses_before;
  state.counters["plans"] = static_cast<double>(makers.size());
  state.counters["kernels"] = static_cast<double>(misses) / static_cast<double>(times_us.size());
  state.counters["median_us"] = Median(std::move(times_us));
}

void Register(const std::string& name, std::vector<Maker> makers, Known known) {
  benchmark::RegisterBenchmark(name.c_str(),
                               [makers = std::move(makers), known](benchmark::State& state) {
                                 TimeCreation(state, makers, known);
                               })
      ->Unit(benchmark::kMicrosecond)
      ->UseManualTime();
}

// Everything around the work of a call.
void TimeOverhead(benchmark::State& state) {
  const Result<Conv> conv = Conv::Create({.ic = 1, .oc = 1, .in = {1, 1}}, {.threads = 1, .algorithm = "reference"});
  const float weight = 1.0f, src = 1.0f;
  float dst = 0.0f;
  const Result<PackedWeights> weights = conv.ok() ? conv->PackWeights(&weight, nullptr) : conv.status();
  if (!weights.ok()) {
    state.SkipWithError(std::string(weights.status().message()).c_str());
    return;
  }
  for (auto _ : state) {
    static_cast<void>(_);
    if (!conv->Run(&src, *weights, &dst).ok()) state.SkipWithError("Run failed");
  }
}

// Every kind of layer that ResNet-50 has.
constexpr std::array kResNetLayers = {
    "mb1ic3ih224oc64oh112kh7sh2ph3",  "mb1ic64ih56oc64oh56kh1ph0",
    "mb1ic64ih56oc64oh56kh3ph1",      "mb1ic64ih56oc256oh56kh1ph0",
    "mb1ic128ih56oc128oh28kh3sh2ph1", "mb1ic128ih28oc128oh28kh3ph1",
    "mb1ic512ih28oc1024oh14kh1sh2ph0", "mb1ic256ih14oc256oh14kh3ph1",
    "mb1ic512ih7oc512oh7kh3ph1",      "mb1ic2048ih7oc512oh7kh1ph0",
};

std::vector<Maker> MakersOf(Layout layout) {
  std::vector<Maker> makers;
  for (const char* layer : kResNetLayers) {
    const Result<Descriptor> descriptor = ParseDescriptor(layer);
    if (!descriptor.ok()) continue;
    ConvDesc desc = descriptor->desc;
    desc.src.layout = desc.dst.layout = layout;
    ConvOptions options;
    options.threads = 1;
    makers.push_back([desc, options] { return Conv::Create(desc, options); });
  }
  return makers;
}

}  // namespace

void RegisterCompileBenchmarks(const std::vector<GbenchCase>& cases) {
  for (const Known known : {Known::kNothing, Known::kKernels}) {
    const std::string cached = known == Known::kNothing ? "/" : "_cached/";
    for (const GbenchCase& one : cases) {
      Register("create" + cached + one.name(), {[one] { return one.Create(); }}, known);
    }
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      Register("plan" + cached + LayoutName(layout), MakersOf(layout), known);
    }
  }
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
    Register(std::string("plan_again/") + LayoutName(layout), MakersOf(layout), Known::kPlans);
  }
  benchmark::RegisterBenchmark("run/overhead", TimeOverhead);
}

}  // namespace rafter::bench
