// bench/plan_model.cc: the what-ifs, in the order in which they are taken away.
#include "bench/plan_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "jit/isa.h"
#include "kernels/conv/dispatch.h"
#include "kernels/sizes.h"
#include "rafter/cost.h"

namespace rafter::bench {
namespace {

constexpr double kEndless = 1e9;
constexpr double kSmallShare = 0.005;
constexpr const char* kForkJoin = "fork-join";
// Cold modes, fitted to 34 shapes of ResNet-50, MobileNet and small ones (Zen 3, AVX2, 1 thread): what a call waits for
// before anything runs ahead, and the rate of flushed activations where a reader of flushed lines was not measured.
// Some of them are stores, which nobody waits for: the rate is that of the reader by so much more.
constexpr double kFirstLinesUs = 1, kColdGbPerS = 14, kBesideStores = 1.1;
constexpr double kExposedColdWeights = 0.5;

// What a loss is made of. Arithmetic waits for none of what is outside of it: calls, copies, waking a team.
enum class Kind : uint8_t { kOutside, kTraffic, kPorts, kLanes, kTiles };

// The predictions are made for choosing among tiles and algorithms: they charge loads, prologues and stores as if
// nothing overlapped, while out-of-order execution hides most of them behind the FMAs of the neighbouring tile. These
// shares of the predicted losses were seen in measured times at the core's own share (Zen 3, AVX2, 1 thread, public
// shapes in NHWC and NCHW, three runs: 86 % of 1,015 cases lie within 15 %; with shares fitted to two of the runs, 87 %
// of 208 in NHWC and 86 % in NCHW of the third).
struct Exposed {
  std::string_view family;
  double traffic, ports, lanes, tiles;
  // Of the time that compulsory bytes take where arithmetic binds: what it does not hide.
  double from_l3 = 0, from_memory = 0;
};
// Rows of pixels fill the lanes.
constexpr Exposed kDepthwiseNchw = {"depthwise", 1, 1, 0.7, 0.9, 0.5, 0.5};
constexpr Exposed kExposed[] = {
    {"pointwise", 0, 0.2, 1, 0.4, 0, 0.5},
    {"direct", 0, 0.2, 1, 0.6, 1, 0.5},
    {"splitk", 0.3, 0.5, 0.9, 0.2},
    {"winograd", 0.8, 0.6, 0.7, 0.7, 0, 1},
    {"gemm", 0.8, 0, 1, 0.3, 0, 0.5},
    {"widthwise", 0, 0.5, 0.5, 0.5},
    {"depthwise", 0.65, 0.65, 0.65, 0.65},
};

Exposed ExposedOf(std::string_view algorithm, Layout layout) {
  if (algorithm == kDepthwiseNchw.family && layout == Layout::kNchw) return kDepthwiseNchw;
  for (const Exposed& one : kExposed) {
    if (algorithm.starts_with(one.family)) return one;
  }
  return {algorithm, 1, 1, 1, 1};
}

double ShareOf(const Exposed& exposed, Kind kind) {
  switch (kind) {
    case Kind::kOutside:
      break;
    case Kind::kTraffic:
      return exposed.traffic;
    case Kind::kPorts:
      return exposed.ports;
    case Kind::kLanes:
      return exposed.lanes;
    case Kind::kTiles:
      return exposed.tiles;
  }
  return 1;
}

class WhatIf {
 public:
  WhatIf(const PlanModelRequest& request, BoundResult bound)
      : request_(request),
        bound_(std::move(bound)),
        machine_(AtPeak(CurrentMachineModel(), request.isa, request.threads, bound_.peak_gflops)),
        exposed_(ExposedOf(request.algorithm, request.problem->desc.src.layout)) {
    for (const ConvAlgorithm& one : ConvAlgorithms()) {
      if (request.algorithm == one.name) algorithm_ = &one;
    }
  }

