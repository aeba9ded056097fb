// Tests of bench/report_table: terminal table, Markdown, CSV.
#include "bench/report_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

TEST(ReportTable, ShowsEverythingThatMatters) {
  std::vector<CaseResult> cases = MakeCases();
  cases[0].efficiency = 1.2;
  const Summary summary = SummarizeCases(cases);
  TableOptions options;
  options.versus = true;
  options.baseline = "oneDNN 2.6.3";
  options.baseline_too_old = true;
  const std::string header = TableHeader(options);
  EXPECT_NE(header.find("too old"), std::string::npos);
  EXPECT_NE(header.find("time us"), std::string::npos);
  EXPECT_NE(TableRow(cases[0], options).find("OVER ROOF"), std::string::npos);
  EXPECT_NE(TableRow(cases[1], options).find("SLOWER"), std::string::npos);
  EXPECT_NE(TableRow(cases[4], options).find("error: wrong output"), std::string::npos);
  const std::string footer = TableFooter(cases, summary, options);
  EXPECT_NE(footer.find("geomean"), std::string::npos);
  EXPECT_NE(footer.find("1 wins, 0 ties, 1 losses, 1 ambiguous"), std::string::npos);
  EXPECT_NE(footer.find("1 of 6 cases failed"), std::string::npos);
  EXPECT_EQ((header + footer).find('\x1b'), std::string::npos);
  options.color = true;
  EXPECT_NE(TableRow(cases[1], options).find('\x1b'), std::string::npos);
}

// Columns stay in line whether an algorithm is measured by its own bound or not; the remark comes last.
TEST(ReportTable, MarksABoundOfItsOwn) {
  std::vector<CaseResult> cases = MakeCases();
  TableOptions options;
  options.versus = true;
  CaseResult plain = cases[1];
  plain.algorithm = "winograd_f4", plain.own.reset();
  CaseResult own = plain;
  own.own = OwnWork{};
  own.own->bound_us = plain.bound_us, own.own->binding = plain.binding, own.own->gflops = 12.5;
  const std::string with = TableRow(own, options), without = TableRow(plain, options);
  EXPECT_EQ(with.find("SLOWER"), without.find("SLOWER"));
  EXPECT_EQ(without.find('*'), std::string::npos);
  EXPECT_NE(with.find("  * of winograd_f4's own bound, 12.5 GFLOP/s of its own; GFLOP/s are effective, direct bound"),
            std::string::npos)
      << with;
}

// A name that is too long is cut: what follows stays in its column.
TEST(ReportTable, SaysWhereNothingWasToBeDone) {
  CaseResult result;
  result.time = Summarize({0.01});
  result.no_work = true;
  EXPECT_NE(TableRow(result, {}).find("no work"), std::string::npos);
  result.no_work = false;
  EXPECT_EQ(TableRow(result, {}).find("no work"), std::string::npos);
}

TEST(ReportTable, LongNamesMoveNoColumn) {
  std::vector<CaseResult> cases = MakeCases();
  TableOptions options;
  const std::string plain = TableRow(cases[0], options);
  CaseResult longer = cases[0];
  longer.kernel = std::string(60, 'k');
  longer.name = std::string(80, 'n');
  const std::string cut = TableRow(longer, options);
  constexpr size_t kDots = 2 * 2;  // two characters of three bytes that stand for one column each
  EXPECT_EQ(cut.find("compute"), plain.find("compute") + kDots) << plain << cut;
  EXPECT_EQ(TableHeader(options).find("roof") + 4, plain.find("compute") + 7);
  const std::vector<std::string> labels = {"short", std::string(45, 'n')};
  options.label_width = LabelWidth(labels);
  EXPECT_EQ(options.label_width, 45);
  EXPECT_EQ(TableRow(cases[0], options).find("compute"), plain.find("compute") + 45 - 34);
}

TEST(ReportTable, MarkdownRowsHaveTheHeadersWidth) {
  std::vector<CaseResult> cases = MakeCases();
  cases[0].name = "a|b";
  TableOptions options;
  options.versus = true;
  options.baseline = "oneDNN 3.12.1";
  std::istringstream lines(WriteMarkdown(cases, SummarizeCases(cases), options));
  std::string line;
  std::vector<size_t> widths;
  while (std::getline(lines, line)) {
    if (line.empty() || line[0] != '|') continue;
    size_t bars = 0;
    for (size_t i = 0; i < line.size(); ++i)
      bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    widths.push_back(bars);
  }
  ASSERT_EQ(widths.size(), cases.size() + 2);
  for (size_t width : widths) EXPECT_EQ(width, widths[0]);
}

TEST(ReportTable, MarkdownShowsTheBoundOfTheAlgorithmThatRan) {
  std::vector<CaseResult> cases = MakeCases();
  cases.resize(1);
  cases[0].bound_us = 200, cases[0].efficiency = 0.5;
  cases[0].own.emplace();
  cases[0].own->bound_us = 64, cases[0].own->binding = "L2";
  const std::string text = WriteMarkdown(cases, SummarizeCases(cases), {});
  EXPECT_NE(text.find("| 64.00 | L2 | 50.0\\* |"), std::string::npos) << text;
  EXPECT_NE(text.find("own bound"), std::string::npos);
}

TEST(ReportTable, CsvQuotesAndHasAllColumns) {
  std::vector<CaseResult> cases = MakeCases();
  cases[0].name = "a,\"b\"";
  const std::string csv = WriteCsv(cases);
  EXPECT_NE(csv.find("\"a,\"\"b\"\"\""), std::string::npos);
  EXPECT_EQ(csv.rfind("descriptor,name,layout,threads,isa,", 0), 0u);
  EXPECT_NE(csv.find("time_median_us"), std::string::npos);
  std::istringstream lines(csv);
  std::string line;
  std::vector<long> commas;
  while (std::getline(lines, line)) {
    if (line.find('"') == std::string::npos) {
      commas.push_back(std::count(line.begin(), line.end(), ','));
    }
  }
  ASSERT_EQ(commas.size(), cases.size());  // all but the quoted one
  for (long count : commas) EXPECT_EQ(count, commas[0]);
}

}  // namespace
}  // namespace rafter::bench
