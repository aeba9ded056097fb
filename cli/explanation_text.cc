// cli/explanation_text.cc: an explanation for people, on one screen; explanation_json.cc writes the same for programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include "bench/neighbours.h"
#include "cli/explanation.h"
#include "jit/isa.h"

namespace rafter::cli {
namespace {

double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

std::string Sizes(int64_t a, int64_t b) { return a == b ? fmt::format("{}", a) : fmt::format("{}x{}", a, b); }

class TextWriter {
 public:
  TextWriter(const Explanation& explanation, bool verbose) : e_(explanation), verbose_(verbose) {}

  std::string Write() {
    WriteLayer();
    if (verbose_) WritePlan();
    WriteCost();
    WriteRoofline();
    WriteThreeNumbers();
    WriteCandidates();
    if (const int lanes = jit::GetIsaInfo(e_.isa).vec_lanes(); lanes > 0) {
      const std::string tile = DrawTile(e_.kernel, e_.desc, lanes);
      if (!tile.empty()) text_ += "\ntile\n" + tile;
    }
    WriteLosses();
    WriteNeighbours();
    if (e_.dense) WriteDense(*e_.dense);
    return std::move(text_);
  }

 private:
  void Line(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "  {:<20}{}\n", name, value);
  }

  void WriteLayer() {
    const ConvDesc& d = e_.desc;
    fmt::format_to(std::back_inserter(text_), "{}{}\n", e_.descriptor, e_.name.empty() ? "" : "  (" + e_.name + ")");
    fmt::format_to(
        std::back_inserter(text_),
        "  {} channels of {}x{}, {} image{}, kernel {}x{}, stride {}, dilation {}, {}, {}, {} thread{}\n",
        d.groups == d.ic && d.groups > 1 ? fmt::format("depthwise: {}", d.ic) : fmt::format("{} -> {}", d.ic, d.oc),
        d.in.h, d.in.w, d.n, d.n == 1 ? "" : "s", d.kernel.h, d.kernel.w, Sizes(d.stride.h, d.stride.w),
        Sizes(d.dilation.h, d.dilation.w), d.groups > 1 ? fmt::format("{} groups", d.groups) : std::string("no groups"),
        e_.layout, e_.threads, e_.threads == 1 ? "" : "s");
  }

  void WritePlan() {
    text_ += "\nplan\n";
    for (std::string_view rest = e_.plan_text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1);
      text_ += "  ";
      text_ += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
  }

  void WriteCost() {
    const ConvCost& cost = e_.cost;
    text_ += "\ncost\n";
    const double share = cost.flops_nominal > 0 ? cost.flops_valid / cost.flops_nominal : 1;
    Line("FLOPs, valid taps", fmt::format("{:.6g}  (1 FMA = 2; bias and post-ops {:.4g} more, in no bound)",
                                          cost.flops_valid, cost.flops_extra));
    Line("FLOPs, nominal", fmt::format("{:.6g}  ({:.1f} % of them on real inputs, the rest on padding)",
                                       cost.flops_nominal, share * 100));
    Line("parameters", fmt::format("{}", cost.parameters));
    Line("bytes", fmt::format("{:.6g}  = source {:.4g} + weights {:.4g} + destination {:.4g}{}; footprint {:.4g}",
                              cost.bytes, cost.src_bytes, cost.weights_bytes, cost.dst_bytes,
                              cost.residual_bytes > 0 ? fmt::format(" + residuals {:.4g}", cost.residual_bytes) : "",
                              cost.footprint_bytes));
    std::string intensity = fmt::format("{:.4g} FLOP/byte by valid taps", cost.intensity);
    if (cost.bytes > 0) {
      intensity += fmt::format(" ({:.4g} with bias), {:.4g} by nominal taps and bias",
                               (cost.flops_valid + e_.bias_flops) / cost.bytes,
                               (cost.flops_nominal + e_.bias_flops) / cost.bytes);
    }
    Line("intensity", intensity);
  }

