// cli/bench_session.cc: see bench_session.h.
#include "cli/bench_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "bench/summary.h"
#include "cli/environment_report.h"
#include "cli/interrupt.h"
#include "cli/standard_output.h"
#include "cli/time_budget.h"
#include "rafter/version.h"
#include "roofline/flush_to_zero.h"
#include "roofline/wall_clock.h"

namespace rafter::cli {
namespace {

double SecondsSince(int64_t start_ns) {
  return static_cast<double>(roofline::NowNs() - start_ns) * 1e-9;
}

std::string LabelOf(const bench::SuiteCase& one) {
  return one.descriptor.name.empty() ? one.descriptor.text : one.descriptor.name;
}

}  // namespace

BenchSession::BenchSession(const BenchPlan& plan, bool shows_table)
    : plan_(plan), shows_table_(shows_table), progress_(StderrProgress(plan.quiet)) {}

Status BenchSession::Prepare() {
  table_.color = shows_table_ && ColorWanted();
  if (plan_.baseline.empty()) return {};
  auto baseline = bench::MakeBaseline(plan_.baseline, plan_.isa);
  if (!baseline.ok()) return baseline.status();
  baseline_ = std::move(baseline).value();
  table_.versus = true;
  table_.baseline = baseline_->name() + " " + baseline_->version();
  table_.baseline_too_old = baseline_->too_old();
  return {};
}

void BenchSession::Run() {
  if (const std::string warning = MaxIsaWarning(); !warning.empty()) progress_.Note(warning);
  if (plan_.duplicates > 0) {
    progress_.Note(fmt::format("{} cases have the geometry of an earlier one and are left out",
                               plan_.duplicates));
  }
  roof_isas_ = MeasurableIsas();
  // A case is bounded by the set in use: the others need no roofs.
  if (!roof_isas_.empty()) roof_isas_ = {roof_isas_.back()};
  try {
    local_ = GetLocalRoofs({roof_isas_, plan_.threads, RoofPolicy::kAsNeeded, plan_.quick_roofs},
                           progress_);
    for (const std::string& remark : local_.remarks) progress_.Note(remark);
    const Isa fallback = roof_isas_.empty() ? Isa::kNone : roof_isas_.back();
    bounds_ = std::make_unique<RoofBounds>(local_.machine, fallback);
    // Denormal numbers off, as in the probes of the roofs.
    const roofline::ScopedFlushToZero flush;
    MeasureAll(Schedule());
  } catch (const MeasurementInterrupted&) {
    progress_.Clear();
    local_.machine.environment = roofline::ReadEnvironment();
  }
  report_.complete = !Interrupted();
  if (!report_.complete) AddUnfinished();
  FinishEnvironment();
}

std::vector<BenchSession::Item> BenchSession::Schedule() const {
  std::vector<Item> items;
  const size_t count = plan_.cases.size() * plan_.threads.size();
  const double fair_share_us =
      plan_.budget.total_us / static_cast<double>(std::max<size_t>(count, 1));
  for (int threads : plan_.threads) {
    const bench::CaseRunner runner(OptionsFor(threads, fair_share_us), nullptr, baseline_.get());
    for (const bench::SuiteCase& one : plan_.cases) {
      // What cannot be read fails once, not once per thread count.
      if (!one.status.ok() && threads != plan_.threads.front()) continue;
      items.push_back({&one, threads, std::max(1.0, runner.EstimateUs(one))});
    }
  }
  return items;
}

bench::CaseOptions BenchSession::OptionsFor(int threads, double budget_us) const {
  bench::CaseOptions options;
  options.layout = plan_.layout;
  options.threads = threads;
  options.algorithm = plan_.algorithm;
  options.accuracy = plan_.accuracy;
  options.post_ops = plan_.post_ops;
  options.planning = plan_.planning;
  options.budget_us = budget_us;
  options.seed = plan_.seed;
  options.stop = &Interrupted();
  return options;
}

void BenchSession::MeasureAll(const std::vector<Item>& items) {
  double all_weights = 0, done_weights = 0;
  for (const Item& item : items) all_weights += item.weight;
  TimeBudget budget(plan_.budget, static_cast<int>(items.size()));
  PrintHeading();
  const int64_t start_ns = roofline::NowNs();
  progress_.Begin(fmt::format("{} cases:", items.size()), all_weights * 1e-6);
  const std::string out_of_time =
      fmt::format("left out: the budget of {:.4g} s was used up", plan_.budget.total_us * 1e-6);
  for (const Item& item : items) {
    if (Interrupted()) break;
    PrintThreads(item.threads);
    const double elapsed = SecondsSince(start_ns);
    progress_.Show(done_weights / all_weights, elapsed, LabelOf(*item.suite_case));
    const double share_us = budget.NextShareUs(elapsed * 1e6);
    Add(share_us > 0 ? Measure(item, share_us) : LeaveOut(item, out_of_time));
    budget.Report(share_us, (SecondsSince(start_ns) - elapsed) * 1e6);
    done_weights += item.weight;
  }
  if (!Interrupted()) progress_.Show(1, SecondsSince(start_ns), "");
  progress_.Clear();
}

bench::CaseResult BenchSession::Measure(const Item& item, double share_us) {
  bench::CaseRunner runner(OptionsFor(item.threads, share_us), bounds_.get(), baseline_.get());
  return runner.Run(*item.suite_case);
}

bench::CaseResult BenchSession::LeaveOut(const Item& item, std::string reason) {
  // A runner that is stopped from the start describes the case and does nothing else.
  static const std::atomic<bool> stopped{true};
  bench::CaseOptions options = OptionsFor(item.threads, 0);
  options.stop = &stopped;
  bench::CaseResult result = bench::CaseRunner(options, nullptr, nullptr).Run(*item.suite_case);
  result.error = std::move(reason);
  return result;
}

// In the report only: a table of what was not measured would bury what was.
void BenchSession::AddUnfinished() {
  const std::vector<Item> items = Schedule();
  for (size_t i = report_.cases.size(); i < items.size(); ++i) {
    report_.cases.push_back(LeaveOut(items[i], bench::kInterrupted));
  }
}

void BenchSession::Add(bench::CaseResult result) {
  progress_.Clear();
  if (shows_table_) Print(bench::TableRow(result, table_));
  report_.cases.push_back(std::move(result));
}

void BenchSession::PrintHeading() {
  if (!shows_table_) return;
  std::string threads;
  for (int count : plan_.threads) threads += fmt::format("{}{}", threads.empty() ? "" : ",", count);
  Print(fmt::format("rafter {}, {}, ISA {}, layout {}, threads {}\n", Version(),
                    local_.machine.name, IsaName(EffectiveIsa()), LayoutName(plan_.layout),
                    threads));
  Print(bench::TableHeader(table_));
}

// Cases of one thread count stand together.
void BenchSession::PrintThreads(int threads) {
  if (!shows_table_ || plan_.threads.size() < 2) return;
  if (!report_.cases.empty() && report_.cases.back().threads == threads) return;
  progress_.Clear();
  Print(fmt::format("{} thread{}:\n", threads, threads == 1 ? "" : "s"));
}

void BenchSession::FinishEnvironment() {
  const std::vector<BaselineInfo> baselines =
      baseline_ ? std::vector<BaselineInfo>{{baseline_->name(), baseline_->version(),
                                             baseline_->too_old(), ""}}
                : std::vector<BaselineInfo>{};
  report_.environment =
      EnvironmentReport(local_.machine.environment,
                        SelectRoofs(local_.machine.roofs, roof_isas_, plan_.threads), baselines);
  if (!bounds_) return;
  AddPeakSeries(bounds_->series(), report_.environment);
  AddBandwidths(bounds_->bandwidths(), report_.environment);
}

}  // namespace rafter::cli
