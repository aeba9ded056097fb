// bench/report_table.cc: the table in the terminal.
#include "bench/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/neighbours.h"
#include "bench/printable.h"

namespace rafter::bench {
namespace {

constexpr double kOverRoof =
    1.03;  // beyond any error of the probes: a defect of the bound or the timing

constexpr int kKernelWidth = 44;

constexpr const char *kRed = "31", *kGreen = "32", *kYellow = "33";

std::string Paint(const std::string& text, const char* code, bool color) {
  return color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

std::string Label(const CaseResult& result) {
  return result.name.empty() ? result.descriptor : result.name;
}

// Half of the 10 % to 90 % range, in percent of the median.
double SpreadPercent(const TimeStats& time) {
  return time.median > 0 ? (time.p90 - time.p10) / 2 / time.median * 100 : 0;
}

std::string VersusCell(const std::optional<VersusResult>& versus, bool color) {
  if (!versus) return fmt::format("{:>30}", "n/a");
  const char* code = versus->verdict == "FASTER"   ? kGreen
                     : versus->verdict == "SLOWER" ? kRed
                                                   : kYellow;
  return fmt::format("{:>6.3f} [{:.3f},{:.3f}] ", versus->speedup, versus->ci_low,
                     versus->ci_high) +
         Paint(fmt::format("{:<9}", versus->verdict), code, color);
}

std::string BoundCells(const CaseResult& result, bool color) {
  if (!(result.bound_us > 0)) return fmt::format(" {:>10} {:>7} {:>7}", "-", "-", "-");
  // Never mixed: the bound of the algorithm that ran, and what the direct sum is bound by beside it.
  const std::string percent = fmt::format("{:.1f}{}", result.efficiency * 100, result.own ? "*" : "");
  std::string text = fmt::format(" {:>10.2f} {:>7} {:>7}", ShownBoundUs(result), ShownBinding(result), percent);
  if (result.disturbed) text += Paint(" disturbed", kYellow, color);
  if (result.efficiency > kOverRoof) text += Paint(" OVER ROOF", kRed, color);
  return text;
}

// What the asterisk stands for, at the end of the line.
std::string OwnRemark(const CaseResult& result) {
  if (!result.own) return {};
  return fmt::format("  * of {}'s own bound, {:.1f} GFLOP/s of its own; GFLOP/s are effective, direct bound {:.2f} us",
                     result.algorithm, result.own->gflops, result.bound_us);
}

// Exactly that wide, with "…" where something is missing. Labels may hold UTF-8; kernels' names don't.
std::string Fit(const std::string& text, int width) {
  return fmt::format("{:<{}}", fmt::formatted_size("{:.{}}", text, width) < fmt::formatted_size("{}", text)
                                   ? fmt::format("{:.{}}…", text, width - 1)
                                   : text,
                     width);
}

std::string SpeedupLine(const char* which, const std::optional<SpeedupSummary>& speedup) {
  if (!speedup) return {};
  return fmt::format("speed-up, {}: geomean {:.3f}, min {:.3f}; {} wins, {} ties, {} losses, {} ambiguous\n", which,
                     speedup->geomean, speedup->min, speedup->wins, speedup->ties, speedup->losses,
                     speedup->ambiguous);
}

std::string WorstLines(std::span<const CaseResult> cases, const Summary& summary) {
  std::string text;
  if (!summary.lowest_efficiency.empty()) text += "farthest from the bound:\n";
  for (size_t index : summary.lowest_efficiency) {
    const CaseResult& result = cases[index];
    text += fmt::format("  {:>5.1f} %  {}  ({}, {:.2f} us above)\n", result.efficiency * 100, Label(result),
                        result.kernel, result.time.median - ShownBoundUs(result));
  }
  if (!summary.lowest_speedup.empty()) text += "lowest speed-ups against its best:\n";
  for (size_t index : summary.lowest_speedup) {
    const VersusResult& versus = *cases[index].vs_best;
    text += fmt::format("  {:>5.3f}  {}  ({} {})\n", versus.speedup, Label(cases[index]),
                        versus.implementation, versus.layout);
  }
  return text;
}

}  // namespace

int LabelWidth(std::span<const std::string> labels) noexcept {
  constexpr size_t kLeast = 34, kMost = 60;
  size_t width = kLeast;
  for (const std::string& label : labels) width = std::max(width, std::min(kMost, label.size()));
  return static_cast<int>(width);
}

std::string TableHeader(const TableOptions& options) {
  std::string text;
  if (options.versus) {
    text +=
        fmt::format("speed-up = time of {} / time of rafter, median over pairs [95 % interval]\n",
                    options.baseline);
    if (options.baseline_too_old) {
      text += Paint(
          fmt::format("warning: {} is too old for claims about speed (3.0 or newer is needed)\n",
                      options.baseline),
          kYellow, options.color);
    }
  }
  text += fmt::format("{:<{}} {:<{}} {:>10} {:>5} {:>8} {:>10} {:>7} {:>7}", "case", options.label_width, "kernel",
                      kKernelWidth, "time us", "+- %", options.figure, "bound us", "roof", "% bound");
  if (options.versus)
    text += fmt::format(" {:^30} {:^30} {}", "same layout", "its best", "its kernel");
  return text + "\n";
}

std::string TableRow(const CaseResult& result, const TableOptions& options) {
  if (!result.error.empty()) {
    return Fit(Label(result), options.label_width) + " " +
           Paint("error: " + result.error, kRed, options.color) + "\n";
  }
  std::string text =
      fmt::format("{} {} {:>10.2f} {:>5.1f} {:>8.1f}", Fit(Label(result), options.label_width),
                  Fit(result.kernel, kKernelWidth), result.time.median, SpreadPercent(result.time), MainFigure(result));
  text += BoundCells(result, options.color);
  if (options.versus) {
    text += " " + VersusCell(result.vs_same, options.color) + " " +
            VersusCell(result.vs_best, options.color);
    if (result.vs_best) {
      text += fmt::format(" {} {}", result.vs_best->implementation, result.vs_best->layout);
    }
    if (!result.vs_error.empty()) text += " (" + result.vs_error + ")";
  }
  if (result.busy_cpus >= kBusyCpus) {
    text += Paint(fmt::format(" busy {:.1f}", result.busy_cpus), kYellow, options.color);
  }
  if (result.no_work) text += " no work: a batch of 0";
  if (result.time.noisy) text += Paint(" noisy", kYellow, options.color);
  return text + OwnRemark(result) + "\n";
}

std::string TableFooter(std::span<const CaseResult> cases, const Summary& summary,
                        const TableOptions& options) {
  std::string text;
  const EfficiencySummary& efficiency = summary.efficiency;
  if (efficiency.cases > 0) {
    text += fmt::format(
        "% of bound: geomean {:.1f}, p10 {:.1f}, min {:.1f} ({} with a bound of at least 1 "
        "us)\n",
        efficiency.geomean * 100, efficiency.p10 * 100, efficiency.min * 100,
        Counted(static_cast<size_t>(efficiency.cases), "case"));
  }
  if (summary.small.cases > 0) {
    text += fmt::format("small cases (bound below 1 us): {} of {} within 1.5 x bound + 0.3 us\n",
                        summary.small.within, summary.small.cases);
  }
  text += SpeedupLine("same layout", summary.speedup_same);
  text += SpeedupLine("against its best", summary.speedup_best);
  text += WorstLines(cases, summary);
  if (summary.failed > 0) {
    text += Paint(fmt::format("{} of {} failed\n", summary.failed, Counted(cases.size(), "case")), kRed,
                  options.color);
  }
  if (options.versus && options.baseline_too_old) {
    text += Paint(fmt::format("warning: {} is too old for claims about speed\n", options.baseline),
                  kYellow, options.color);
  }
  return text;
}

}  // namespace rafter::bench