  void WriteRoofline() {
    const std::string part =
        e_.whole_machine ? "the whole machine"
                         : fmt::format("{}, {} thread{}", IsaName(e_.roof_isa), e_.threads, e_.threads == 1 ? "" : "s");
    fmt::format_to(std::back_inserter(text_), "\nroofline ({}, {})\n", e_.machine.empty() ? "this machine" : e_.machine,
                   part);
    if (!e_.bound) {
      Line("bound", "unknown: " + e_.bound_error);
      return;
    }
    const roofline::Bound& bound = *e_.bound;
    if (e_.desc.n == 0) {
      Line("no work", "a batch of 0: nothing is read or written, what is measured is the call");
      return;
    }
    const double reachable = Ratio(bound.compute_us, bound.bound_us) * 100;
    std::string share = fmt::format("{:.3g} % of the peak can be reached", reachable);
    if (reachable < 100 && e_.cost.bytes > 0) {
      share += fmt::format(" ({:.3g} % by nominal taps and bias)",
                           (e_.cost.flops_nominal + e_.bias_flops) / e_.cost.bytes / bound.ridge * 100);
    }
    Line("peak, bandwidth",
         fmt::format("{:.1f} GFLOP/s; {:.1f} GB/s at these bytes and this mix of loads and stores ({})",
                     bound.peak_gflops, bound.gb_per_s, roofline::LevelName(bound.level)));
    Line("ridge point",
         fmt::format("{:.4g} FLOP/byte; the case has {:.4g}: {} binds, {}", bound.ridge, bound.intensity,
                     roofline::BindingName(bound.binding), share));
    Line("time by arithmetic", fmt::format("{:.3f} us, time by memory {:.3f} us", bound.compute_us, bound.memory_us));
    if (e_.own.transforms) WriteOwn();
  }

  void WriteThreeNumbers() {
    if (!e_.bound) return;
    const roofline::Bound& bound = *e_.bound;
    Line("bound", fmt::format("{:.3f} us ({})", bound.bound_us, roofline::BindingName(bound.binding)));
    if (e_.model.model_us > 0) {
      Line("model", fmt::format("{:.3f} us: {} + what the plan loses knowingly", e_.model.model_us,
                                e_.own.transforms ? e_.algorithm + "'s bound" : "bound"));
    } else {
      for (const AlgorithmAnswer& answer : e_.answers) {
        if (answer.chosen)
          Line("predicted", fmt::format("{:.3f} us by the library's model of this machine", answer.predicted_us));
      }
    }
    if (!e_.measured) return;
    const bench::TimeStats& time = e_.measured->time;
    const bool here = !e_.whole_machine;
    Line("measured",
         fmt::format("{:.3f} us [{:.3f}, {:.3f}], {:.1f} GFLOP/s{}", time.median, time.ci_low, time.ci_high,
                     e_.cost.flops_valid / time.median * 1e-3,
                     here && bound.bound_us > 0 ? ShareOfBound(bound.bound_us, time.median) : ""));
    if (e_.measured->busy_cpus >= bench::kBusyCpus) {
      Line("",
           fmt::format("other work kept {:.1f} CPUs busy meanwhile: do not trust this time", e_.measured->busy_cpus));
    }
  }

  void WriteCandidates() {
    text_ += "\ncandidates, by the library's model\n";
    std::string refused;
    for (const AlgorithmAnswer& answer : e_.answers) {
      if (!answer.refusal.empty()) {
        if (answer.name.find('+') != std::string::npos && !verbose_) continue;
        fmt::format_to(std::back_inserter(refused), "  {:<20}refused: {}\n", answer.name, answer.refusal);
        continue;
      }
      Line(answer.name, fmt::format("{} {:.3f} us{}", answer.chosen ? "chosen, predicted" : "predicted",
                                    answer.predicted_us, answer.chosen ? "  (" + e_.kernel + ")" : ""));
    }
    text_ += refused;
  }

  void WriteLosses() {
    if (e_.model.losses.empty() && !e_.measured) return;
    if (!e_.bound || !(e_.model.model_us > 0)) return;
    const double whole = e_.measured ? e_.measured->time.median : e_.model.model_us;
    text_ += "\nlosses, in order of time\n";
    for (const bench::Loss& loss : e_.model.losses) {
      Line(loss.name, fmt::format("{:>9.3f} us  {:>4.1f} %  {}", loss.us, loss.us / whole * 100, loss.why));
    }
    if (!e_.measured) return;
    const double rest = whole - e_.model.model_us;
    Line(rest >= 0 ? "unexplained" : "faster than modelled",
         fmt::format("{:>9.3f} us  {:>4.1f} %  measured - model", rest, rest / whole * 100));
  }

