// bench/compare_text.cc: a comparison for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/compare.h"
#include "bench/printable.h"

namespace rafter::bench {
namespace {

// Names and messages come from files.
std::string Shown(const std::string& text) { return Printable(text, 1000); }

void List(const char* heading, const std::vector<std::string>& labels, std::string& text) {
  if (labels.empty()) return;
  text += heading;
  for (const std::string& label : labels) text += "\n  " + Shown(label);
  text += '\n';
}

// "B is incomplete: 2 of 10 cases of A have no time in it", and which.
void ListGaps(const char* name, const char* other, const Gaps& gaps, std::string& text) {
  if (!gaps.incomplete()) return;
  text += fmt::format("{} is incomplete: {} of {} cases of {} have no time in it{}\n", name, gaps.missing.size(),
                      gaps.timed_by_other, other, gaps.interrupted ? "; it was interrupted" : "");
  for (const MissingCase& one : gaps.missing) text += fmt::format("  {}: {}\n", Shown(one.label), Shown(one.reason));
}

std::string GateText(const ReportComparison& c, double fail_above) {
  const char* outcome = "passed";
  switch (JudgeGate(c)) {
    case GateOutcome::kPassed:
      break;
    case GateOutcome::kRegression:
      outcome = c.in_b.incomplete() ? "REGRESSION, and B is INCOMPLETE" : "REGRESSION";
      break;
    case GateOutcome::kTooNoisy:
      outcome = "TOO NOISY to decide";
      break;
    case GateOutcome::kIncomplete:
      outcome = "B is INCOMPLETE: cannot decide";
      break;
  }
  return fmt::format("gate (no case more than {:.4g} % slower): {}\n", fail_above * 100, outcome);
}

std::vector<std::string> Labels(const Gaps& gaps, bool absent) {
  std::vector<std::string> labels;
  for (const MissingCase& one : gaps.missing) {
    if (one.absent == absent) labels.push_back(one.label);
  }
  return labels;
}

nlohmann::ordered_json GapsJson(const Gaps& gaps) {
  nlohmann::ordered_json json = {{"incomplete", gaps.incomplete()},
                                 {"interrupted", gaps.interrupted},
                                 {"of", gaps.timed_by_other},
                                 {"missing", nlohmann::ordered_json::array()}};
  for (const MissingCase& one : gaps.missing) {
    json["missing"].push_back({{"case", one.label}, {"reason", one.reason}});
  }
  return json;
}

}  // namespace

std::string ComparisonText(const ReportComparison& c, const std::string& a, const std::string& b,
                           std::optional<double> fail_above) {
  std::string text = fmt::format("A = {}\nB = {}\n", a, b);
  if (c.differences.empty()) {
    text += "environments: the same\n";
  } else {
    List("environments differ:", c.differences, text);
    if (!c.comparable) text += "Times of different machines say nothing about the code: they are AMBIGUOUS.\n";
  }
  text += fmt::format("\n{:<44} {:>11} {:>11} {:>8} {:^17} {:<9} {}\n", "case", "A us", "B us", "speed-up",
                      "95 % interval", "B is", "by");
  std::vector<const CasePair*> sorted;
  for (const CasePair& pair : c.pairs) sorted.push_back(&pair);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CasePair* x, const CasePair* y) { return x->speedup < y->speedup; });
  for (const CasePair* pair : sorted) {
    fmt::format_to(std::back_inserter(text), "{:<44} {:>11.2f} {:>11.2f} {:>8.3f} [{:>6.3f}, {:>6.3f}] {:<9} {}{}\n",
                   Shown(pair->label), pair->a_us, pair->b_us, pair->speedup, pair->ci_low, pair->ci_high,
                   VerdictName(pair->verdict), pair->evidence, pair->regression ? "  REGRESSION" : "");
  }
  text += fmt::format("\nB over A: geomean {:.3f} over {} cases: {} faster, {} same, {} slower, {} ambiguous\n",
                      c.geomean, c.pairs.size(), c.faster, c.same, c.slower, c.ambiguous);
  ListGaps("A", "B", c.in_a, text);
  ListGaps("B", "A", c.in_b, text);
  List("no time in either run:", c.in_neither, text);
  return fail_above ? text + GateText(c, *fail_above) : text;
}

nlohmann::ordered_json ToJson(const ReportComparison& c) {
  nlohmann::ordered_json json = {{"schema", 1},
                                 {"environment_differences", c.differences},
                                 {"comparable", c.comparable},
                                 {"geomean", c.geomean},
                                 {"faster", c.faster},
                                 {"same", c.same},
                                 {"slower", c.slower},
                                 {"ambiguous", c.ambiguous}};
  json["cases"] = nlohmann::ordered_json::array();
  for (const CasePair& pair : c.pairs) {
    json["cases"].push_back({{"case", pair.label},
                             {"key", pair.key},
                             {"a_us", pair.a_us},
                             {"b_us", pair.b_us},
                             {"evidence", pair.evidence},
                             {"speedup", pair.speedup},
                             {"ci_low", pair.ci_low},
                             {"ci_high", pair.ci_high},
                             {"verdict", VerdictName(pair.verdict)},
                             {"regression", pair.regression},
                             {"undecided", pair.undecided}});
  }
  json["a"] = GapsJson(c.in_a);
  json["b"] = GapsJson(c.in_b);
  json["in_neither"] = c.in_neither;
  // The same by name only.
  json["only_a"] = Labels(c.in_b, true);
  json["only_b"] = Labels(c.in_a, true);
  json["broken"] = Labels(c.in_b, false);
  json["repaired"] = Labels(c.in_a, false);
  return json;
}

}  // namespace rafter::bench
