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

// The predictions are made for choosing among tiles and algorithms: they charge loads, prologues and stores as if
// nothing overlapped, while out-of-order execution hides most of them behind the FMAs of the neighbouring tile. This
// share of the predicted excess over the bound was seen in measured times at the core's own share (Zen 3, AVX2, 1
// thread, every fourth of the public shapes: 107 in NHWC, where with these values 9 of 10 cases lie within 15 %, and
// 104 in NCHW, where 8 of 10 do).
struct Exposed {
  std::string_view family;
  double share;
  // Setting up one row of the window for one row of the output, which predictions leave out: of a tiny image it is most
  // of the time.
  double row_us = 0;
  double nchw_share = 0;  // where rows of pixels fill the lanes instead of channels; 0: the same share
};
constexpr Exposed kExposed[] = {{"pointwise", 0.2}, {"direct", 0.24},    {"splitk", 0.2, 0.01},
                                {"winograd", 0.6},  {"gemm", 0.3},       {"widthwise", 0.72},
                                {"depthwise", 0.65, 0, 0.85}};

Exposed ExposedOf(std::string_view algorithm) {
  for (const Exposed& one : kExposed) {
    if (algorithm.starts_with(one.family)) return one;
  }
  return {algorithm, 1};
}

class WhatIf {
 public:
  WhatIf(const PlanModelRequest& request, BoundResult bound)
      : request_(request),
        bound_(std::move(bound)),
        machine_(AtPeak(CurrentMachineModel(), request.isa, request.threads, bound.peak_gflops)) {
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
      Take("transforms", left_ - bound_.compute_us, "transforms of tiles, their edges and stores, loop overhead");
    } else {
      Take("tiles and loops", left_ - bound_.compute_us, "prologues, edges and stores of the tiles, loop overhead");
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

  void Take(const char* name, double us, std::string why) {
    if (!(us > 0)) return;
    us = std::min(us, left_);
    left_ -= us;
    losses_.push_back({name, us, std::move(why)});
  }

  // What idealising the machine saves. The idealised machine stays.
  void TakeDifference(const char* name, std::string why) {
    const double better = Predict(*request_.problem);
    if (better > 0) Take(name, left_ - better, std::move(why));
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
      Take("packing", left_ - better,
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
      TakeDifference("fork-join",
                     fmt::format("waking and joining {} threads takes {:.2g} us", request_.threads, fork_join));
    }
    const double call = machine_.call_us;
    machine_.call_us = 0;
    TakeDifference("call", fmt::format("checks and dispatch of a call take {:.2g} us", call));
    const double rows_us = ExposedOf(request_.algorithm).row_us * WindowRows() / request_.threads;
    if (!(rows_us > 0)) return;
    losses_.push_back({"rows", rows_us, fmt::format("{:.0f} rows of windows are set up", WindowRows())});
  }

  // Rows of the window inside of the image, over all output rows.
  double WindowRows() const {
    const ConvDesc& d = request_.problem->desc;
    double rows = 0;
    constexpr int64_t kMostRows = 100'000;  // beyond, rows are nothing beside the rest
    for (int64_t oh = 0; oh < std::min(request_.problem->oh, kMostRows); ++oh) {
      const TapRange taps = ValidTaps(oh, d.in.h, d.kernel.h, d.stride.h, d.dilation.h, d.pad.top);
      rows += static_cast<double>(taps.end - taps.begin);
    }
    return rows * static_cast<double>(d.n);
  }

  void TakeMemory() {
    machine_.l2_bytes_per_cycle = machine_.l3_bytes_per_cycle = machine_.dram_bytes_per_cycle = kEndless;
    TakeDifference("cache traffic", "tiles read data from L2, L3 or memory that arithmetic does not hide");
  }

  void TakeLoads() {
    const int ports = machine_.load_ports;
    machine_.load_ports = 1000;
    TakeDifference("loads per FMA",
                   fmt::format("the tile needs more loads than {} ports deliver beside its FMAs", ports));
  }

  void TakeChains() {
    const int latency = machine_.fma_latency;
    machine_.fma_latency = 1;
    TakeDifference("FMA chains",
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
      Take("small groups", gain_channels,
           fmt::format("{} channels per group: groups share vectors of {} lanes, inputs are spread by shuffles", oc_g,
                       lanes));
    } else if (gain_channels >= gain_rows) {
      const int64_t used = depthwise ? desc.groups : oc_g;
      Take("idle lanes", gain_channels,
           fmt::format("{} channels{} fill {:.4g} of {} vectors of {} lanes", used,
                       desc.groups > 1 && !depthwise ? " per group" : "",
                       static_cast<double>(used) / static_cast<double>(lanes), RoundUp(used, lanes) / lanes, lanes));
    } else {
      Take("idle lanes", gain_rows,
           fmt::format("rows of {} pixels fill {:.4g} of {} vectors of {} lanes", ow,
                       static_cast<double>(ow) / static_cast<double>(lanes), RoundUp(ow, lanes) / lanes, lanes));
    }
  }

  static bool Outside(const Loss& loss) {  // what no roof hides
    return loss.name == "packing" || loss.name == "call" || loss.name == "rows" || loss.name == "fork-join";
  }

  double RowsUs() const {
    for (const Loss& loss : losses_) {
      if (loss.name == "rows") return loss.us;
    }
    return 0;
  }

  // The sum of the losses becomes model - bound: where memory binds, losses of arithmetic hide behind it.
  PlanModel Assemble(double predicted) {
    double outside = 0, inside = 0;
    for (const Loss& loss : losses_) (Outside(loss) ? outside : inside) += loss.us;
    // Rows were not predicted.
    const double known = outside - RowsUs();
    const Exposed exposed = ExposedOf(request_.algorithm);
    const bool rows = exposed.nchw_share > 0 && request_.problem->desc.src.layout == Layout::kNchw;
    const double share = rows ? exposed.nchw_share : exposed.share;
    const double excess = std::max(0.0, predicted - known - bound_.bound_us) * share;
    const double scale = inside > 0 ? excess / inside : 0;
    for (Loss& loss : losses_) {
      if (!Outside(loss)) loss.us *= scale;
    }
    PlanModel model;
    model.model_us = bound_.bound_us + outside + (inside > 0 ? excess : 0) + TakeOthers(inside > 0 ? excess : 0);
    double small = 0;
    for (Loss& loss : losses_) {
      if (loss.us < kSmallShare * model.model_us) {
        small += loss.us;
      } else {
        model.losses.push_back(std::move(loss));
      }
    }
    std::stable_sort(model.losses.begin(), model.losses.end(),
                     [](const Loss& a, const Loss& b) { return a.us > b.us; });
    if (small > 0) model.losses.push_back({"small losses", small, "each below half a percent"});
    return model;
  }

  // What others take of the cores: arithmetic and all that surrounds it take so much longer; transfers do not.
  double TakeOthers(double excess) {
    constexpr double kNoticed = 0.995;
    const double share = bound_.core_share;
    if (!(share > 0) || share > kNoticed) return 0;
    const double us = std::max(0.0, bound_.compute_us / share - bound_.bound_us) + excess * (1 / share - 1);
    if (us > 0) {
      losses_.push_back({"shared core", us,
                         fmt::format("beside the case an FMA with a load ran at {:.0f} % of the day's best: others use "
                                     "the core", share * 100)});
    }
    return us;
  }

  PlanModelRequest request_;
  BoundResult bound_;
  MachineModel machine_;
  const ConvAlgorithm* algorithm_ = nullptr;
  ConvProblem plain_;
  double left_ = 0;
  std::vector<Loss> losses_;
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
  if (at.own_bound_us > 0) at.bound_us = at.compute_us = at.own_bound_us, at.memory_us = 0;
  return WhatIf(request, std::move(at)).Run();
}

}  // namespace rafter::bench
