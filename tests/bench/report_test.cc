// Tests of bench/summary and of the reports: JSON with its round trip, table, Markdown, CSV.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "bench/report_json.h"
#include "bench/report_table.h"
#include "bench/summary.h"

namespace rafter::bench {
namespace {

CaseResult MakeCase(const std::string& name, double bound_us, double time_us) {
  CaseResult result;
  result.descriptor = "mb1ic64ih56oc64oh56kh3ph1";
  result.name = name;
  result.layout = "NHWC";
  result.isa = "avx2";
  result.algorithm = "direct";
  result.kernel = "direct_f32_avx2_px6_oc2v";
  result.time = {time_us,
                 time_us * 0.99,
                 time_us * 0.995,
                 time_us * 1.02,
                 time_us * 0.998,
                 time_us * 1.002,
                 120,
                 3,
                 5,
                 false};
  result.create_us = 61.5;
  result.flops_valid = 2.25e8;
  result.flops_nominal = 2.3e8;
  result.bytes = 1.7e6;
  result.gflops = result.flops_valid / time_us * 1e-3;
  result.bound_us = bound_us;
  result.binding = "compute";
  result.efficiency = bound_us / time_us;
  return result;
}

VersusResult MakeVersus(double speedup, const char* verdict) {
  return {"oneDNN", "3.12.1", "brgconv:avx2", "NHWC",         100 * speedup,
          350,      speedup,  speedup - 0.01, speedup + 0.01, verdict};
}

std::vector<CaseResult> MakeCases() {
  std::vector<CaseResult> cases = {MakeCase("a", 90, 100),     MakeCase("b", 40, 100),
                                   MakeCase("tiny", 0.5, 1.0), MakeCase("tiny2", 0.5, 2.0),
                                   MakeCase("bad", 1, 1),      MakeCase("unbound", 0, 10)};
  cases[0].vs_same = MakeVersus(1.2, "FASTER");
  cases[0].vs_best = MakeVersus(1.0, "SAME");
  cases[1].vs_same = MakeVersus(0.9, "SLOWER");
  cases[1].vs_best = MakeVersus(0.8, "SLOWER");
  cases[2].vs_same = MakeVersus(1.0, "AMBIGUOUS");
  cases[4].error = "wrong output";
  cases[5].efficiency = 0;
  cases[5].binding = "";
  return cases;
}

TEST(Summary, CountsAndMeans) {
  const Summary summary = SummarizeCases(MakeCases());
  EXPECT_EQ(summary.efficiency.cases, 2);
  EXPECT_NEAR(summary.efficiency.geomean, 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(summary.efficiency.min, 0.4);
  EXPECT_NEAR(summary.efficiency.p10, 0.45, 1e-12);
  EXPECT_EQ(summary.small.cases, 2);
  EXPECT_EQ(summary.small.within, 1);  // 1.0 <= 1.5 * 0.5 + 0.3 < 2.0
  ASSERT_TRUE(summary.speedup_same && summary.speedup_best);
  EXPECT_EQ(summary.speedup_same->wins, 1);
  EXPECT_EQ(summary.speedup_same->ties, 1);
  EXPECT_EQ(summary.speedup_same->losses, 1);
  EXPECT_DOUBLE_EQ(summary.speedup_best->min, 0.8);
  EXPECT_NEAR(summary.speedup_best->geomean, std::sqrt(0.8), 1e-12);
  EXPECT_EQ(summary.lowest_efficiency, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(summary.lowest_speedup, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(summary.failed, 1);
  EXPECT_FALSE(SummarizeCases({}).speedup_same.has_value());
}

TEST(ReportJson, HasTheFieldsOfTheSchema) {
  Report report;
  report.cases = MakeCases();
  report.environment = {{"cpu", "x"}, {"roofs", nlohmann::ordered_json::array()}};
  const nlohmann::ordered_json json = ToJson(report);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["complete"], true);
  EXPECT_TRUE(json["environment"].contains("roofs"));
  const auto& first = json["cases"][0];
  for (const char* key : {"descriptor", "name", "layout", "threads", "isa", "kernel", "time_us",
                          "create_us", "flops_valid", "flops_nominal", "bytes", "gflops",
                          "bound_us", "binding", "efficiency", "vs_same", "vs_best"}) {
    EXPECT_TRUE(first.contains(key)) << key;
  }
  for (const char* key :
       {"median", "min", "p10", "p90", "ci_low", "ci_high", "samples", "discarded"}) {
    EXPECT_TRUE(first["time_us"].contains(key)) << key;
  }
  for (const char* key : {"library", "version", "implementation", "layout", "time_us", "create_us",
                          "speedup", "ci_low", "ci_high", "verdict"}) {
    EXPECT_TRUE(first["vs_same"].contains(key)) << key;
  }
  EXPECT_TRUE(json["cases"][2]["vs_best"].is_null());
  EXPECT_EQ(json["cases"][4]["error"], "wrong output");
  EXPECT_FALSE(json["cases"][4].contains("time_us"));
  EXPECT_TRUE(json["cases"][5]["bound_us"].is_null());
  EXPECT_EQ(json["summary"]["efficiency"]["cases"], 2);
  EXPECT_EQ(json["summary"]["small"]["within"], 1);
  EXPECT_EQ(json["summary"]["speedup_same"]["wins"], 1);
  EXPECT_EQ(json["summary"]["speedup_best"]["losses"], 1);
}

TEST(ReportJson, RoundTripsWithoutNan) {
  Report report;
  report.cases = MakeCases();
  report.cases[0].gflops = std::numeric_limits<double>::infinity();
  report.cases[1].vs_best->speedup = std::numeric_limits<double>::quiet_NaN();
  report.cases[2].name = "quote \" bar | comma , \xff";
  report.environment = {{"load", std::numeric_limits<double>::quiet_NaN()}};
  report.complete = false;
  const std::string text = WriteJson(report);
  for (const char* word : {"nan", "inf", "NaN", "Infinity"}) {
    EXPECT_EQ(text.find(word), std::string::npos) << word;
  }
  const Result<Report> again = ReadJson(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_FALSE(again->complete);
  ASSERT_EQ(again->cases.size(), report.cases.size());
  EXPECT_EQ(again->cases[0].time.ci_high, report.cases[0].time.ci_high);
  EXPECT_EQ(again->cases[1].vs_same->verdict, "SLOWER");
  EXPECT_EQ(again->cases[4].error, "wrong output");
  EXPECT_EQ(again->cases[5].bound_us, 0);
  EXPECT_EQ(WriteJson(*again), text);
}

TEST(ReportJson, NamesWhatIsWrong) {
  EXPECT_FALSE(ReadJson("").ok());
  EXPECT_FALSE(ReadJson("[]").ok());
  EXPECT_NE(ReadJson(R"({"schema": 2})").status().message().find("schema is 2"),
            std::string_view::npos);
  const std::string text = R"({"schema":1,"environment":{},"cases":[{"descriptor":"x","name":1}]})";
  EXPECT_NE(ReadJson(text).status().message().find("cases[0].name"), std::string_view::npos);
  EXPECT_FALSE(ReadJson(R"({"schema":1,"environment":{},"cases":[null]})").ok());
  EXPECT_FALSE(ReadJson(R"({"schema":1,"environment":{},"cases":{}})").ok());
}

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
  EXPECT_NE(footer.find("1 wins, 1 ties, 1 losses"), std::string::npos);
  EXPECT_NE(footer.find("1 of 6 cases failed"), std::string::npos);
  EXPECT_EQ((header + footer).find('\x1b'), std::string::npos);
  options.color = true;
  EXPECT_NE(TableRow(cases[1], options).find('\x1b'), std::string::npos);
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
