// Tests of bench/compare: evidence, verdicts, gate.
#include "bench/compare.h"

#include <gtest/gtest.h>

#include <limits>

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

TEST(CompareReports, ListsWhatEitherLacksAndDecidesNothingWithoutIt) {
  Report a = MakeReport(100, 3), b = MakeReport(100, 4);
  b.cases.erase(b.cases.begin());
  b.cases[0].error = "wrong output";
  const ReportComparison c = CompareReports(a, b, 0.03);
  ReportComparison hostile = c;
  hostile.in_b.missing[0].label = "\x1b[31mred\n2nd";
  EXPECT_NE(ComparisonText(hostile, "a", "b", 0.03).find("  \\x1b[31mred\\x0a2nd: not in"), std::string::npos);
  ASSERT_EQ(c.in_b.missing.size(), 2u);
  EXPECT_EQ(c.in_b.timed_by_other, 3);
  EXPECT_EQ(c.in_b.missing[0].label, "case 0");
  EXPECT_EQ(c.in_b.missing[0].reason, "not in this run");
  EXPECT_EQ(c.in_b.missing[1].label, "case 1");
  EXPECT_EQ(c.in_b.missing[1].reason, "wrong output");
  ASSERT_EQ(c.in_a.missing.size(), 1u);
  EXPECT_EQ(c.in_a.missing[0].label, "case 3");
  EXPECT_EQ(JudgeGate(c), GateOutcome::kIncomplete);
  const std::string text = ComparisonText(c, "a", "b", 0.03);
  EXPECT_NE(text.find("B is incomplete: 2 of 3 cases of A have no time in it\n  case 0: not in this run\n"
                      "  case 1: wrong output\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("A is incomplete: 1 of 2 cases of B have no time in it"), std::string::npos) << text;
  EXPECT_NE(text.find("B is INCOMPLETE: cannot decide"), std::string::npos) << text;
  EXPECT_EQ(ToJson(c)["broken"][0], "case 1");
  EXPECT_EQ(ToJson(c)["only_a"][0], "case 0");
  EXPECT_EQ(ToJson(c)["b"]["missing"][1]["reason"], "wrong output");
}

TEST(CompareReports, AnInterruptedRunPassesNoGate) {
  Report a = MakeReport(100), b = MakeReport(100);
  b.complete = false;
  EXPECT_EQ(JudgeGate(CompareReports(a, b, 0.03)), GateOutcome::kIncomplete) << "though no case is missing";
  b.cases.back().error = kInterrupted;
  const ReportComparison c = CompareReports(a, b, 0.03);
  EXPECT_EQ(JudgeGate(c), GateOutcome::kIncomplete);
  EXPECT_NE(ComparisonText(c, "a", "b", 0.03).find("1 of 10 cases of A have no time in it; it was interrupted"),
            std::string::npos);
  EXPECT_EQ(c.same, 9);
  EXPECT_TRUE(ToJson(c)["b"]["interrupted"]);
  // An incomplete A says so, and hinders nothing that it has.
  const ReportComparison back = CompareReports(b, a, 0.03);
  EXPECT_TRUE(back.in_a.incomplete());
  EXPECT_EQ(JudgeGate(back), GateOutcome::kPassed);
}

TEST(CompareReports, ARegressionCountsThoughBIsIncomplete) {
  Report b = MakeReport(100);
  b.cases[4] = Timed(4, 104 * 1.10);
  b.cases.pop_back();
  const ReportComparison c = CompareReports(MakeReport(100), b, 0.03);
  EXPECT_EQ(JudgeGate(c), GateOutcome::kRegression);
  EXPECT_NE(ComparisonText(c, "a", "b", 0.03).find("REGRESSION, and B is INCOMPLETE"), std::string::npos);
}

TEST(CompareReports, MediansThatAreNoTimesAreNotDropped) {
  Report a = MakeReport(100, 3), b = MakeReport(100, 3);
  b.cases[0].time.median = 0;
  b.cases[1].time.median = std::numeric_limits<double>::quiet_NaN();
  a.cases[2].time.median = b.cases[2].time.median = -1;
  const ReportComparison c = CompareReports(a, b, 0.03);
  ASSERT_EQ(c.in_b.missing.size(), 2u);
  EXPECT_EQ(c.in_b.missing[0].reason, "its median is 0 us");
  EXPECT_EQ(c.in_b.missing[1].reason, "its median is nan us");
  EXPECT_EQ(c.in_neither, std::vector<std::string>{"case 2"});
  EXPECT_EQ(JudgeGate(c), GateOutcome::kIncomplete);
}

TEST(CompareReports, NothingInCommonCannotPass) {
  EXPECT_EQ(JudgeGate(CompareReports(MakeReport(100, 1), Report(), 0.03)), GateOutcome::kIncomplete);
  EXPECT_EQ(JudgeGate(CompareReports(Report(), MakeReport(100, 1), 0.03)), GateOutcome::kTooNoisy);
}

}  // namespace
}  // namespace rafter::bench
