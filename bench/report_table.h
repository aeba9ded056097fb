// bench/report_table.h: the report for people (terminal, Markdown) and for spreadsheets (CSV).
#ifndef RAFTER_BENCH_REPORT_TABLE_H_
#define RAFTER_BENCH_REPORT_TABLE_H_

#include <span>
#include <string>

#include "bench/case_result.h"
#include "bench/summary.h"

namespace rafter::bench {

struct TableOptions {
  // Of the first column. Kernels have a fixed one: longer names are cut in the table, whole everywhere else.
  int label_width = 34;
  // Heads the column of the main figure: that of operators is GB/s, and a table of both says "GF|GB/s".
  std::string figure = "GFLOP/s";
  bool versus = false;            // columns for the comparison
  bool color = false;             // terminal only: SGR sequences for verdicts and errors
  std::string baseline;           // "oneDNN 3.12.1", for the heading
  bool baseline_too_old = false;  // adds the warning "too old for claims"
};

// The width that the labels of these cases need, within reason.
int LabelWidth(std::span<const std::string> labels) noexcept;

// The pieces of the terminal table, so that rows can appear as they are measured.
std::string TableHeader(const TableOptions& options);
std::string TableRow(const CaseResult& result, const TableOptions& options);
// Geometric means, wins and losses, the worst five. `cases` are those of the summary.
std::string TableFooter(std::span<const CaseResult> cases, const Summary& summary,
                        const TableOptions& options);

// Whole documents; each ends with a newline.
std::string WriteMarkdown(std::span<const CaseResult> cases, const Summary& summary,
                          const TableOptions& options);
// One line per case, units in the column names, RFC 4180 quoting; all columns always.
std::string WriteCsv(std::span<const CaseResult> cases);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_REPORT_TABLE_H_
