// cli/explanation_measure.cc: runs a layer and what it could be instead, in turns.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/duel.h"
#include "bench/neighbours.h"
#include "bench/omp_team.h"
#include "bench/prepared_conv.h"
#include "cli/explanation.h"
#include "cli/interrupt.h"
#include "cli/roof_bounds.h"
#include "kernels/conv/problem.h"
#include "kernels/sizes.h"
#include "roofline/flush_to_zero.h"

namespace rafter::cli {
namespace {

constexpr int64_t kChannelStep = 16;
constexpr int64_t kAliasFloats = 512;  // pixels at multiples of 2 KiB share few sets of L1
constexpr int64_t kLargestNeighbourBytes = int64_t{1} << 30;

void SetChannelScales(ConvDesc& desc) {
  for (PostOp& op : desc.post_ops) {
    if (op.kind == PostOpKind::kChannelScale) op.scale.assign(static_cast<size_t>(desc.oc), 1.0f);
  }
}

class Neighbours {
 public:
  explicit Neighbours(const ConvDesc& desc) : desc_(desc) {}

  std::vector<NeighbourLayer> Find() {
    depthwise_ = desc_.groups > 1 && desc_.groups == desc_.ic;
    if (depthwise_) {
      FromDepthwise();
    } else {
      FromChannels();
      FromDense();
    }
    FromWindow();
    FromLayout();
    return std::move(found_);
  }

 private:
  ConvDesc Changed() const {
    ConvDesc changed = desc_;
    changed.src.strides.reset();
    changed.dst.strides.reset();
    return changed;
  }
  void Add(std::string change, ConvDesc layer) {
    SetChannelScales(layer);
    found_.push_back({std::move(change), {std::move(layer)}});
  }

  void FromDepthwise() {
    if (desc_.groups != desc_.oc) return;
    const int64_t c = desc_.groups;
    const auto with = [&](int64_t channels) {
      ConvDesc layer = Changed();
      layer.groups = layer.ic = layer.oc = channels;
      return layer;
    };
    if (c % kChannelStep != 0)
      Add(fmt::format("channels {} -> {}", c, RoundUp(c, kChannelStep)), with(RoundUp(c, kChannelStep)));
    if (c % kAliasFloats == 0) Add(fmt::format("channels {} -> {}", c, c + kChannelStep), with(c + kChannelStep));
    ConvDesc dense = Changed();
    dense.groups = 1;
    Add(fmt::format("dense {}x{} instead of depthwise", desc_.kernel.h, desc_.kernel.w), std::move(dense));
  }

  void FromChannels() {
    const int64_t g = desc_.groups, oc_g = desc_.oc / g, ic_g = desc_.ic / g;
    if (oc_g % kChannelStep != 0) {
      ConvDesc layer = Changed();
      layer.oc = RoundUp(oc_g, kChannelStep) * g;
      Add(fmt::format("oc {} -> {}", desc_.oc, layer.oc), std::move(layer));
    }
    if (ic_g % kChannelStep != 0) {
      ConvDesc layer = Changed();
      layer.ic = RoundUp(ic_g, kChannelStep) * g;
      Add(fmt::format("ic {} -> {}", desc_.ic, layer.ic), std::move(layer));
    }
    if (g > 1) {
      ConvDesc layer = Changed();
      layer.groups = 1;
      Add(fmt::format("groups {} -> 1", g), std::move(layer));
    }
  }

  // The lesson of MobileNet: a depthwise window and a 1x1 mix of the channels instead of a dense window.
  void FromDense() {
    if (desc_.groups != 1 || desc_.kernel.h * desc_.kernel.w == 1 || desc_.ic < 8) return;
    ConvDesc depthwise = Changed();
    depthwise.groups = depthwise.oc = desc_.ic;
    depthwise.post_ops.clear();
    const Result<ConvProblem> problem = Validate(depthwise);
    if (!problem.ok()) return;
    ConvDesc mix = Changed();
    mix.in = {problem->oh, problem->ow};
    mix.kernel = mix.stride = mix.dilation = {1, 1};
    mix.pad = {};
    SetChannelScales(mix);
    found_.push_back({fmt::format("depthwise {0}x{1} + 1x1 instead of dense {0}x{1}", desc_.kernel.h, desc_.kernel.w),
                      {std::move(depthwise), std::move(mix)}});
  }

  void FromWindow() {
    if (desc_.dilation.h > 1 || desc_.dilation.w > 1) {
      ConvDesc layer = Changed();  // the same output from a window without holes
      layer.dilation = {1, 1};
      const auto shrink = [](int64_t& begin, int64_t& end, int64_t by) {
        begin = std::max<int64_t>(0, begin - by / 2);
        end = std::max<int64_t>(0, end - (by - by / 2));
      };
      shrink(layer.pad.top, layer.pad.bottom, (desc_.dilation.h - 1) * (desc_.kernel.h - 1));
      shrink(layer.pad.left, layer.pad.right, (desc_.dilation.w - 1) * (desc_.kernel.w - 1));
      Add(fmt::format("dilation {} -> 1", std::max(desc_.dilation.h, desc_.dilation.w)), std::move(layer));
    }
  }

