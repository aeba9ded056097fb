// bench/gbench_operators.cc: one call of each kernel family of the operators beside convolution, warm, on one thread:
// element-wise chains, pooling, softmax. The copies (reorder, concat, pad) and comparisons with other libraries:
// `rafter bench`.
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/gbench_cases.h"
#include "bench/tensor_buffer.h"
#include "kernels/cost/operator_cost.h"
#include "roofline/machine.h"
#include "roofline/model.h"

namespace rafter::bench {
namespace {

constexpr int64_t kBatch = 1, kChannels = 64, kSize = 56;

// Makes an operator for the instruction set that the process is capped to, as a callable that runs it.
using Call = std::function<Status(const float* src, float* dst)>;
struct OperatorCase {
  std::string family, what;
  Result<OperatorCost> cost;
  std::function<Result<Call>()> prepare;

  std::string name(Isa isa) const { return "kernel/" + family + "/" + IsaName(isa) + "/" + what; }
};

template <typename Operator, typename Desc>
OperatorCase MakeCase(std::string family, std::string what, const Desc& desc) {
  const auto prepare = [desc]() -> Result<Call> {
    Result<Operator> made = Operator::Create(desc, {.threads = 1});
    if (!made.ok()) return made.status();
    auto op = std::make_shared<Operator>(std::move(made).value());
    return Call([op](const float* src, float* dst) { return op->Run(src, dst); });
  };
  return {std::move(family), std::move(what), CostOf(desc), prepare};
}

std::vector<OperatorCase> OperatorCases() {
  std::vector<OperatorCase> cases;
  for (const EltwiseOp& op : {EltwiseOp::Relu(), EltwiseOp::Exp(), EltwiseOp::Tanh(), EltwiseOp::Gelu(),
                              EltwiseOp::ChannelLinear(std::vector<float>(kChannels, 2.0f),
                                                       std::vector<float>(kChannels, 1.0f))}) {
    const EltwiseDesc desc{.n = kBatch, .c = kChannels, .h = kSize, .w = kSize, .ops = {op}};
    cases.push_back(MakeCase<Eltwise>("eltwise", EltwiseName(op.kind), desc));
  }
  for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      PoolingDesc desc{.kind = kind, .n = kBatch, .c = kChannels, .in = {kSize, kSize}, .kernel = {3, 3},
                       .stride = {2, 2}, .pad = {1, 1, 1, 1}};
      desc.src.layout = desc.dst.layout = layout;
      const bool channels = layout == Layout::kNhwc;
      cases.push_back(MakeCase<Pooling>(channels ? "pool_channels" : "pool_columns",
                                        std::string(PoolingName(kind)) + "_3x3s2", desc));
    }
    cases.push_back(MakeCase<Pooling>("pool_plane", std::string(PoolingName(kind)) + "_global",
                                      PoolingDesc::Global(kind, kBatch, kChannels, {kSize, kSize}, Layout::kNchw)));
  }
  cases.push_back(MakeCase<Pooling>("pool_planes", "average_global_7x7",
                                    PoolingDesc::Global(PoolingKind::kAverage, kBatch, 512, {7, 7}, Layout::kNchw)));
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    SoftmaxDesc desc{.n = kBatch, .c = kChannels, .h = kSize, .w = kSize};
    desc.src.layout = desc.dst.layout = layout;
    cases.push_back(MakeCase<Softmax>(layout == Layout::kNhwc ? "softmax_channels" : "softmax_pixels",
                                      LayoutName(layout), desc));
  }
  return cases;
}

double BoundUs(const OperatorCost& cost, Isa isa) {
  const roofline::Machine* machine = MachineWithRoofs();
  if (machine == nullptr) return 0;
  const BoundTerms terms = BoundTermsOf(cost);
  const roofline::Work work{terms.flops, terms.load_bytes, terms.store_bytes};
  const Result<roofline::Bound> bound = roofline::BoundOf(*machine, isa, 1, work);
  return bound.ok() ? bound->bound_us : 0;
}

void RunOperator(benchmark::State& state, const OperatorCase& one, Isa isa) {
  SetMaxIsa(isa);
  const Result<Call> call = one.prepare();
  SetMaxIsa(Isa::kAvx512);
  TensorBuffer src(kBatch * kChannels * kSize * kSize), dst(src.span().size());
  Status status = !call.ok() ? call.status() : !one.cost.ok() ? one.cost.status() : Status();
  if (src.data() == nullptr || dst.data() == nullptr) status = Status::OutOfMemory();
  if (!status.ok()) {
    state.SkipWithError(std::string(status.message()).c_str());
    return;
  }
  FillRandom(src.span(), 1);
  const double bound_us = BoundUs(*one.cost, isa);
  for (auto _ : state) {
    static_cast<void>(_);
    status = (*call)(src.data(), dst.data());
    benchmark::DoNotOptimize(status);
  }
  using benchmark::Counter;
  state.counters["bound_us"] = bound_us;
  state.counters["%bound"] = Counter(bound_us * 1e-6 * 100, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = Counter(one.cost->bytes * 1e-9, Counter::kIsIterationInvariantRate);
}

}  // namespace

void RegisterOperatorBenchmarks() {
  for (const OperatorCase& one : OperatorCases()) {
    for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
      if (isa > EffectiveIsa()) continue;
      benchmark::RegisterBenchmark(one.name(isa).c_str(),
                                   [one, isa](benchmark::State& state) { RunOperator(state, one, isa); })
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    }
  }
}

}  // namespace rafter::bench
