// cli/explanation_text.cc: an explanation for people and as JSON.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <iterator>
#include <string>
#include <string_view>

#include "cli/explanation.h"

namespace rafter::cli {
namespace {

class TextWriter {
 public:
  explicit TextWriter(const Explanation& explanation) : e_(explanation) {}

  std::string Write() {
    Line("descriptor", e_.descriptor + (e_.name.empty() ? "" : "  (" + e_.name + ")"));
    text_ += "\nplan\n";
    for (std::string_view rest = e_.plan_text; !rest.empty();) {
      const size_t end = std::min(rest.find('\n'), rest.size() - 1);
      text_ += "  ";
      text_ += rest.substr(0, end + 1);
      rest.remove_prefix(end + 1);
    }
    WriteCost();
    WriteRoofline();
    if (e_.dense) WriteDense(*e_.dense);
    return std::move(text_);
  }

 private:
  void Line(std::string_view name, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), "  {:<22}{}\n", name, value);
  }

  void WriteCost() {
    const ConvCost& cost = e_.cost;
    text_ += "\ncost\n";
    const double share = cost.flops_nominal > 0 ? cost.flops_valid / cost.flops_nominal : 1;
    Line("FLOPs, valid taps", fmt::format("{:.6g}  (1 FMA = 2)", cost.flops_valid));
    Line("FLOPs, nominal",
         fmt::format("{:.6g}  ({:.1f} % of them on real inputs, the rest on padding)",
                     cost.flops_nominal, share * 100));
    Line("bias and post-ops", fmt::format("{:.6g}  (never part of a bound)", cost.flops_extra));
    Line("parameters", fmt::format("{}", cost.parameters));
    Line("bytes", fmt::format("{:.6g}  = source {:.6g} + weights {:.6g} + destination {:.6g}{}",
                              cost.bytes, cost.src_bytes, cost.weights_bytes, cost.dst_bytes,
                              cost.residual_bytes > 0
                                  ? fmt::format(" + residuals {:.6g}", cost.residual_bytes)
                                  : ""));
    Line("footprint", fmt::format("{:.6g}  bytes of all tensors, whole", cost.footprint_bytes));
    Line("intensity", fmt::format("{:.4g} FLOP/byte by valid taps", cost.intensity));
    if (cost.bytes > 0) {
      Line("", fmt::format("{:.4g} FLOP/byte by nominal taps and bias",
                           (cost.flops_nominal + e_.bias_flops) / cost.bytes));
    }
  }

  void WriteRoofline() {
    const std::string part = e_.whole_machine ? "the whole machine"
                                              : fmt::format("{}, {} thread{}", IsaName(e_.roof_isa),
                                                            e_.threads, e_.threads == 1 ? "" : "s");
    fmt::format_to(std::back_inserter(text_), "\nroofline ({}, {})\n",
                   e_.machine.empty() ? "this machine" : e_.machine, part);
    if (!e_.bound) {
      Line("bound", "unknown: " + e_.bound_error);
      return;
    }
    const roofline::Bound& bound = *e_.bound;
    Line("peak", fmt::format("{:.1f} GFLOP/s", bound.peak_gflops));
    Line("bandwidth",
         fmt::format("{:.1f} GB/s at these bytes and this mix of loads and stores ({})",
                     bound.gb_per_s, roofline::LevelName(bound.level)));
    Line("ridge point", fmt::format("{:.4g} FLOP/byte; the case has {:.4g}: {} binds", bound.ridge,
                                    bound.intensity, roofline::BindingName(bound.binding)));
    Line("time by arithmetic", fmt::format("{:.3f} us", bound.compute_us));
    Line("time by memory", fmt::format("{:.3f} us", bound.memory_us));
    Line("bound",
         fmt::format("{:.3f} us ({})", bound.bound_us, roofline::BindingName(bound.binding)));
    for (const AlgorithmAnswer& answer : e_.answers) {
      if (!answer.chosen) continue;
      Line("predicted",
           fmt::format("{:.3f} us by the library's model of this machine", answer.predicted_us));
    }
  }