  void FromLayout() {
    const Layout layout = desc_.src.layout;
    if (layout != desc_.dst.layout || (layout != Layout::kNhwc && layout != Layout::kNchw)) return;
    ConvDesc layer = Changed();
    layer.src.layout = layer.dst.layout = layout == Layout::kNhwc ? Layout::kNchw : Layout::kNhwc;
    Add(fmt::format("layout {} -> {}", LayoutName(layout), LayoutName(layer.src.layout)), std::move(layer));
  }

  const ConvDesc& desc_;
  bool depthwise_ = false;
  std::vector<NeighbourLayer> found_;
};

double FlopsOf(const std::vector<ConvDesc>& layers) {
  double flops = 0;
  for (const ConvDesc& layer : layers) {
    const Result<ConvCost> cost = CostOf(layer);
    if (cost.ok()) flops += cost->flops_valid;
  }
  return flops;
}

bool Affordable(const std::vector<ConvDesc>& layers) {
  double bytes = 0;
  for (const ConvDesc& layer : layers) {
    const Result<ConvCost> cost = CostOf(layer);
    if (!cost.ok()) return false;
    bytes += cost->footprint_bytes;
  }
  return bytes < static_cast<double>(kLargestNeighbourBytes);
}

using Prepared = std::vector<std::unique_ptr<bench::PreparedConv>>;

// Nothing when a layer cannot be made.
Prepared Prepare(const std::vector<ConvDesc>& layers, const ConvOptions& options) {
  Prepared prepared;
  if (!Affordable(layers)) return prepared;
  for (const ConvDesc& layer : layers) {
    auto one = bench::PreparedConv::Make(layer, options);
    if (!one.ok()) return {};
    prepared.push_back(std::move(one).value());
  }
  return prepared;
}

bench::Work WorkOf(const Prepared& prepared) {
  return [&prepared] {
    for (const auto& one : prepared) one->Run();
  };
}

}  // namespace

std::vector<NeighbourLayer> NeighboursOf(const ConvDesc& desc) { return Neighbours(desc).Find(); }

void MeasureExplanation(const ExplainRequest& request, const roofline::Machine& machine, double budget_us,
                        Explanation& explanation) {
  const ConvDesc& desc = request.descriptor.desc;
  const bench::ScopedTeamSize team(request.options.threads);
  const roofline::ScopedFlushToZero flush;
  ConvOptions any = request.options;
  any.algorithm.clear();  // a neighbour may need another one
  std::vector<NeighbourLayer> layers;
  std::vector<Prepared> prepared;
  prepared.push_back(Prepare({desc}, request.options));
  if (prepared.front().empty()) return;
  for (NeighbourLayer& neighbour : NeighboursOf(desc)) {
    Prepared one = Prepare(neighbour.layers, any);
    if (one.empty()) continue;
    prepared.push_back(std::move(one));
    layers.push_back(std::move(neighbour));
  }
  std::vector<bench::Work> contenders;
  for (const Prepared& one : prepared) contenders.push_back(WorkOf(one));

  RoofBounds bounds(machine, explanation.roof_isa);
  bounds.BeginCase(explanation.isa, explanation.threads);
  const auto watch = bench::MakeSystemStopwatch(explanation.threads);
  bench::DuelOptions duel;
  duel.sampling.budget_us = budget_us;
  duel.sampling.stop = &Interrupted();
  duel.sampling.share = bounds.ProbeFor(explanation.cost, explanation.own, explanation.isa, explanation.threads,
                                        bench::CacheMode::kHot);
  const bench::CpuTimes before = bench::ReadCpuTimes();
  const bench::DuelResult result = bench::RunDuel(*watch, contenders, duel);
  MeasuredNow measured;
  measured.busy_cpus = bench::BusyCpusBetween(before, bench::ReadCpuTimes());
  measured.time = result.times[0];
  if (!(measured.time.median > 0)) return;
  const bench::BoundResult bound = bounds.EndCase(explanation.cost, explanation.own, explanation.isa,
                                                  explanation.threads, measured.time, bench::CacheMode::kHot);
  if (bound.bound_us > 0 && explanation.bound) {
    explanation.bound->bound_us = bound.bound_us;
    explanation.bound->compute_us = bound.compute_us;
    explanation.bound->memory_us = bound.memory_us;
    explanation.bound->peak_gflops = bound.peak_gflops;
    explanation.bound->ridge = bound.peak_gflops / explanation.bound->gb_per_s;
    if (explanation.own_bound && bound.own_bound_us > 0) explanation.own_bound->bound_us = bound.own_bound_us;
    const Result<ConvProblem> problem = Validate(desc);
    explanation.model = bench::ModelPlan(
        {&*problem, explanation.algorithm, explanation.isa, explanation.threads, request.options.accuracy}, bound);
  }
  const double flops = FlopsOf({desc});
  for (size_t i = 0; i < layers.size(); ++i) {
    const bench::Comparison& comparison = result.comparisons[i + 1];
    measured.neighbours.push_back({layers[i].change, result.times[i + 1].median,
                                   flops > 0 ? FlopsOf(layers[i].layers) / flops : 1, comparison.speedup,
                                   comparison.ci_low, comparison.ci_high});
  }
  explanation.measured = std::move(measured);
}

}  // namespace rafter::cli
