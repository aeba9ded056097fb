// bench/compare.h: two stored runs, case by case, with verdicts that say no more than the runs can tell.
//
// Runs at different times on one machine differ by clock and neighbours. So a pair is judged by the best evidence that
// both reports have:
//   paired  both compared the case with the same version of another library: the ratio of the two speed-ups, in which
//           machine and time cancel
//   clock   the case is bound by arithmetic and both runs probed the peak beside it: the ratio of the times in units of
//           the peak
//   time    the plain ratio of the medians
// The interval comes from both runs' intervals; nothing below the noise floor (1 %, 2 % for times, or what the runs
// themselves recorded) is called a difference. Of many cases some seem slower by chance: a case counts as a regression
// only if it also survives the procedure of Benjamini and Hochberg (false discovery rate 5 %).
//
// A case without a usable time in one of the runs (it is not there, was left out or interrupted, failed, or its median
// is not positive) is never dropped in silence: it is listed, and a B that lacks cases of A passes no gate.
#ifndef RAFTER_BENCH_COMPARE_H_
#define RAFTER_BENCH_COMPARE_H_

#include <optional>
#include <string>
#include <vector>

#include "bench/duel.h"
#include "bench/report_json.h"

namespace rafter::bench {

struct CasePair {
  std::string label, key;
  double a_us = 0, b_us = 0;
  std::string evidence;                         // "paired", "clock", "time"
  double speedup = 1, ci_low = 1, ci_high = 1;  // of B over A
  Verdict verdict = Verdict::kAmbiguous;        // B is FASTER, SLOWER, …
  double p_slower = 1;                          // one-sided
  bool regression = false, undecided = false;   // with a gate only
};

// A case that has a time in the other run.
struct MissingCase {
  std::string label, reason;  // "not in this run", "interrupted", "wrong output", "its median is 0 us"
  bool absent = false;        // the first of these
};

// What one of the two runs lacks.
struct Gaps {
  bool interrupted = false;  // the report says that it is incomplete
  int timed_by_other = 0;    // cases of the other run that have a time there
  std::vector<MissingCase> missing;

  bool incomplete() const noexcept { return interrupted || !missing.empty(); }
};

struct ReportComparison {
  std::vector<std::string> differences;  // of the environments
  bool comparable = true;                // false: times come from machines or sets that differ
  std::vector<CasePair> pairs;
  Gaps in_a, in_b;
  std::vector<std::string> in_neither;  // cases of both runs without a time in either
  double geomean = 1;                   // speed-up of B over the pairs
  int faster = 0, slower = 0, same = 0, ambiguous = 0;
};

// `fail_above`: B may be this much slower (0.03 = 3 %); absent: no gate.
ReportComparison CompareReports(const Report& a, const Report& b, std::optional<double> fail_above);

enum class GateOutcome { kPassed, kRegression, kTooNoisy, kIncomplete };
// Regression: a case is slower by more than allowed and certainly so, whatever else is the matter. Incomplete: B was
// interrupted or has no time of a case that A has. Too noisy: the runs are not comparable, no case is in both, or for
// more than a tenth of the cases a slowdown beyond the limit cannot be excluded.
GateOutcome JudgeGate(const ReportComparison& comparison);

std::string ComparisonText(const ReportComparison& comparison, const std::string& a, const std::string& b,
                           std::optional<double> fail_above);
nlohmann::ordered_json ToJson(const ReportComparison& comparison);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_COMPARE_H_
