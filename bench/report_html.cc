// bench/report_html.cc: fills the page with the data of a run.
#include "bench/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "bench/neighbours.h"
#include "bench/printable.h"
#include "bench/report_texts.h"
#include "bench/roofline_svg.h"
#include "bench/summary.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNoisyFloor = 0.02;

// Four digits are enough for a chart, and keep the file small.
Json Rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == 0) return 0;
  const double scale = std::pow(10, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

Json VersusView(const VersusResult& versus) {
  return {{"speedup", Rounded(versus.speedup)},      {"ci_low", Rounded(versus.ci_low)},
          {"ci_high", Rounded(versus.ci_high)},      {"verdict", versus.verdict},
          {"implementation", versus.implementation}, {"layout", versus.layout}};
}

void AddMeasurements(const CaseResult& result, Json& json) {
  const TimeStats& time = result.time;
  json["algorithm"] = result.algorithm;
  json["kernel"] = result.kernel;
  json["time_us"] = Rounded(time.median);
  json["spread"] = Rounded(time.median > 0 ? (time.p90 - time.p10) / 2 / time.median * 100 : 0);
  json["gflops"] = Rounded(result.gflops);
  json["flops"] = result.flops_valid;
  json["intensity"] = Rounded(result.bytes > 0 ? result.flops_valid / result.bytes : 0);
  json["max_error"] = Rounded(result.max_error);
  if (SavesFlops(result.algorithm)) json["hollow"] = true;
  // As in the table: the bound of what ran, with the direct sum's beside it.
  if (result.bound_us > 0) {
    json["bound_us"] = Rounded(ShownBoundUs(result));
    json["binding"] = ShownBinding(result);
    if (result.own) json["direct_bound_us"] = Rounded(result.bound_us);
  }
  if (result.model_us > 0) json["model_us"] = Rounded(result.model_us);
  for (const Loss& loss : result.losses) {
    json["losses"].push_back({{"name", loss.name}, {"us", Rounded(loss.us)}, {"why", loss.why}});
  }
  if (result.vs_same) json["same"] = VersusView(*result.vs_same);
  if (result.vs_best) json["best"] = VersusView(*result.vs_best);
}

Json CaseJson(const CaseResult& result) {
  Json json = {
      {"name", result.name}, {"descriptor", result.descriptor}, {"threads", result.threads}, {"mode", result.mode}};
  for (const auto& [name, value] : result.sweep) json["sweep"][name] = value;
  if (result.error.empty()) {
    AddMeasurements(result, json);
  } else {
    json["error"] = result.error;
  }
  return json;
}

Json ViewJson(const RooflineView& view) {
  Json json = {{"threads", view.threads}, {"isa", view.isa}, {"peak", Rounded(view.peak_gflops)}};
  json["levels"] = Json::array();
  for (const RoofLevel& level : view.levels) {
    json["levels"].push_back(
        {{"name", level.name}, {"gb_per_s", Rounded(level.gb_per_s)}, {"ridge", Rounded(level.ridge)}});
  }
  json["dots"] = Json::array();
  for (const RooflineDot& dot : view.dots) {
    json["dots"].push_back({dot.case_index, Rounded(dot.intensity), Rounded(dot.gflops)});
  }
  return json;
}

std::string BaselineName(const Report& report) {
  for (const CaseResult& result : report.cases) {
    if (result.vs_best) return result.vs_best->library + " " + result.vs_best->version;
  }
  return "";
}

void AddSweep(const Report& report, Json& data) {
  data["cliffs"] = Json::array();
  if (report.sweep.is_null()) return;
  data["sweep"] = report.sweep;
  for (const Cliff& cliff : CliffsOf(report)) {
    data["cliffs"].push_back({{"axis", cliff.axis}, {"case", cliff.case_index}, {"text", cliff.text}});
  }
}

Json DataJson(const Report& report, const RooflinePlot& plot) {
  std::set<int> threads;
  std::set<std::string> modes;
  Json data = {{"complete", report.complete}, {"baseline", BaselineName(report)}};
  data["colors"] = Json::object();
  data["cases"] = Json::array();
  for (const CaseResult& result : report.cases) {
    threads.insert(result.threads);
    modes.insert(result.mode);
    data["cases"].push_back(CaseJson(result));
    if (!result.algorithm.empty()) data["colors"][result.algorithm] = FamilyColor(result.algorithm);
  }
  data["threads"] = threads.size();
  data["modes"] = modes.size();
  data["views"] = Json::array();
  for (const RooflineView& view : plot.views) data["views"].push_back(ViewJson(view));
  data["sheets"] = Json::array();
  for (const DataSheetRoof& sheet : plot.sheets) {
    data["sheets"].push_back({{"name", sheet.name},
                              {"gflops", Rounded(sheet.gflops)},
                              {"gb_per_s", Rounded(sheet.gb_per_s)},
                              {"threads", sheet.threads}});
  }
  AddSweep(report, data);
  data["environment"] = report.environment.is_null() ? Json::object() : report.environment;
  data["environment"].erase("roofs");
  if (!report.calibration.is_null()) data["environment"]["calibration"] = report.calibration;
  return data;
}

std::string Banner(const std::string& text, bool bad) {
  return fmt::format("<p class=\"banner{}\">{}</p>\n", bad ? " bad" : "", EscapeXml(text));
}

// What a reader must know before he believes the rest.
std::string Banners(const Report& report, size_t left_out) {
  std::string text;
  int over = 0, noisy = 0, failed = 0;
  double floor = 0, busy = 0;
  for (const CaseResult& result : report.cases) {
    failed += !result.error.empty();
    if (!result.error.empty()) continue;
    over += result.efficiency > 1.03 && !SavesFlops(result.algorithm);
    noisy += result.time.noisy;
    floor = std::max(floor, result.noise_floor);
    busy = std::max(busy, result.busy_cpus);
  }
  if (!report.complete) text += Banner("The run was interrupted: not all cases were measured.", true);
  if (over > 0) {
    text += Banner(fmt::format("{} more than 3 % faster than their bound (OVER ROOF): a bound or a time is "
                               "wrong.",
                               over == 1 ? "1 case is" : fmt::format("{} cases are", over)),
                   true);
  }
  const auto cases = [](auto count) { return Counted(static_cast<size_t>(count), "case"); };
  if (failed > 0) text += Banner(cases(failed) + " failed or left out.", true);
  if (noisy > 0) text += Banner("In " + cases(noisy) + " most samples were disturbed from outside.", true);
  if (busy > kBusyCpus) {
    text += Banner(
        fmt::format("Other work kept up to {:.1f} CPUs busy: verdicts of those cases allow for what was missing of the "
                    "core.", busy), true);
  }
  if (floor > kNoisyFloor) {
    text += Banner(fmt::format("The noise floor (the same code against itself) reached {:.1f} %.", floor * 100), false);
  }
  if (left_out > 0) {
    text += Banner("Left out to keep this file small: " + cases(left_out) + " that took the least time.", false);
  }
  return text;
}

std::string Headline(const Report& report, const RooflinePlot& plot) {
  const Json& environment = report.environment;
  std::string text = plot.machine;
  const auto date = environment.find("date");
  if (date != environment.end() && date->is_string()) text += ", " + date->get<std::string>();
  const Summary summary = SummarizeCases(report.cases);
  text += ", " + Counted(report.cases.size(), "case");
  if (summary.efficiency.cases > 0) {
    text += fmt::format(", geomean {:.1f} % of the bound", summary.efficiency.geomean * 100);
  }
  if (const std::string baseline = BaselineName(report); summary.speedup_best && !baseline.empty()) {
    text += fmt::format(", {:.3f} times as fast as {}", summary.speedup_best->geomean, baseline);
  }
  return EscapeXml(text);
}

// For readers without JavaScript; the script replaces them.
std::string PlainRows(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.cases) {
    const std::string& label = result.name.empty() ? result.descriptor : result.name;
    if (!result.error.empty()) {
      text += fmt::format("<tr><td>{}</td><td>error: {}</td></tr>\n", EscapeXml(label), EscapeXml(result.error));
      continue;
    }
    text += fmt::format("<tr><td>{}</td><td>{:.2f} us</td><td>{:.1f} GFLOP/s</td><td>{:.1f} % of bound</td></tr>\n",
                        EscapeXml(label), result.time.median, result.gflops, result.efficiency * 100);
  }
  return text;
}

