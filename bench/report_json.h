// bench/report_json.h: the machine-readable report, schema 1. Numbers that are not finite become
// null.
#ifndef RAFTER_BENCH_REPORT_JSON_H_
#define RAFTER_BENCH_REPORT_JSON_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "bench/case_result.h"
#include "bench/cliffs.h"
#include "rafter/status.h"

namespace rafter::bench {

inline constexpr int kReportSchema = 1;

struct Report {
  nlohmann::ordered_json environment;  // whatever `rafter info` knows, with "roofs"
  std::vector<CaseResult> cases;
  nlohmann::ordered_json sweep;        // {"base", "kind", "axes": [{"name", "values"}]}; null without one
  nlohmann::ordered_json calibration;  // of a run with comparisons: bench/calibration.h; null without
  bool complete = true;  // false: interrupted; what was not finished has kInterrupted as its error
};

// {"schema": 1, "complete": …, "environment": {…}, "sweep": {…}, "calibration": {…}, "cases": […],
// "cliffs": […], "summary": {…}}; sweep, cliffs and calibration only where there are any
nlohmann::ordered_json ToJson(const Report& report);
nlohmann::ordered_json ToJson(const CaseResult& result);

// Of the report's sweep; none without one.
std::vector<Cliff> CliffsOf(const Report& report);

// Indented text with a newline at the end.
std::string WriteJson(const Report& report);

// The inverse of WriteJson (the summary is computed anew). kInvalidArgument: no JSON, another
// schema, or a field of the wrong type, which is named.
Result<Report> ReadJson(std::string_view text);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_REPORT_JSON_H_
