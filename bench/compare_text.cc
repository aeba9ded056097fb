// bench/compare_text.cc: a comparison for people and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "bench/compare.h"

namespace rafter::bench {
namespace {

void List(const char* heading, const std::vector<std::string>& labels, std::string& text) {
  if (labels.empty()) return;
  text += heading;
  for (const std::string& label : labels) text += "\n  " + label;
  text += '\n';
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
                   pair->label, pair->a_us, pair->b_us, pair->speedup, pair->ci_low, pair->ci_high,
                   VerdictName(pair->verdict), pair->evidence, pair->regression ? "  REGRESSION" : "");
  }
  text += fmt::format("\nB over A: geomean {:.3f} over {} cases: {} faster, {} same, {} slower, {} ambiguous\n",
                      c.geomean, c.pairs.size(), c.faster, c.same, c.slower, c.ambiguous);
  List("only in A:", c.only_a, text);
  List("only in B:", c.only_b, text);
  List("works in A, fails in B:", c.broken, text);
  List("fails in A, works in B:", c.repaired, text);
  if (!fail_above) return text;
  const char* outcome[] = {"passed", "REGRESSION", "TOO NOISY to decide"};
  text += fmt::format("gate (no case more than {:.4g} % slower): {}\n", *fail_above * 100,
                      outcome[static_cast<int>(JudgeGate(c))]);
  return text;
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
  json["only_a"] = c.only_a;
  json["only_b"] = c.only_b;
  json["broken"] = c.broken;
  json["repaired"] = c.repaired;
  return json;
}

}  // namespace rafter::bench