  PlanModel Run() {
    left_ = algorithm_ != nullptr ? Predict(*request_.problem, algorithm_) : 0;
    if (!(left_ > 0)) return {};
    const double predicted = left_;
    TakeCopies();
    TakeTeam();
    TakeMemory();
    TakeLoads();
    TakeChains();
    TakeLanes();
    // Work that can wait for neither memory nor lanes: prologues and edges of tiles, loops, stores.
    if (bound_.own_bound_us > 0) {
      Take(Kind::kTiles, "transforms", left_ - bound_.compute_us,
           "transforms of tiles, their edges and stores, loop overhead");
    } else {
      Take(Kind::kTiles, "tiles and loops", left_ - bound_.compute_us,
           "prologues, edges and stores of the tiles, loop overhead");
    }
    return Assemble(predicted);
  }

 private:
  // Microseconds on machine_; 0 where the algorithm refuses.
  double Predict(const ConvProblem& problem, const ConvAlgorithm* algorithm) const {
    PlanContext context;
    context.isa = request_.isa;
    context.threads = request_.threads;
    context.accuracy = request_.accuracy;
    context.machine = &machine_;
    const Offer offer = algorithm->consider(problem, context);
    return offer.refusal.empty() ? offer.predicted_us : 0;
  }
  double Predict(const ConvProblem& problem) const { return Predict(problem, algorithm_); }

  void Take(Kind kind, const char* name, double us, std::string why) {
    if (!(us > 0)) return;
    us = std::min(us, left_);
    left_ -= us;
    Add(kind, name, us, std::move(why));
  }
  void Add(Kind kind, const char* name, double us, std::string why) {
    parts_.push_back({kind, {name, us, std::move(why)}});
  }

  // What idealising the machine saves. The idealised machine stays.
  void TakeDifference(Kind kind, const char* name, std::string why) {
    const double better = Predict(*request_.problem);
    if (better > 0) Take(kind, name, left_ - better, std::move(why));
  }

  // An algorithm behind copies to NHWC, against the same without them.
  void TakeCopies() {
    const std::string& name = request_.algorithm;
    const size_t plus = name.find("+reorder");
    if (plus == std::string::npos) return;
    ConvDesc desc = request_.problem->desc;
    desc.src = desc.dst = {Layout::kNhwc, {}};
    Result<ConvProblem> plain = Validate(desc);
    if (!plain.ok()) return;
    for (const ConvAlgorithm& one : ConvAlgorithms()) {
      if (name.substr(0, plus) != one.name) continue;
      const double better = Predict(*plain, &one);
      if (!(better > 0)) return;
      Take(Kind::kOutside, "packing", left_ - better,
           fmt::format("tensors in {} are copied to and from NHWC", LayoutName(request_.problem->desc.src.layout)));
      plain_ = std::move(plain).value();
      request_.problem = &plain_;
      algorithm_ = &one;
      return;
    }
  }

  void TakeTeam() {
    const double fork_join = machine_.fork_join_us;
    machine_.fork_join_us = 0;
    if (request_.threads > 1) {
      TakeDifference(Kind::kOutside, kForkJoin,
                     fmt::format("waking and joining {} threads takes {:.2g} us", request_.threads, fork_join));
    }
    const double call = machine_.call_us;
    machine_.call_us = 0;
    TakeDifference(Kind::kOutside, "call", fmt::format("checks and dispatch of a call take {:.2g} us", call));
  }

  void TakeMemory() {
    machine_.l2_bytes_per_cycle = machine_.l3_bytes_per_cycle = machine_.dram_bytes_per_cycle = kEndless;
    TakeDifference(Kind::kTraffic, "cache traffic",
                   "tiles read data from L2, L3 or memory that arithmetic does not hide");
  }

  void TakeLoads() {
    const int ports = machine_.load_ports;
    machine_.load_ports = 1000;
    TakeDifference(Kind::kPorts, "loads per FMA",
                   fmt::format("the tile needs more loads than {} ports deliver beside its FMAs", ports));
  }

  void TakeChains() {
    const int latency = machine_.fma_latency;
    machine_.fma_latency = 1;
    TakeDifference(Kind::kPorts, "FMA chains",
                   fmt::format("fewer independent sums than latency {} x {} pipes need", latency, machine_.fma_pipes));
  }

