// bench/report_json_read.cc: reading a JSON report of schema 1.
#include <limits>
#include <stdexcept>
#include <utility>

#include "bench/report_json.h"
#include "roofline/input_text.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

// Internal to this file: ReadJson turns it into a Status.
struct WrongField : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void Complain(const std::string& path, const char* wanted) {
  throw WrongField("report: field '" + path + "' is missing or is not " + wanted);
}

const Json& Object(const Json& parent, const std::string& path, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end() || !found->is_object()) Complain(path + key, "an object");
  return *found;
}

// null stands for a number that was not finite or not known; `unknown` is what it becomes.
double Number(const Json& parent, const std::string& path, const char* key, double unknown) {
  const auto found = parent.find(key);
  if (found == parent.end() || !(found->is_number() || found->is_null())) {
    Complain(path + key, "a number");
  }
  return found->is_null() ? unknown : found->get<double>();
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

int64_t Integer(const Json& parent, const std::string& path, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end() || !found->is_number_integer()) Complain(path + key, "an integer");
  return found->get<int64_t>();
}

std::string Text(const Json& parent, const std::string& path, const char* key) {
  const auto found = parent.find(key);
  if (found == parent.end() || !(found->is_string() || found->is_null())) {
    Complain(path + key, "a string");
  }
  return found->is_null() ? std::string() : found->get<std::string>();
}

TimeStats ReadTime(const Json& json, const std::string& path) {
  TimeStats time;
  time.median = Number(json, path, "median", kNan);
  time.min = Number(json, path, "min", kNan);
  time.p10 = Number(json, path, "p10", kNan);
  time.p90 = Number(json, path, "p90", kNan);
  time.ci_low = Number(json, path, "ci_low", kNan);
  time.ci_high = Number(json, path, "ci_high", kNan);
  time.samples = Integer(json, path, "samples");
  time.discarded = Integer(json, path, "discarded");
  if (json.contains("inner")) time.inner = Integer(json, path, "inner");
  if (json.contains("noisy")) time.noisy = json["noisy"].is_boolean() && json["noisy"].get<bool>();
  return time;
}

std::optional<VersusResult> ReadVersus(const Json& parent, const std::string& parent_path,
                                       const char* key) {
  if (!parent.contains(key) || parent[key].is_null()) return std::nullopt;
  const Json& json = Object(parent, parent_path, key);
  const std::string path = parent_path + key + ".";
  VersusResult versus;
  versus.library = Text(json, path, "library");
  versus.version = Text(json, path, "version");
  versus.implementation = Text(json, path, "implementation");
  versus.layout = Text(json, path, "layout");
  versus.time_us = Number(json, path, "time_us", kNan);
  versus.create_us = Number(json, path, "create_us", kNan);
  versus.speedup = Number(json, path, "speedup", kNan);
  versus.ci_low = Number(json, path, "ci_low", kNan);
  versus.ci_high = Number(json, path, "ci_high", kNan);
  versus.verdict = Text(json, path, "verdict");
  return versus;
}

void ReadModel(const Json& parent, const std::string& parent_path, CaseResult& result) {
  if (!parent.contains("model")) return;
  const Json& json = Object(parent, parent_path, "model");
  const std::string path = parent_path + "model.";
  result.model_us = Number(json, path, "us", 0);
  const auto losses = json.find("losses");
  if (losses == json.end() || !losses->is_array()) Complain(path + "losses", "an array");
  for (const Json& loss : *losses) {
    if (!loss.is_object()) Complain(path + "losses", "an array of objects");
    result.losses.push_back({Text(loss, path + "losses.", "name"), Number(loss, path + "losses.", "us", kNan),
                             Text(loss, path + "losses.", "why")});
  }
}

void ReadSweepValues(const Json& parent, const std::string& path, CaseResult& result) {
  if (!parent.contains("sweep")) return;
  for (const auto& [name, value] : Object(parent, path, "sweep").items()) {
    if (!value.is_number_integer()) Complain(path + "sweep." + name, "an integer");
    result.sweep.emplace_back(name, value.get<int64_t>());
  }
}

