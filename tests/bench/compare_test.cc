// Tests of bench/compare: evidence, verdicts, gate.
#include "bench/compare.h"

#include <gtest/gtest.h>

#include "tests/bench/sample_cases.h"

namespace rafter::bench {
namespace {

using Json = nlohmann::ordered_json;

CaseResult Timed(int number, double us, double half_width = 0.002) {
  CaseResult result = MakeCase("case " + std::to_string(number), 50, us);
  result.descriptor = "mb1ic16ih8oc" + std::to_string(16 * (number + 1)) + "kh1";
  result.time.ci_low = us * (1 - half_width);
  result.time.ci_high = us * (1 + half_width);
  return result;
}

Report MakeReport(double us, int cases = 10, double half_width = 0.002) {
  Report report;
  report.environment = {{"cpu", {{"model_name", "A"}}}};
  for (int i = 0; i < cases; ++i) report.cases.push_back(Timed(i, us + i, half_width));
  return report;
}

TEST(CompareReports, ARunAgainstItselfIsTheSame) {
  const ReportComparison c = CompareReports(MakeReport(100), MakeReport(100), 0.03);
  EXPECT_EQ(c.same, 10);
  EXPECT_NEAR(c.geomean, 1, 1e-12);
  EXPECT_TRUE(c.differences.empty());
  EXPECT_EQ(JudgeGate(c), GateOutcome::kPassed);
}

TEST(CompareReports, FindsTheCaseThatBecameSlower) {
  Report b = MakeReport(100);
  b.cases[4] = Timed(4, 104 * 1.10);
  const ReportComparison c = CompareReports(MakeReport(100), b, 0.03);
  EXPECT_EQ(c.slower, 1);
  EXPECT_EQ(c.pairs[4].verdict, Verdict::kSlower);
  EXPECT_EQ(c.pairs[4].evidence, "time");
  EXPECT_NEAR(c.pairs[4].speedup, 1 / 1.10, 1e-9);
  EXPECT_TRUE(c.pairs[4].regression);
  EXPECT_EQ(JudgeGate(c), GateOutcome::kRegression);
  // Slower, but by less than is allowed.
  EXPECT_EQ(JudgeGate(CompareReports(MakeReport(100), b, 0.15)), GateOutcome::kPassed);
  const std::string text = ComparisonText(c, "a", "b", 0.03);
  EXPECT_NE(text.find("REGRESSION"), std::string::npos);
  EXPECT_NE(text.find("environments: the same"), std::string::npos);
}

TEST(CompareReports, NoiseIsAmbiguousAndTheGateSaysSo) {
  const ReportComparison c = CompareReports(MakeReport(100, 10, 0.10), MakeReport(103, 10, 0.10), 0.03);
  EXPECT_EQ(c.ambiguous, 10);
  EXPECT_EQ(JudgeGate(c), GateOutcome::kTooNoisy);
  Report busy = MakeReport(100);
  for (CaseResult& result : busy.cases) result.busy_cpus = 1;
  EXPECT_EQ(CompareReports(MakeReport(100), busy, 0.03).ambiguous, 10);
  EXPECT_EQ(JudgeGate(CompareReports(MakeReport(100), busy, 0.03)), GateOutcome::kTooNoisy);
}

TEST(CompareReports, PairsWithAnotherLibraryCancelTheMachine) {
  Report a = MakeReport(100), b = MakeReport(200);  // the machine was half as fast
  for (Report* report : {&a, &b}) {
    for (CaseResult& result : report->cases) result.vs_same = MakeVersus(1.2, "FASTER");
  }
  const ReportComparison c = CompareReports(a, b, 0.03);
  EXPECT_EQ(c.pairs[0].evidence, "paired");
  EXPECT_EQ(c.slower, 0);
  EXPECT_NEAR(c.geomean, 1, 1e-12);
}

TEST(CompareReports, ProbesCancelTheClock) {
  Report a = MakeReport(100), b = MakeReport(110);
  for (size_t i = 0; i < a.cases.size(); ++i) {
    a.cases[i].peak_gflops = 110;
    b.cases[i] = Timed(static_cast<int>(i), a.cases[i].time.median * 1.1);
    b.cases[i].peak_gflops = 100;
  }
  const ReportComparison c = CompareReports(a, b, std::nullopt);
  EXPECT_EQ(c.pairs[0].evidence, "clock");
  EXPECT_EQ(c.same, 10);
}

TEST(CompareReports, OtherMachinesDecideNothing) {
  Report b = MakeReport(200);
  b.environment["cpu"]["model_name"] = "B";
  const ReportComparison c = CompareReports(MakeReport(100), b, 0.03);
  EXPECT_FALSE(c.comparable);
  EXPECT_EQ(c.ambiguous, 10);
  EXPECT_EQ(JudgeGate(c), GateOutcome::kTooNoisy);
  EXPECT_NE(ComparisonText(c, "a", "b", 0.03).find("processor: A against B"), std::string::npos);
}

TEST(CompareReports, ListsWhatIsInOneOnly) {
  Report a = MakeReport(100, 3), b = MakeReport(100, 4);
  b.cases.erase(b.cases.begin());
  b.cases[0].error = "wrong output";
  const ReportComparison c = CompareReports(a, b, 0.03);
  EXPECT_EQ(c.only_a, std::vector<std::string>{"case 0"});
  EXPECT_EQ(c.only_b, std::vector<std::string>{"case 3"});
  EXPECT_EQ(c.broken, std::vector<std::string>{"case 1"});
  EXPECT_EQ(JudgeGate(c), GateOutcome::kRegression);
  EXPECT_EQ(ToJson(c)["broken"][0], "case 1");
}

TEST(CompareReports, NothingInCommonCannotPass) {
  EXPECT_EQ(JudgeGate(CompareReports(MakeReport(100, 1), Report(), 0.03)), GateOutcome::kTooNoisy);
}

}  // namespace
}  // namespace rafter::bench
