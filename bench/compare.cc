// bench/compare.cc: joining and judging; the text is in compare_text.cc.
#include "bench/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "bench/merge.h"
#include "bench/neighbours.h"
#include "bench/statistics.h"

namespace rafter::bench {
namespace {

constexpr double kNormal95 = 1.96;
constexpr double kTimeFloor = 0.02, kPairedFloor = 0.01;
constexpr double kFalseDiscoveries = 0.05;
constexpr double kMostUndecided = 0.10;

std::string LabelOf(const CaseResult& result) { return result.name.empty() ? result.descriptor : result.name; }

// Half of an interval, as a logarithm.
double LogHalf(double low, double high) { return low > 0 && high > low ? std::log(high / low) / 2 : 0; }

bool SameLibrary(const std::optional<VersusResult>& a, const std::optional<VersusResult>& b) {
  return a && b && a->library == b->library && a->version == b->version && a->layout == b->layout &&
         a->implementation == b->implementation && a->speedup > 0 && b->speedup > 0;
}

// Logarithm of the speed-up of B and half of its interval.
struct PairEvidence {
  double log_speedup = 0, half = 0, floor = 0;
  const char* name = "time";
};

PairEvidence Gather(const CaseResult& a, const CaseResult& b) {
  if (SameLibrary(a.vs_same, b.vs_same)) {
    return {std::log(b.vs_same->speedup / a.vs_same->speedup),
            std::hypot(LogHalf(a.vs_same->ci_low, a.vs_same->ci_high), LogHalf(b.vs_same->ci_low, b.vs_same->ci_high)),
            std::max({kPairedFloor, a.noise_floor, b.noise_floor}), "paired"};
  }
  PairEvidence evidence;
  evidence.log_speedup = std::log(a.time.median / b.time.median);
  evidence.half = std::hypot(LogHalf(a.time.ci_low, a.time.ci_high), LogHalf(b.time.ci_low, b.time.ci_high));
  evidence.floor = std::max({kTimeFloor, a.noise_floor, b.noise_floor});
  const bool probed = a.peak_gflops > 0 && b.peak_gflops > 0 && !a.disturbed && !b.disturbed;
  if (probed && a.binding == "compute" && b.binding == "compute") {
    evidence.log_speedup += std::log(a.peak_gflops / b.peak_gflops);
    evidence.name = "clock";
  }
  return evidence;
}

CasePair JudgePair(const CaseResult& a, const CaseResult& b) {
  CasePair pair;
  pair.label = LabelOf(b);
  pair.key = CaseKey(b);
  pair.a_us = a.time.median;
  pair.b_us = b.time.median;
  const PairEvidence evidence = Gather(a, b);
  pair.evidence = evidence.name;
  pair.speedup = std::exp(evidence.log_speedup);
  pair.ci_low = std::exp(evidence.log_speedup - evidence.half);
  pair.ci_high = std::exp(evidence.log_speedup + evidence.half);
  pair.verdict = Judge(pair.ci_low, pair.ci_high, evidence.floor);
  // A busy machine or mostly disturbed samples: the interval does not know what it does not see.
  const bool doubtful = a.busy_cpus >= kBusyCpus || b.busy_cpus >= kBusyCpus || a.time.noisy || b.time.noisy;
  if (doubtful) pair.verdict = Verdict::kAmbiguous;
  const double deviation = std::max(evidence.half, 1e-9) / kNormal95;
  const double beyond_floor = -evidence.log_speedup - std::log1p(evidence.floor);
  pair.p_slower = doubtful ? 1 : 0.5 * std::erfc(beyond_floor / deviation / std::sqrt(2.0));
  return pair;
}

// Benjamini and Hochberg: with the k-th smallest of m values at most k / m of the rate, the k smallest count.
double LargestCounting(const std::vector<CasePair>& pairs) {
  std::vector<double> values;
  for (const CasePair& pair : pairs) values.push_back(pair.p_slower);
  std::sort(values.begin(), values.end());
  double largest = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    const double limit = kFalseDiscoveries * static_cast<double>(i + 1) / static_cast<double>(values.size());
    if (values[i] <= limit) largest = values[i];
  }
  return largest;
}

void ApplyGate(double fail_above, std::vector<CasePair>& pairs) {
  const double counting = LargestCounting(pairs);
  for (CasePair& pair : pairs) {
    const bool slower = pair.verdict == Verdict::kSlower && pair.p_slower <= counting;
    pair.regression = slower && pair.speedup < 1 / (1 + fail_above);
    // Not proven, and not excluded either.
    pair.undecided = !pair.regression && (pair.ci_low < 1 / (1 + fail_above) || pair.p_slower == 1) &&
                     pair.verdict == Verdict::kAmbiguous;
  }
}

void Count(ReportComparison& comparison) {
  std::vector<double> speedups;
  for (const CasePair& pair : comparison.pairs) {
    speedups.push_back(pair.speedup);
    comparison.faster += pair.verdict == Verdict::kFaster;
    comparison.slower += pair.verdict == Verdict::kSlower;
    comparison.same += pair.verdict == Verdict::kSame;
    comparison.ambiguous += pair.verdict == Verdict::kAmbiguous;
  }
  comparison.geomean = GeometricMean(speedups);
}

// Why a case has no time to compare; empty: it has one.
std::string WhyNoTime(const CaseResult& result) {
  if (!result.error.empty()) return result.error;
  if (result.time.median > 0 && std::isfinite(result.time.median)) return {};
  return fmt::format("its median is {:.6g} us", result.time.median);
}

using CaseMap = std::map<std::string, const CaseResult*>;

CaseMap ByKey(const Report& report) {
  CaseMap map;
  for (const CaseResult& result : report.cases) map.emplace(CaseKey(result), &result);
  return map;
}

// What `report` lacks of the cases that the `other` one has a time of.
Gaps FindGaps(const Report& report, const Report& other) {
  Gaps gaps;
  gaps.interrupted = !report.complete;
  const CaseMap mine = ByKey(report);
  for (const CaseResult& result : other.cases) {
    if (!WhyNoTime(result).empty()) continue;
    ++gaps.timed_by_other;
    const auto found = mine.find(CaseKey(result));
    const bool absent = found == mine.end();
    const std::string why = absent ? "not in this run" : WhyNoTime(*found->second);
    if (!why.empty()) gaps.missing.push_back({LabelOf(result), why, absent});
  }
  return gaps;
}

// Cases that have a time in both runs, in the order of B.
void JoinPairs(const Report& a, const Report& b, ReportComparison& comparison) {
  const CaseMap of_a = ByKey(a);
  for (const CaseResult& result : b.cases) {
    const auto found = of_a.find(CaseKey(result));
    if (found == of_a.end()) continue;
    const bool in_a = WhyNoTime(*found->second).empty(), in_b = WhyNoTime(result).empty();
    if (!in_a && !in_b) comparison.in_neither.push_back(LabelOf(result));
    if (!in_a || !in_b) continue;
    comparison.pairs.push_back(JudgePair(*found->second, result));
    if (!comparison.comparable && comparison.pairs.back().evidence != "paired") {
      comparison.pairs.back().verdict = Verdict::kAmbiguous;
      comparison.pairs.back().p_slower = 1;
    }
  }
}

}  // namespace

