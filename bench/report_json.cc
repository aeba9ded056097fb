// bench/report_json.cc: writing the JSON report. Reading is in report_json_read.cc.
#include "bench/report_json.h"

#include <cmath>

#include "bench/summary.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

Json NumberJson(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json TimeJson(const TimeStats& time) {
  return {{"median", NumberJson(time.median)}, {"min", NumberJson(time.min)},
          {"p10", NumberJson(time.p10)},       {"p90", NumberJson(time.p90)},
          {"ci_low", NumberJson(time.ci_low)}, {"ci_high", NumberJson(time.ci_high)},
          {"samples", time.samples},       {"discarded", time.discarded},
          {"inner", time.inner},           {"noisy", time.noisy}};
}

Json VersusJson(const VersusResult& versus) {
  return {{"library", versus.library},
          {"version", versus.version},
          {"implementation", versus.implementation},
          {"layout", versus.layout},
          {"time_us", NumberJson(versus.time_us)},
          {"create_us", NumberJson(versus.create_us)},
          {"speedup", NumberJson(versus.speedup)},
          {"ci_low", NumberJson(versus.ci_low)},
          {"ci_high", NumberJson(versus.ci_high)},
          {"verdict", versus.verdict}};
}

Json SpeedupJson(const std::optional<SpeedupSummary>& speedup) {
  if (!speedup) return nullptr;
  return {{"geomean", NumberJson(speedup->geomean)},
          {"min", NumberJson(speedup->min)},
          {"wins", speedup->wins},
          {"ties", speedup->ties},
          {"losses", speedup->losses},
          {"ambiguous", speedup->ambiguous}};
}

Json SummaryJson(const Summary& summary) {
  const bool any = summary.efficiency.cases > 0;
  Json json;
  json["efficiency"] = {{"geomean", any ? NumberJson(summary.efficiency.geomean) : Json(nullptr)},
                        {"p10", any ? NumberJson(summary.efficiency.p10) : Json(nullptr)},
                        {"min", any ? NumberJson(summary.efficiency.min) : Json(nullptr)},
                        {"cases", summary.efficiency.cases}};
  json["small"] = {{"cases", summary.small.cases}, {"within", summary.small.within}};
  json["speedup_same"] = SpeedupJson(summary.speedup_same);
  json["speedup_best"] = SpeedupJson(summary.speedup_best);
  json["failed"] = summary.failed;
  json["unfinished"] = summary.unfinished;
  return json;
}

Json ModelJson(const CaseResult& result) {
  Json losses = Json::array();
  for (const Loss& loss : result.losses) {
    losses.push_back({{"name", loss.name}, {"us", NumberJson(loss.us)}, {"why", loss.why}});
  }
  return {{"us", NumberJson(result.model_us)},
          {"losses", std::move(losses)},
          {"unexplained_us", NumberJson(result.time.median - result.model_us)}};
}

Json CliffJson(const Cliff& cliff) {
  return {{"axis", cliff.axis},
          {"from", cliff.from},
          {"to", cliff.to},
          {"case", cliff.case_index},
          {"ratio", NumberJson(cliff.ratio)},
          {"cause", cliff.cause},
          {"text", cliff.text}};
}

// What was measured; null where the roof is unknown.
void AppendMeasurements(const CaseResult& result, Json& json) {
  const bool has_bound = result.bound_us > 0;
  json["time_us"] = TimeJson(result.time);
  json["create_us"] = NumberJson(result.create_us);
  json["flops_valid"] = NumberJson(result.flops_valid);
  json["flops_nominal"] = NumberJson(result.flops_nominal);
  json["bytes"] = NumberJson(result.bytes);
  json["gflops"] = NumberJson(result.gflops);
  if (result.gb_per_s > 0) json["gb_per_s"] = NumberJson(result.gb_per_s);
  json["bound_us"] = has_bound ? NumberJson(result.bound_us) : Json(nullptr);
  json["binding"] = result.binding.empty() ? Json(nullptr) : Json(result.binding);
  json["peak"] = {{"gflops", has_bound ? NumberJson(result.peak_gflops) : Json(nullptr)},
                  {"source", result.disturbed ? "day" : "beside"},
                  {"disturbed", result.disturbed},
                  {"core_share", NumberJson(result.core_share)},
                  {"roof_share", result.roof_share > 0 ? NumberJson(result.roof_share) : Json(nullptr)}};
  if (result.own) {
    const bool known = result.own->bound_us > 0;
    json["algorithm_bound"] = {{"flops", NumberJson(result.own->flops)},
                               {"bytes", NumberJson(result.own->bytes)},
                               {"intermediate_bytes", NumberJson(result.own->intermediate_bytes)},
                               {"gflops", NumberJson(result.own->gflops)},
                               {"bound_us", known ? NumberJson(result.own->bound_us) : Json(nullptr)},
                               {"binding", known ? Json(result.own->binding) : Json(nullptr)}};
  }
  json["efficiency"] = has_bound ? NumberJson(result.efficiency) : Json(nullptr);
  if (result.model_us > 0) json["model"] = ModelJson(result);
  json["busy_cpus"] = result.busy_cpus < 0 ? Json(nullptr) : NumberJson(result.busy_cpus);
  json["verified"] = {{"outputs", result.verified_outputs},
                      {"max_error", NumberJson(result.max_error)}};
  json["noise_floor"] = NumberJson(result.noise_floor);
  json["vs_same"] = result.vs_same ? VersusJson(*result.vs_same) : Json(nullptr);
  json["vs_best"] = result.vs_best ? VersusJson(*result.vs_best) : Json(nullptr);
  if (!result.vs_error.empty()) json["vs_error"] = result.vs_error;
}

}  // namespace

Json ToJson(const CaseResult& result) {
  Json json;
  json["descriptor"] = result.descriptor;
  json["name"] = result.name;
  json["layout"] = result.layout;
  json["threads"] = result.threads;
  json["isa"] = result.isa;
  if (!result.post_ops.empty()) json["post_ops"] = result.post_ops;
  json["mode"] = result.mode;
  if (!result.sweep.empty()) {
    for (const auto& [name, value] : result.sweep) json["sweep"][name] = value;
  }
  if (!result.error.empty()) {
    json["error"] = result.error;
    return json;
  }
  json["algorithm"] = result.algorithm;
  json["kernel"] = result.kernel;
  AppendMeasurements(result, json);
  return json;
}

std::vector<Cliff> CliffsOf(const Report& report) {
  if (!report.sweep.is_object()) return {};
  const auto kind = report.sweep.find("kind");
  return FindCliffs(report.cases, kind != report.sweep.end() && *kind == "zip");
}

Json ToJson(const Report& report) {
  Json json;
  json["schema"] = kReportSchema;
  json["complete"] = report.complete;
  json["environment"] = report.environment.is_null() ? Json::object() : report.environment;
  if (!report.sweep.is_null()) json["sweep"] = report.sweep;
  if (!report.calibration.is_null()) json["calibration"] = report.calibration;
  json["cases"] = Json::array();
  for (const CaseResult& result : report.cases) json["cases"].push_back(ToJson(result));
  if (!report.sweep.is_null()) {
    json["cliffs"] = Json::array();
    for (const Cliff& cliff : CliffsOf(report)) json["cliffs"].push_back(CliffJson(cliff));
  }
  json["summary"] = SummaryJson(SummarizeCases(report.cases));
  return json;
}

std::string WriteJson(const Report& report) {
  // Names come from users: bytes that are no UTF-8 are replaced. (The writer itself turns numbers
  // of the environment that are not finite into null.)
  return ToJson(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rafter::bench