  void WriteNeighbours() {
    if (!e_.measured || e_.measured->neighbours.empty()) return;
    text_ += "\nneighbours, measured now in turns with the layer\n";
    for (const MeasuredNeighbour& one : e_.measured->neighbours) {
      const double change = (one.time_ratio - 1) * 100;
      const bool same = one.ci_low <= 1.02 && one.ci_high >= 0.98 && std::abs(change) < 3;
      const std::string time = same         ? "same time"
                               : change < 0 ? fmt::format("time \u00f7 {:.2f} ({:.0f} %)", 1 / one.time_ratio, change)
                                            : fmt::format("time x {:.2f} (+{:.0f} %)", one.time_ratio, change);
      const std::string flops = one.flops_ratio >= 0.995 ? fmt::format("FLOPs x {:.3g}", one.flops_ratio)
                                                         : fmt::format("FLOPs \u00f7 {:.3g}", 1 / one.flops_ratio);
      fmt::format_to(std::back_inserter(text_), "  {:<44}{:<15} {:<22} {:.3f} us\n", one.change, flops, time,
                     one.time_us);
    }
  }

  std::string ShareOfBound(double bound_us, double time_us) const {
    if (!e_.own.transforms) return fmt::format(", {:.1f} % of the bound", bound_us / time_us * 100);
    const double own_us = e_.own_bound ? e_.own_bound->bound_us : 0;
    return fmt::format(" effective, {:.1f} % of the bound of {}", own_us / time_us * 100, e_.algorithm);
  }

  // Beside the direct sum's figures, never mixed with them.
  void WriteOwn() {
    const AlgorithmWork& own = e_.own;
    Line(e_.algorithm, fmt::format("{:.6g} FLOPs of its own ({:.3g} times fewer), {:.6g} bytes with its weights, "
                                   "{:.6g} bytes of intermediates",
                                   own.flops, own.flops > 0 ? e_.cost.flops_valid / own.flops : 0,
                                   own.load_bytes + own.store_bytes, own.intermediate_bytes));
    if (!e_.own_bound) return;
    Line("", fmt::format("its bound {:.3f} us ({}); GFLOP/s by the direct sum's FLOPs are effective ones",
                         e_.own_bound->bound_us, roofline::BindingName(e_.own_bound->binding)));
  }

  // The lesson of depthwise: time does not follow FLOPs.
  void WriteDense(const DenseNeighbour& dense) {
    text_ += "\nbeside the dense layer of the same size (groups 1)\n";
    const double flops = Ratio(dense.cost.flops_valid, e_.cost.flops_valid);
    Line("intensity", fmt::format("{:.4g} FLOP/byte against {:.4g}{}", e_.cost.intensity, dense.cost.intensity,
                                  e_.bound ? fmt::format("; ridge point {:.4g}", e_.bound->ridge) : ""));
    if (e_.bound && dense.bound) {
      Line("bound",
           fmt::format("{:.3f} us ({}) against {:.3f} us ({}): {:.4g} times less", e_.bound->bound_us,
                       roofline::BindingName(e_.bound->binding), dense.bound->bound_us,
                       roofline::BindingName(dense.bound->binding), Ratio(dense.bound->bound_us, e_.bound->bound_us)));
    }
    for (const AlgorithmAnswer& answer : e_.answers) {
      if (!answer.chosen) continue;
      Line("", fmt::format("{:.4g} times fewer FLOPs buy {:.4g} times less time (predicted)", flops,
                           Ratio(dense.predicted_us, answer.predicted_us)));
    }
  }

  const Explanation& e_;
  bool verbose_;
  std::string text_;
};

}  // namespace

std::string ToText(const Explanation& explanation, bool verbose) { return TextWriter(explanation, verbose).Write(); }

}  // namespace rafter::cli