void ReadMeasurements(const Json& json, const std::string& path, CaseResult& result) {
  result.kernel = Text(json, path, "kernel");
  if (json.contains("algorithm")) result.algorithm = Text(json, path, "algorithm");
  result.time = ReadTime(Object(json, path, "time_us"), path + "time_us.");
  result.create_us = Number(json, path, "create_us", kNan);
  result.flops_valid = Number(json, path, "flops_valid", kNan);
  result.flops_nominal = Number(json, path, "flops_nominal", kNan);
  result.bytes = Number(json, path, "bytes", kNan);
  result.gflops = Number(json, path, "gflops", kNan);
  if (json.contains("gb_per_s")) result.gb_per_s = Number(json, path, "gb_per_s", 0);
  result.bound_us = Number(json, path, "bound_us", 0);
  result.binding = Text(json, path, "binding");
  result.efficiency = Number(json, path, "efficiency", 0);
  if (json.contains("algorithm_bound")) {
    const Json& own = Object(json, path, "algorithm_bound");
    const std::string at = path + "algorithm_bound.";
    result.own = {Number(own, at, "flops", kNan),  Number(own, at, "bytes", kNan),
                  Number(own, at, "intermediate_bytes", kNan), Number(own, at, "gflops", kNan),
                  Number(own, at, "bound_us", 0), Text(own, at, "binding")};
  }
  if (json.contains("peak")) {
    const Json& peak = Object(json, path, "peak");
    result.peak_gflops = Number(peak, path + "peak.", "gflops", 0);
    if (peak.contains("disturbed")) result.disturbed = peak["disturbed"] == true;
    if (peak.contains("core_share")) result.core_share = Number(peak, path + "peak.", "core_share", 1);
    if (peak.contains("roof_share")) result.roof_share = Number(peak, path + "peak.", "roof_share", 0);
  }
  ReadModel(json, path, result);
  if (json.contains("busy_cpus")) result.busy_cpus = Number(json, path, "busy_cpus", -1);
  if (json.contains("verified")) {
    const Json& verified = Object(json, path, "verified");
    result.verified_outputs = Integer(verified, path + "verified.", "outputs");
    result.max_error = Number(verified, path + "verified.", "max_error", kNan);
  }
  if (json.contains("noise_floor")) result.noise_floor = Number(json, path, "noise_floor", kNan);
  result.vs_same = ReadVersus(json, path, "vs_same");
  result.vs_best = ReadVersus(json, path, "vs_best");
  if (json.contains("vs_error")) result.vs_error = Text(json, path, "vs_error");
}

CaseResult ReadCase(const Json& json, const std::string& path) {
  if (!json.is_object()) Complain(path, "an object");
  CaseResult result;
  result.descriptor = Text(json, path, "descriptor");
  result.name = Text(json, path, "name");
  result.layout = Text(json, path, "layout");
  result.threads = static_cast<int>(Integer(json, path, "threads"));
  result.isa = Text(json, path, "isa");
  if (json.contains("post_ops")) result.post_ops = Text(json, path, "post_ops");
  if (json.contains("mode")) result.mode = Text(json, path, "mode");
  ReadSweepValues(json, path, result);
  if (json.contains("error")) {
    result.error = Text(json, path, "error");
    if (!result.error.empty()) return result;
  }
  ReadMeasurements(json, path, result);
  return result;
}

Report ReadReport(const Json& json) {
  if (!json.is_object()) throw WrongField("report: not a JSON object");
  if (Integer(json, "", "schema") != kReportSchema) {
    throw WrongField("report: schema is " + json["schema"].dump() + ", allowed is " +
                     std::to_string(kReportSchema));
  }
  Report report;
  report.environment = Object(json, "", "environment");
  if (json.contains("complete")) report.complete = json["complete"] != false;
  if (json.contains("sweep")) report.sweep = Object(json, "", "sweep");
  if (json.contains("calibration")) report.calibration = Object(json, "", "calibration");
  const auto cases = json.find("cases");
  if (cases == json.end() || !cases->is_array()) Complain("cases", "an array");
  for (size_t i = 0; i < cases->size(); ++i) {
    report.cases.push_back(ReadCase((*cases)[i], "cases[" + std::to_string(i) + "]."));
  }
  return report;
}

}  // namespace

Result<Report> ReadJson(std::string_view text) {
  try {
    const Result<Json> json = roofline::ParseJson(text);
    if (!json.ok()) return Status::InvalidArgument("report: no valid JSON: " + std::string(json.status().message()));
    return ReadReport(*json);
  } catch (const nlohmann::json::exception& error) {
    return Status::InvalidArgument("report: no valid JSON: " + roofline::ReasonOf(error));
  } catch (const WrongField& error) {
    return Status::InvalidArgument(error.what());
  }
}

}  // namespace rafter::bench