  // The lesson of depthwise: time does not follow FLOPs.
  void WriteDense(const DenseNeighbour& dense) {
    text_ += "\nbeside the dense layer of the same size (groups 1)\n";
    const double flops = Ratio(dense.cost.flops_valid, e_.cost.flops_valid);
    Line("FLOPs", fmt::format("{:.6g} against {:.6g}: {:.4g} times fewer", e_.cost.flops_valid,
                              dense.cost.flops_valid, flops));
    Line("intensity", fmt::format("{:.4g} FLOP/byte against {:.4g}{}", e_.cost.intensity, dense.cost.intensity,
                                  e_.bound ? fmt::format("; ridge point {:.4g}", e_.bound->ridge) : ""));
    if (e_.bound && dense.bound) {
      Line("bound", fmt::format("{:.3f} us ({}) against {:.3f} us ({}): {:.4g} times less", e_.bound->bound_us,
                                roofline::BindingName(e_.bound->binding), dense.bound->bound_us,
                                roofline::BindingName(dense.bound->binding),
                                Ratio(dense.bound->bound_us, e_.bound->bound_us)));
    }
    for (const AlgorithmAnswer& answer : e_.answers) {
      if (!answer.chosen) continue;
      const double time = Ratio(dense.predicted_us, answer.predicted_us);
      Line("predicted time", fmt::format("{:.3f} us ({}) against {:.3f} us ({}): {:.4g} times less",
                                         answer.predicted_us, answer.name, dense.predicted_us, dense.algorithm, time));
      Line("", fmt::format("{:.4g} times fewer FLOPs buy {:.4g} times less time", flops, time));
    }
  }

  static double Ratio(double a, double b) { return b > 0 ? a / b : 0; }

  const Explanation& e_;
  std::string text_;
};

nlohmann::ordered_json CostJson(const Explanation& explanation) {
  const ConvCost& cost = explanation.cost;
  return {{"flops_valid", cost.flops_valid},
          {"flops_nominal", cost.flops_nominal},
          {"flops_extra", cost.flops_extra},
          {"parameters", cost.parameters},
          {"src_bytes", cost.src_bytes},
          {"weights_bytes", cost.weights_bytes},
          {"dst_bytes", cost.dst_bytes},
          {"residual_bytes", cost.residual_bytes},
          {"bytes", cost.bytes},
          {"footprint_bytes", cost.footprint_bytes},
          {"intensity", cost.intensity}};
}

nlohmann::ordered_json DenseJson(const DenseNeighbour& dense) {
  nlohmann::ordered_json json = {{"flops_valid", dense.cost.flops_valid},
                                 {"intensity", dense.cost.intensity},
                                 {"algorithm", dense.algorithm},
                                 {"predicted_us", dense.predicted_us}};
  if (dense.bound) {
    json["bound_us"] = dense.bound->bound_us;
    json["binding"] = roofline::BindingName(dense.bound->binding);
  }
  return json;
}

// nlohmann-json prints what is not finite as null.
nlohmann::ordered_json BoundJson(const Explanation& explanation) {
  nlohmann::ordered_json json;
  json["machine"] = explanation.machine;
  json["isa"] = explanation.whole_machine ? "any" : IsaName(explanation.roof_isa);
  if (!explanation.bound) {
    json["error"] = explanation.bound_error;
    return json;
  }
  const roofline::Bound& bound = *explanation.bound;
  json["bound_us"] = bound.bound_us;
  json["binding"] = roofline::BindingName(bound.binding);
  json["compute_us"] = bound.compute_us;
  json["memory_us"] = bound.memory_us;
  json["level"] = roofline::LevelName(bound.level);
  json["peak_gflops"] = bound.peak_gflops;
  json["gb_per_s"] = bound.gb_per_s;
  json["ridge"] = bound.ridge;
  return json;
}

}  // namespace

std::string ToText(const Explanation& explanation) { return TextWriter(explanation).Write(); }

nlohmann::ordered_json ToJson(const Explanation& explanation) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["descriptor"] = explanation.descriptor;
  json["name"] = explanation.name;
  json["layout"] = explanation.layout;
  json["threads"] = explanation.threads;
  json["isa"] = IsaName(explanation.isa);
  json["algorithm"] = explanation.algorithm;
  json["kernel"] = explanation.kernel;
  json["considered"] = nlohmann::ordered_json::array();
  for (const AlgorithmAnswer& answer : explanation.answers) {
    nlohmann::ordered_json one = {{"algorithm", answer.name}, {"chosen", answer.chosen}};
    if (answer.refusal.empty()) {
      one["predicted_us"] = answer.predicted_us;
    } else {
      one["refusal"] = answer.refusal;
    }
    json["considered"].push_back(std::move(one));
  }
  json["cost"] = CostJson(explanation);
  json["bound"] = BoundJson(explanation);
  if (explanation.dense) json["dense"] = DenseJson(*explanation.dense);
  json["plan"] = explanation.plan_text;
  return json;
}

}  // namespace rafter::cli
