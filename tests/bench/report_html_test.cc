// Tests of bench/report_html: one file, its data, its size. What a browser makes of it:
// tests/cli/report_browser_test.py.
#include "bench/report_html.h"

#include <gtest/gtest.h>

#include <regex>

#include "tests/bench/sample_report.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

Json DataOf(const std::string& html) {
  const std::string begin = "id=\"data\">";
  const size_t from = html.find(begin) + begin.size(), end = html.find("</script>", from);
  return Json::parse(html.substr(from, end - from));
}

TEST(WriteHtml, IsOneFileWithAllItNeeds) {
  const std::string html = WriteHtml(SampleReport(), {.title = "a <title>"});
  EXPECT_TRUE(html.starts_with("<!DOCTYPE html>"));
  EXPECT_NE(html.find("<title>rafter: a &lt;title&gt;</title>"), std::string::npos);
  EXPECT_EQ(std::regex_search(html, std::regex("(src|href)=\"(https?:)?//")), false) << "something from outside";
  EXPECT_EQ(html.find("@DATA@"), std::string::npos);
  EXPECT_EQ(html.find("@SCRIPT@"), std::string::npos);
  EXPECT_NE(html.find("data-dots=\"5\""), std::string::npos);
  EXPECT_NE(html.find("<svg "), std::string::npos);
  EXPECT_LE(html.size(), 600u * 1000);
}

TEST(WriteHtml, DataHoldCasesRoofsAndSheets) {
  Report report = SampleReport();
  report.cases[0].losses = {{"idle lanes", 5, "why"}};
  report.cases[0].model_us = 95;
  report.cases[0].sweep = {{"oc", 16}};
  report.sweep = {{"kind", "product"}, {"axes", {{{"name", "oc"}, {"values", {16}}}}}};
  report.calibration = {{"cases", 3}};
  const Json data = DataOf(WriteHtml(report, {.title = "t", .sheets = {{"Other machine", 4608, 96, 0}}}));
  ASSERT_EQ(data["cases"].size(), 6u);
  EXPECT_EQ(data["cases"][0]["losses"][0]["name"], "idle lanes");
  EXPECT_EQ(data["cases"][0]["model_us"], 95);
  EXPECT_EQ(data["cases"][4]["error"], "wrong output");
  EXPECT_EQ(data["views"][0]["levels"].size(), 4u);
  EXPECT_EQ(data["sheets"].size(), 2u);
  EXPECT_EQ(data["sweep"]["axes"][0]["name"], "oc");
  EXPECT_EQ(data["environment"]["calibration"]["cases"], 3);
  EXPECT_FALSE(data["environment"].contains("roofs"));
  EXPECT_EQ(data["baseline"], "oneDNN 3.12.1");
}

TEST(WriteHtml, NamesCannotBreakOut) {
  Report report = SampleReport();
  report.cases[0].name = "</script><script>alert(1)</script><!--";
  report.cases[1].name = "@DATA@";
  const std::string html = WriteHtml(report, {.title = "t"});
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  const Json data = DataOf(html);
  EXPECT_EQ(data["cases"][0]["name"], report.cases[0].name);
  EXPECT_EQ(data["cases"][1]["name"], "@DATA@");
}

TEST(WriteHtml, WarnsOfWhatSpoilsARun) {
  Report report = SampleReport();
  report.complete = false;
  report.cases[0].efficiency = 1.2;
  report.cases[1].busy_cpus = 1.5;
  report.cases[1].noise_floor = 0.05;
  const std::string html = WriteHtml(report, {.title = "t"});
  for (const char* part : {"interrupted", "OVER ROOF", "failed or left out", "1.5 CPUs busy", "noise floor"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
}

TEST(WriteHtml, LeavesOutShortCasesBeforeItGrowsTooLarge) {
  Report report = SampleReport();
  for (int i = 0; i < 3000; ++i) {
    CaseResult result = MakeCase("case " + std::to_string(i), 10, 20 + i);
    result.losses = {{"idle lanes", 5, std::string(200, 'x')}};
    report.cases.push_back(result);
  }
  const std::string html = WriteHtml(report, {.title = "t"});
  EXPECT_LE(html.size(), 600u * 1000);
  EXPECT_NE(html.find("Left out to keep this file small"), std::string::npos);
  EXPECT_NE(html.find("case 2999"), std::string::npos) << "the longest stays";
}

}  // namespace
}  // namespace rafter::bench