ReportComparison CompareReports(const Report& a, const Report& b, std::optional<double> fail_above) {
  ReportComparison comparison;
  comparison.differences = EnvironmentDifferences(a.environment, b.environment, true);
  for (const std::string& difference : EnvironmentDifferences(a.environment, b.environment, false)) {
    // Other facts are worth knowing; these decide what a time means.
    for (const char* decisive :
         {"processor", "family", "model", "instruction set", "executable memory", "CPUs", "CPU quota"}) {
      if (difference.starts_with(std::string(decisive) + ":")) comparison.comparable = false;
    }
  }
  comparison.in_a = FindGaps(a, b);
  comparison.in_b = FindGaps(b, a);
  JoinPairs(a, b, comparison);
  if (fail_above) ApplyGate(*fail_above, comparison.pairs);
  Count(comparison);
  return comparison;
}

GateOutcome JudgeGate(const ReportComparison& comparison) {
  const auto count = [&](bool CasePair::*member) {
    return std::count_if(comparison.pairs.begin(), comparison.pairs.end(),
                         [&](const CasePair& pair) { return pair.*member; });
  };
  if (count(&CasePair::regression) > 0) return GateOutcome::kRegression;
  if (comparison.in_b.incomplete()) return GateOutcome::kIncomplete;
  const double undecided = static_cast<double>(count(&CasePair::undecided));
  if (comparison.pairs.empty() || !comparison.comparable) return GateOutcome::kTooNoisy;
  return undecided > kMostUndecided * static_cast<double>(comparison.pairs.size()) ? GateOutcome::kTooNoisy
                                                                                   : GateOutcome::kPassed;
}

}  // namespace rafter::bench