  // Time of the problem with `desc`, per FLOP of ours.
  double TimeWith(const ConvDesc& desc) const {
    ConvDesc dense = desc;
    dense.src.strides.reset();
    dense.dst.strides.reset();
    Result<ConvProblem> problem = Validate(dense);
    const Result<ConvCost> theirs = rafter::CostOf(dense), ours = rafter::CostOf(request_.problem->desc);
    if (!problem.ok() || !theirs.ok() || !ours.ok() || !(theirs->flops_valid > 0)) return 0;
    return Predict(*problem) * ours->flops_valid / theirs->flops_valid;
  }

  // Lanes hold channels or neighbouring pixels: whichever rounding up helps more.
  void TakeLanes() {
    const ConvDesc& desc = request_.problem->desc;
    const int64_t lanes = std::max(1, jit::GetIsaInfo(request_.isa).vec_lanes());
    const int64_t oc_g = desc.oc / desc.groups;
    ConvDesc channels = desc;
    const bool depthwise = desc.groups == desc.ic && desc.groups > 1;
    if (depthwise) {
      const int64_t multiplier = oc_g;
      channels.groups = channels.ic = RoundUp(desc.groups, lanes);
      channels.oc = channels.groups * multiplier;
      for (PostOp& op : channels.post_ops) op.scale.resize(op.scale.empty() ? 0 : static_cast<size_t>(channels.oc));
    } else {
      channels.oc = RoundUp(oc_g, lanes) * desc.groups;
      for (PostOp& op : channels.post_ops) op.scale.resize(op.scale.empty() ? 0 : static_cast<size_t>(channels.oc));
    }
    ConvDesc rows = desc;
    const int64_t ow = request_.problem->ow;
    rows.in.w += (RoundUp(ow, lanes) - ow) * desc.stride.w;
    const double by_channels = channels.oc != desc.oc ? TimeWith(channels) : 0;
    const double by_rows = rows.in.w != desc.in.w ? TimeWith(rows) : 0;
    const double gain_channels = by_channels > 0 ? left_ - by_channels : 0;
    const double gain_rows = by_rows > 0 ? left_ - by_rows : 0;
    if (gain_channels >= gain_rows && request_.algorithm == "grouped" && oc_g < lanes) {
      Take(Kind::kLanes, "small groups", gain_channels,
           fmt::format("{} channels per group: groups share vectors of {} lanes, inputs are spread by shuffles", oc_g,
                       lanes));
    } else if (gain_channels >= gain_rows) {
      const int64_t used = depthwise ? desc.groups : oc_g;
      Take(Kind::kLanes, "idle lanes", gain_channels,
           fmt::format("{} channels{} fill {:.4g} of {} vectors of {} lanes", used,
                       desc.groups > 1 && !depthwise ? " per group" : "",
                       static_cast<double>(used) / static_cast<double>(lanes), RoundUp(used, lanes) / lanes, lanes));
    } else {
      Take(Kind::kLanes, "idle lanes", gain_rows,
           fmt::format("rows of {} pixels fill {:.4g} of {} vectors of {} lanes", ow,
                       static_cast<double>(ow) / static_cast<double>(lanes), RoundUp(ow, lanes) / lanes, lanes));
    }
  }

  double SumOf(bool outside) const {
    double sum = 0;
    for (const Part& part : parts_) sum += (part.kind == Kind::kOutside) == outside ? part.loss.us : 0;
    return sum;
  }

  // The sum of the losses becomes model - bound: where memory binds, losses of arithmetic hide behind it.
  PlanModel Assemble(double predicted) {
    const double outside = SumOf(true), inside = SumOf(false);
    const double excess = std::max(0.0, predicted - outside - bound_.bound_us);
    const double scale = inside > 0 ? excess / inside : 0;
    for (Part& part : parts_) {
      if (part.kind != Kind::kOutside) part.loss.us *= scale * ShareOf(exposed_, part.kind);
    }
    AddOthers();
    AddStreams();
    PlanModel model;
    model.model_us = bound_.bound_us + SumOf(true) + SumOf(false);
    double small = 0;
    for (Part& part : parts_) {
      if (part.loss.us < kSmallShare * model.model_us) {
        small += part.loss.us;
      } else {
        model.losses.push_back(std::move(part.loss));
      }
    }
    std::stable_sort(model.losses.begin(), model.losses.end(),
                     [](const Loss& a, const Loss& b) { return a.us > b.us; });
    if (small > 0) model.losses.push_back({"small losses", small, "each below half a percent"});
    return model;
  }

