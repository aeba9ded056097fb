// Tests of bench/report_json: the schema, the round trip, no NaN, errors that name the field.
#include "bench/report_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

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

}  // namespace
}  // namespace rafter::bench
