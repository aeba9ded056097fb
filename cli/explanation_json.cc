// cli/explanation_json.cc: an explanation for programs. nlohmann-json prints what is not finite as null.
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "cli/explanation.h"
#include "jit/isa.h"
#include "rafter/post_ops.h"

namespace rafter::cli {
namespace {

using Json = nlohmann::ordered_json;

double PerByte(double flops, double bytes) { return bytes > 0 ? flops / bytes : 0; }

Json CostJson(const Explanation& explanation) {
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
          {"intensity", cost.intensity},
          {"intensity_with_bias", PerByte(cost.flops_valid + explanation.bias_flops, cost.bytes)},
          {"intensity_nominal_with_bias", PerByte(cost.flops_nominal + explanation.bias_flops, cost.bytes)}};
}

// What the first lines of the text say. Dilation counts from 1.
Json LayerJson(const Explanation& explanation) {
  const ConvDesc& d = explanation.desc;
  Json json = {{"mb", d.n},
               {"groups", d.groups},
               {"depthwise", d.groups > 1 && d.groups == d.ic},
               {"ic", d.ic},
               {"oc", d.oc},
               {"in", {d.in.h, d.in.w}},
               {"out", {explanation.out.h, explanation.out.w}},
               {"kernel", {d.kernel.h, d.kernel.w}},
               {"stride", {d.stride.h, d.stride.w}},
               {"dilation", {d.dilation.h, d.dilation.w}},
               {"pad", {d.pad.top, d.pad.left, d.pad.bottom, d.pad.right}}};
  json["post_ops"] = Json::array();
  for (const PostOp& op : d.post_ops) json["post_ops"].push_back(PostOpName(op.kind));
  return json;
}

// The drawing, line by line.
Json TileJson(const Explanation& explanation) {
  Json lines = Json::array();
  const int lanes = jit::GetIsaInfo(explanation.isa).vec_lanes();
  const std::string drawing = DrawTile(explanation.kernel, explanation.desc, lanes);
  for (size_t at = 0, end; (end = drawing.find('\n', at)) != std::string::npos; at = end + 1) {
    lines.push_back(drawing.substr(at, end - at));
  }
  return lines;
}

Json DenseJson(const DenseNeighbour& dense) {
  Json json = {{"flops_valid", dense.cost.flops_valid},
               {"intensity", dense.cost.intensity},
               {"algorithm", dense.algorithm},
               {"predicted_us", dense.predicted_us}};
  if (dense.bound) {
    json["bound_us"] = dense.bound->bound_us;
    json["binding"] = roofline::BindingName(dense.bound->binding);
  }
  return json;
}

Json OwnJson(const Explanation& explanation) {
  const AlgorithmWork& own = explanation.own;
  Json json = {{"flops", own.flops},
               {"bytes", own.load_bytes + own.store_bytes},
               {"intermediate_bytes", own.intermediate_bytes}};
  if (explanation.own_bound) {
    json["bound_us"] = explanation.own_bound->bound_us;
    json["binding"] = roofline::BindingName(explanation.own_bound->binding);
  }
  return json;
}

Json BoundJson(const Explanation& explanation) {
  Json json;
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

Json ModelJson(const bench::PlanModel& model) {
  Json json = {{"us", model.model_us}};
  json["losses"] = Json::array();
  for (const bench::Loss& loss : model.losses) {
    json["losses"].push_back({{"name", loss.name}, {"us", loss.us}, {"why", loss.why}});
  }
  return json;
}

Json MeasuredJson(const Explanation& explanation) {
  const MeasuredNow& measured = *explanation.measured;
  const bench::TimeStats& time = measured.time;
  Json json = {{"median_us", time.median},
               {"ci_low_us", time.ci_low},
               {"ci_high_us", time.ci_high},
               {"min_us", time.min},
               {"samples", time.samples}};
  if (explanation.model.model_us > 0) json["unexplained_us"] = time.median - explanation.model.model_us;
  if (measured.busy_cpus >= 0) json["busy_cpus"] = measured.busy_cpus;
  json["neighbours"] = Json::array();
  for (const MeasuredNeighbour& one : measured.neighbours) {
    json["neighbours"].push_back({{"change", one.change},
                                  {"time_us", one.time_us},
                                  {"flops_ratio", one.flops_ratio},
                                  {"time_ratio", one.time_ratio},
                                  {"ci_low", one.ci_low},
                                  {"ci_high", one.ci_high}});
  }
  return json;
}

}  // namespace

Json ToJson(const Explanation& explanation) {
  Json json;
  json["schema"] = 1;
  json["descriptor"] = explanation.descriptor;
  json["name"] = explanation.name;
  json["layout"] = explanation.layout;
  json["threads"] = explanation.threads;
  json["isa"] = IsaName(explanation.isa);
  json["algorithm"] = explanation.algorithm;
  json["kernel"] = explanation.kernel;
  json["considered"] = Json::array();
  for (const AlgorithmAnswer& answer : explanation.answers) {
    Json one = {{"algorithm", answer.name}, {"chosen", answer.chosen}};
    if (answer.refusal.empty()) {
      one["predicted_us"] = answer.predicted_us;
    } else {
      one["refusal"] = answer.refusal;
    }
    json["considered"].push_back(std::move(one));
  }
  json["layer"] = LayerJson(explanation);
  json["cost"] = CostJson(explanation);
  json["bound"] = BoundJson(explanation);
  json["tile"] = TileJson(explanation);
  if (explanation.own.transforms) json["algorithm_bound"] = OwnJson(explanation);
  if (explanation.model.model_us > 0) json["model"] = ModelJson(explanation.model);
  if (explanation.measured) json["measured"] = MeasuredJson(explanation);
  if (explanation.dense) json["dense"] = DenseJson(*explanation.dense);
  json["plan"] = explanation.plan_text;
  return json;
}

}  // namespace rafter::cli