// "</script>" inside of the data would end it, "<!--<script>" would swallow what follows: no '<' stays.
std::string ScriptSafe(std::string json) {
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos; at += 6) json.replace(at, 1, "\\u003c");
  for (size_t at = 0; (at = json.find("<!--", at)) != std::string::npos; at += 5) json.replace(at, 4, "<\\u0021--");
  return json;
}

// Replaces each @NAME@ of the page once; values are not searched again.
std::string Fill(std::string_view page, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text;
  while (!page.empty()) {
    const size_t at = page.find('@');
    text += page.substr(0, at);
    if (at == std::string_view::npos) break;
    page.remove_prefix(at);
    const auto match = std::find_if(values.begin(), values.end(),
                                    [&](const auto& value) { return page.starts_with("@" + value.first + "@"); });
    if (match == values.end()) {
      text += '@';
      page.remove_prefix(1);
      continue;
    }
    text += match->second;
    page.remove_prefix(match->first.size() + 2);
  }
  return text;
}

std::string Compose(const Report& report, const HtmlOptions& options, size_t left_out) {
  RooflinePlot plot = MakeRooflinePlot(report);
  plot.sheets.insert(plot.sheets.end(), options.sheets.begin(), options.sheets.end());
  std::string svgs;
  size_t dots = 0;
  for (const RooflineView& view : plot.views) {
    svgs += RooflineSvg(plot, view);
    dots += view.dots.size();
  }
  const std::string data = DataJson(report, plot).dump(-1, ' ', false, Json::error_handler_t::replace);
  return Fill(ReportPage(), {{"TITLE", EscapeXml(options.title)},
                             {"STYLE", std::string(ReportStyle())},
                             {"DOTS", std::to_string(dots)},
                             {"HEADLINE", Headline(report, plot)},
                             {"BANNERS", Banners(report, left_out)},
                             {"SVG", svgs},
                             {"ROWS", PlainRows(report)},
                             {"DATA", ScriptSafe(data)},
                             {"CHART", std::string(ChartScript())},
                             {"SCRIPT", std::string(ReportScript())}});
}

// Without the `drop` cases that took the least time.
Report Without(const Report& report, size_t drop) {
  std::vector<size_t> order(report.cases.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return report.cases[a].time.median < report.cases[b].time.median; });
  order.erase(order.begin(), order.begin() + static_cast<ptrdiff_t>(drop));
  std::sort(order.begin(), order.end());
  Report shorter{report.environment, {}, report.sweep, report.calibration, report.complete};
  for (const size_t index : order) shorter.cases.push_back(report.cases[index]);
  return shorter;
}

}  // namespace

std::string WriteHtml(const Report& report, const HtmlOptions& options) {
  std::string text = Compose(report, options, 0);
  size_t drop = 0;
  while (text.size() > options.largest_bytes && report.cases.size() - drop > 1) {
    drop += std::max<size_t>(1, (report.cases.size() - drop) / 5);
    text = Compose(Without(report, drop), options, drop);
  }
  return text;
}

bool ChartsBuiltIn() noexcept { return !ChartScript().empty(); }

}  // namespace rafter::bench
