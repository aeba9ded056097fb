// bench/report_csv.cc: one line per case for spreadsheets.
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <vector>

#include "bench/report_table.h"

namespace rafter::bench {
namespace {

// RFC 4180: quotes around anything special, inner quotes doubled.
std::string Quote(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string NumberCell(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "";
}
// Counts of FLOPs and bytes: all digits.
std::string WholeCell(double value) { return std::isfinite(value) ? fmt::format("{:.0f}", value) : ""; }

constexpr const char* kVersusColumns[] = {"library", "version",   "implementation", "layout",
                                          "time_us", "create_us", "speedup",        "ci_low",
                                          "ci_high", "verdict"};

void AppendVersus(const std::optional<VersusResult>& versus, std::vector<std::string>& cells) {
  if (!versus) {
    cells.resize(cells.size() + std::size(kVersusColumns));
    return;
  }
  for (const std::string& text :
       {versus->library, versus->version, versus->implementation, versus->layout,
        NumberCell(versus->time_us), NumberCell(versus->create_us), NumberCell(versus->speedup),
        NumberCell(versus->ci_low), NumberCell(versus->ci_high), versus->verdict}) {
    cells.push_back(text);
  }
}

std::string Join(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + Quote(cells[i]);
  return line + "\n";
}

std::vector<std::string> Columns() {
  std::vector<std::string> columns = {
      "descriptor",  "name",           "layout",          "threads",     "isa",
      "algorithm",   "kernel",         "time_median_us",  "time_min_us", "time_p10_us",
      "time_p90_us", "time_ci_low_us", "time_ci_high_us", "samples",     "discarded",
      "create_us",   "flops_valid",    "flops_nominal",   "bytes",       "gflop_per_s", "gb_per_s",
      "bound_us",    "binding",        "efficiency",      "peak_gflop_per_s", "disturbed",
      "own_flops",   "own_bound_us"};
  for (const char* prefix : {"vs_same_", "vs_best_"}) {
    for (const char* column : kVersusColumns) columns.push_back(std::string(prefix) + column);
  }
  columns.push_back("error");
  return columns;
}

std::vector<std::string> Cells(const CaseResult& result, size_t columns) {
  std::vector<std::string> cells = {result.descriptor, result.name, result.layout,
                                    std::to_string(result.threads), result.isa};
  if (!result.error.empty()) {
    cells.resize(columns - 1);
    cells.push_back(result.error);
    return cells;
  }
  const TimeStats& time = result.time;
  const bool has_bound = result.bound_us > 0;
  for (const std::string& text :
       {result.algorithm, result.kernel, NumberCell(time.median), NumberCell(time.min), NumberCell(time.p10),
        NumberCell(time.p90), NumberCell(time.ci_low), NumberCell(time.ci_high), std::to_string(time.samples),
        std::to_string(time.discarded), NumberCell(result.create_us), WholeCell(result.flops_valid),
        WholeCell(result.flops_nominal), WholeCell(result.bytes), NumberCell(result.gflops),
        result.gb_per_s > 0 ? NumberCell(result.gb_per_s) : std::string(),
        has_bound ? NumberCell(result.bound_us) : std::string(), result.binding,
        has_bound ? NumberCell(result.efficiency) : std::string(),
        has_bound ? NumberCell(result.peak_gflops) : std::string(),
        std::string(result.disturbed ? "1" : "0"), result.own ? WholeCell(result.own->flops) : std::string(),
        result.own && result.own->bound_us > 0 ? NumberCell(result.own->bound_us) : std::string()}) {
    cells.push_back(text);
  }
  AppendVersus(result.vs_same, cells);
  AppendVersus(result.vs_best, cells);
  cells.push_back("");
  return cells;
}

}  // namespace

std::string WriteCsv(std::span<const CaseResult> cases) {
  const std::vector<std::string> columns = Columns();
  std::string text = Join(columns);
  for (const CaseResult& result : cases) text += Join(Cells(result, columns.size()));
  return text;
}

}  // namespace rafter::bench