  // What others take of the cores: arithmetic and all that surrounds it take so much longer; transfers and waking a
  // team do not.
  void AddOthers() {
    constexpr double kNoticed = 0.995;
    const double share = bound_.core_share;
    if (!(share > 0) || share > kNoticed) return;
    double slowed = 0;
    for (const Part& part : parts_) slowed += part.loss.name != kForkJoin ? part.loss.us : 0;
    const double us = std::max(0.0, bound_.compute_us / share - bound_.bound_us) + slowed * (1 / share - 1);
    if (!(us > 0)) return;
    Add(Kind::kTraffic, kSharedCore, us,
        fmt::format("beside the case an FMA with a load ran at {:.0f} % of the day's best: others use the core",
                    share * 100));
  }

  // A roof is the larger one of two times, as if the smaller one hid behind it; of long streams a part does not.
  void AddStreams() {
    const double activations = request_.mode == CacheMode::kCold ? AddColdStart() : 0;
    if (bound_.binding != "compute") return;
    double share = bound_.data_level == "DRAM" ? exposed_.from_memory
                   : bound_.data_level == "L3" ? exposed_.from_l3
                                               : 0;
    // Weights are read in one sweep.
    if (request_.mode != CacheMode::kHot) share = std::min(share, kExposedColdWeights);
    const double us = share * bound_.memory_us * (1 - activations);
    if (!(us > 0)) return;
    Add(Kind::kTraffic, "streams", us,
        fmt::format("tensors from {} take {:.3g} us, of which arithmetic does not hide {:.0f} %", bound_.data_level,
                    bound_.memory_us, share * 100));
  }

  // Activations that are flushed; returns their part of the compulsory bytes.
  double AddColdStart() {
    const Result<ConvCost> cost = rafter::CostOf(request_.problem->desc);
    if (!cost.ok() || !(cost->bytes > 0)) return 0;
    const double bytes = cost->src_bytes + cost->dst_bytes + cost->residual_bytes, part = bytes / cost->bytes;
    const double rate = request_.cold_gb_per_s > 0 ? request_.cold_gb_per_s * kBesideStores : kColdGbPerS;
    // Where memory binds, its bound has charged them already.
    const double charged = bound_.binding == "compute" ? 0 : bound_.memory_us * part;
    const double us = kFirstLinesUs + bytes / (rate * 1000) - charged;
    if (us > 0) {
      Add(Kind::kOutside, "cold start", us,
          fmt::format("{:.3g} KB of activations come from memory at {:.3g} GB/s: first lines of rows are waited for",
                      bytes / 1024, rate));
    }
    return part;
  }

  struct Part {
    Kind kind;
    Loss loss;
  };

  PlanModelRequest request_;
  BoundResult bound_;
  MachineModel machine_;
  Exposed exposed_;
  const ConvAlgorithm* algorithm_ = nullptr;
  ConvProblem plain_;
  double left_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

MachineModel AtPeak(const MachineModel& model, Isa isa, int threads, double peak_gflops) {
  MachineModel scaled = model;
  const double now = model.PeakFlopsPerUs(isa) * threads;
  if (now > 0 && peak_gflops > 0) scaled.clock_ghz *= peak_gflops * 1e3 / now;
  return scaled;
}

PlanModel ModelPlan(const PlanModelRequest& request, const BoundResult& bound) {
  if (!(bound.bound_us > 0) || request.isa == Isa::kNone) return {};
  BoundResult at = bound;
  if (at.own_bound_us > 0) at.bound_us = at.compute_us = at.own_bound_us, at.binding = at.own_binding;
  return WhatIf(request, std::move(at)).Run();
}

}  // namespace rafter::bench
