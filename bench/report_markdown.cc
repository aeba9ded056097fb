// bench/report_markdown.cc: the table for pull requests and documents.
#include <fmt/format.h>

#include "bench/report_table.h"

namespace rafter::bench {
namespace {

// A cell's text: bars would end it.
std::string Cell(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string VersusCells(const std::optional<VersusResult>& versus, const std::string& error) {
  if (!versus) return fmt::format(" n/a{}{} | - |", error.empty() ? "" : ": ", Cell(error));
  return fmt::format(" {:.3f} [{:.3f}, {:.3f}] {} | {} {} |", versus->speedup, versus->ci_low,
                     versus->ci_high, versus->verdict, Cell(versus->implementation),
                     Cell(versus->layout));
}

std::string Row(const CaseResult& result, bool versus) {
  std::string text = fmt::format("| {} | `{}` |", Cell(result.name), Cell(result.descriptor));
  if (!result.error.empty()) {
    text += fmt::format(" error: {} | - | - | - | - | - | - |", Cell(result.error));
    return text + (versus ? " - | - | - | - |\n" : "\n");
  }
  text += fmt::format(" `{}` | {:.2f} | {:.1f} | {:.1f} |", Cell(result.kernel), result.time.median,
                      result.time.median > 0
                          ? (result.time.p90 - result.time.p10) / 2 / result.time.median * 100
                          : 0.0,
                      MainFigure(result));
  if (result.bound_us > 0) {  // as in the table: the bound of the algorithm that ran
    text += fmt::format(" {:.2f} | {} | {:.1f}{} |", ShownBoundUs(result), ShownBinding(result),
                        result.efficiency * 100, result.own ? "\\*" : "");
  } else {
    text += " - | - | - |";
  }
  if (versus) text += VersusCells(result.vs_same, result.vs_error) +
                      VersusCells(result.vs_best, result.vs_error);
  return text + "\n";
}

}  // namespace

std::string WriteMarkdown(std::span<const CaseResult> cases, const Summary& summary,
                          const TableOptions& options) {
  std::string text;
  if (options.versus) {
    text +=
        fmt::format("Speed-up = time of {} / time of rafter, median over pairs [95 % interval].\n",
                    options.baseline);
    if (options.baseline_too_old) {
      text +=
          fmt::format("\n**Warning: {} is too old for claims about speed.**\n", options.baseline);
    }
    text += "\n";
  }
  text += "| case | descriptor | kernel | time us | ± % | " + options.figure + " | bound us | roof | % of bound |";
  if (options.versus) text += " same layout | its kernel | its best | its kernel |";
  text += "\n|---|---|---|--:|--:|--:|--:|---|--:|";
  if (options.versus) text += "---|---|---|---|";
  text += "\n";
  bool own = false;
  for (const CaseResult& result : cases) {
    text += Row(result, options.versus);
    own = own || result.own;
  }
  if (own) text += "\n\\* of the own bound of the algorithm that ran; GFLOP/s are effective.\n";
  TableOptions plain = options;
  plain.color = false;
  plain.baseline_too_old = false;  // said above
  const std::string footer = TableFooter(cases, summary, plain);
  if (!footer.empty()) text += "\n```\n" + footer + "```\n";
  return text;
}

}  // namespace rafter::bench
