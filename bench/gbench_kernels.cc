// bench/gbench_kernels.cc: one call of each kernel family, warm, on one thread. For comparisons
// with other libraries use `rafter bench --vs`: Google Benchmark cannot pair two of them.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/gbench_cases.h"
#include "bench/tensor_buffer.h"
#include "kernels/conv/problem.h"
#include "rafter/cost.h"
#include "rafter/threads.h"
#include "roofline/fma_probe.h"
#include "roofline/machine.h"
#include "roofline/model.h"

namespace rafter::bench {
namespace {

constexpr double kProbeUs = 1000;

// The bound of a case, with the peak of this moment. 0: unknown.
double BoundUs(const ConvCost& cost, Isa isa) {
  const roofline::Machine* machine = MachineWithRoofs();
  if (machine == nullptr) return 0;
  if (isa == Isa::kNone) isa = EffectiveIsa();
  const Result<roofline::FmaProbe> probe = roofline::FmaProbe::Create(isa);
  const double peak = probe.ok() ? probe->Measure(kProbeUs) : 0;
  const Result<roofline::Bound> bound =
      roofline::BoundOf(*machine, isa, 1, roofline::WorkOf(cost), peak);
  return bound.ok() ? bound->bound_us : 0;
}

// Everything that one timed call needs.
class PreparedCall {
 public:
  Status Prepare(const GbenchCase& one) {
    Result<ConvProblem> problem = Validate(one.desc);
    if (!problem.ok()) return problem.status();
    Result<Conv> conv = one.Create();
    if (!conv.ok()) return conv.status();
    conv_ = std::make_unique<Conv>(std::move(conv).value());
    const ConvDesc& desc = one.desc;
    // The tensors are dense: the stride of an image is its size, lanes of blocked layouts included.
    src_ = TensorBuffer(static_cast<size_t>(desc.n * problem->src.n));
    dst_ = TensorBuffer(static_cast<size_t>(desc.n * problem->dst.n));
    TensorBuffer weights(
        static_cast<size_t>(desc.oc * problem->ic_g * desc.kernel.h * desc.kernel.w));
    scratch_ = TensorBuffer(conv_->scratch_bytes() / sizeof(float) + 1);
    for (const TensorBuffer* buffer : {&src_, &dst_, &weights, &scratch_}) {
      if (buffer->data() == nullptr) return Status::OutOfMemory();
    }
    FillRandom(src_.span(), 1);
    FillRandom(weights.span(), 2);
    Result<PackedWeights> packed = conv_->PackWeights(weights.data(), nullptr);
    if (!packed.ok()) return packed.status();
    packed_ = std::move(packed).value();
    return Run();
  }

  Status Run() noexcept {
    RunOptions options;
    options.scratch = std::as_writable_bytes(scratch_.span());
    return conv_->Run(src_.data(), packed_, dst_.data(), options);
  }

 private:
  std::unique_ptr<Conv> conv_;
  TensorBuffer src_, dst_, scratch_;
  PackedWeights packed_;
};

void RunKernel(benchmark::State& state, const GbenchCase& one) {
  PreparedCall call;
  const Result<ConvCost> cost = CostOf(one.desc);
  Status status = cost.ok() ? call.Prepare(one) : cost.status();
  if (!status.ok()) {
    state.SkipWithError(std::string(status.message()).c_str());
    return;
  }
  const double bound_us = BoundUs(*cost, one.isa);
  for (auto _ : state) {
    static_cast<void>(_);
    status = call.Run();
    benchmark::DoNotOptimize(status);
  }
  using benchmark::Counter;
  state.counters["bound_us"] = bound_us;
  state.counters["%bound"] = Counter(bound_us * 1e-6 * 100, Counter::kIsIterationInvariantRate);
  state.counters["GFLOP/s"] = Counter(cost->flops_valid * 1e-9, Counter::kIsIterationInvariantRate);
}

}  // namespace

const roofline::Machine* MachineWithRoofs() {
  static const Result<roofline::LocalMachineResult> local = [] {
    roofline::LocalMachineOptions options;
    options.quick = true;
    return roofline::LocalMachine(options);
  }();
  return local.ok() ? &local->machine : nullptr;
}

void RegisterKernelBenchmarks(const std::vector<GbenchCase>& cases) {
  for (const GbenchCase& one : cases) {
    benchmark::RegisterBenchmark(("kernel/" + one.name()).c_str(),
                                 [one](benchmark::State& state) { RunKernel(state, one); })
        ->Unit(benchmark::kMicrosecond)
        ->UseRealTime();
  }
}

}  // namespace rafter::bench
