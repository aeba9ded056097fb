// bench/report_json.cc: writing the JSON report. Reading is in report_json_read.cc.
#include "bench/report_json.h"

#include <cmath>

#include "bench/cliffs.h"
#include "bench/summary.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

Json Number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json TimeJson(const TimeStats& time) {
  return {{"median", Number(time.median)}, {"min", Number(time.min)},
          {"p10", Number(time.p10)},       {"p90", Number(time.p90)},
          {"ci_low", Number(time.ci_low)}, {"ci_high", Number(time.ci_high)},
          {"samples", time.samples},       {"discarded", time.discarded},
          {"inner", time.inner},           {"noisy", time.noisy}};
}

Json VersusJson(const VersusResult& versus) {
  return {{"library", versus.library},
          {"version", versus.version},
          {"implementation", versus.implementation},
          {"layout", versus.layout},
          {"time_us", Number(versus.time_us)},
          {"create_us", Number(versus.create_us)},
          {"speedup", Number(versus.speedup)},
          {"ci_low", Number(versus.ci_low)},
          {"ci_high", Number(versus.ci_high)},
          {"verdict", versus.verdict}};
}

Json SpeedupJson(const std::optional<SpeedupSummary>& speedup) {
  if (!speedup) return nullptr;
  return {{"geomean", Number(speedup->geomean)},
          {"min", Number(speedup->min)},
          {"wins", speedup->wins},
          {"ties", speedup->ties},
          {"losses", speedup->losses}};
}

Json SummaryJson(const Summary& summary) {
  const bool any = summary.efficiency.cases > 0;
  Json json;
  json["efficiency"] = {{"geomean", any ? Number(summary.efficiency.geomean) : Json(nullptr)},
                        {"p10", any ? Number(summary.efficiency.p10) : Json(nullptr)},
                        {"min", any ? Number(summary.efficiency.min) : Json(nullptr)},
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
    losses.push_back({{"name", loss.name}, {"us", Number(loss.us)}, {"why", loss.why}});
  }
  return {{"us", Number(result.model_us)},
          {"losses", std::move(losses)},
          {"unexplained_us", Number(result.time.median - result.model_us)}};
}

Json CliffJson(const Cliff& cliff) {
  return {{"axis", cliff.axis},
          {"from", cliff.from},
          {"to", cliff.to},
          {"case", cliff.case_index},
          {"ratio", Number(cliff.ratio)},
          {"cause", cliff.cause},
          {"text", cliff.text}};
}

// What was measured; null where the roof is unknown.
void AppendMeasurements(const CaseResult& result, Json& json) {
  const bool has_bound = result.bound_us > 0;
  json["time_us"] = TimeJson(result.time);
  json["create_us"] = Number(result.create_us);
  json["flops_valid"] = Number(result.flops_valid);
  json["flops_nominal"] = Number(result.flops_nominal);
  json["bytes"] = Number(result.bytes);
  json["gflops"] = Number(result.gflops);
  if (result.gb_per_s > 0) json["gb_per_s"] = Number(result.gb_per_s);
  json["bound_us"] = has_bound ? Number(result.bound_us) : Json(nullptr);
  json["binding"] = result.binding.empty() ? Json(nullptr) : Json(result.binding);
  json["peak"] = {{"gflops", has_bound ? Number(result.peak_gflops) : Json(nullptr)},
                  {"source", result.disturbed ? "day" : "beside"},
                  {"disturbed", result.disturbed}};
  if (result.own) {
    const bool known = result.own->bound_us > 0;
    json["algorithm_bound"] = {{"flops", Number(result.own->flops)},
                               {"bytes", Number(result.own->bytes)},
                               {"intermediate_bytes", Number(result.own->intermediate_bytes)},
                               {"gflops", Number(result.own->gflops)},
                               {"bound_us", known ? Number(result.own->bound_us) : Json(nullptr)},
                               {"binding", known ? Json(result.own->binding) : Json(nullptr)}};
  }
  json["efficiency"] = has_bound ? Number(result.efficiency) : Json(nullptr);
  if (result.model_us > 0) json["model"] = ModelJson(result);
  json["busy_cpus"] = result.busy_cpus < 0 ? Json(nullptr) : Number(result.busy_cpus);
  json["verified"] = {{"outputs", result.verified_outputs},
                      {"max_error", Number(result.max_error)}};
  json["noise_floor"] = Number(result.noise_floor);
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
    for (const Cliff& cliff : FindCliffs(report.cases)) json["cliffs"].push_back(CliffJson(cliff));
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
