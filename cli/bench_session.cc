// cli/bench_session.cc: see bench_session.h.
#include "cli/bench_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "bench/calibration.h"
#include "bench/neighbours.h"
#include "bench/printable.h"
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
  std::vector<std::string> labels;
  for (const bench::SuiteCase& one : plan_.cases) labels.push_back(LabelOf(one));
  table_.label_width = bench::LabelWidth(labels);
  const auto operators = std::count_if(plan_.cases.begin(), plan_.cases.end(),
                                       [](const bench::SuiteCase& one) { return one.op != nullptr; });
  if (operators > 0) table_.figure = operators == std::ssize(plan_.cases) ? "GB/s" : "GF|GB/s";
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
    progress_.Note(fmt::format("left out: {} of the geometry of an earlier one",
                               bench::Counted(static_cast<size_t>(plan_.duplicates), "case")));
  }
  for (const std::string& text : plan_.left_out) progress_.Note("left out of the sweep: " + text);
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
    CheckCold();
    MeasureAll(Schedule());
    NoteBusy();
  } catch (const MeasurementInterrupted&) {
    progress_.Clear();
    local_.machine.environment = roofline::ReadEnvironment();
  }
  report_.complete = !Interrupted();
  report_.sweep = plan_.sweep;
  if (!report_.complete) AddUnfinished();
  FinishEnvironment();
}

std::vector<BenchSession::Item> BenchSession::Schedule() const {
  std::vector<Item> items;
  const size_t count = plan_.cases.size() * plan_.threads.size() * plan_.modes.size();
  const double fair_share_us =
      plan_.budget.total_us / static_cast<double>(std::max<size_t>(count, 1));
  for (const bench::CacheMode mode : plan_.modes) {
    for (int threads : plan_.threads) {
      const bench::CaseRunner runner(OptionsFor(threads, mode, fair_share_us), nullptr, baseline_.get());
      for (const bench::SuiteCase& one : plan_.cases) {
        // What cannot be read fails once, not once per thread count and mode.
        const bool first = threads == plan_.threads.front() && mode == plan_.modes.front();
        if (!one.status.ok() && !first) continue;
        items.push_back({&one, threads, mode, std::max(1.0, runner.EstimateUs(one)), runner.CallUs(one)});
      }
    }
  }
  return items;
}

bench::CaseOptions BenchSession::OptionsFor(int threads, bench::CacheMode mode, double budget_us) const {
  bench::CaseOptions options;
  options.mode = mode;
  if (cold_check_ && cold_check_->works) options.cold_gb_per_s = cold_check_->cold_gb_per_s;
  options.layout = plan_.layout;
  options.threads = threads;
  options.algorithm = plan_.algorithm;
  options.accuracy = plan_.accuracy;
  options.post_ops = plan_.post_ops;
  options.planning = plan_.planning;
  options.budget_us = budget_us;
  options.seed = plan_.seed;
  options.stop = &Interrupted();
  options.pages = plan_.pages;
  options.least_noise_floor = noise_floor_;
  return options;
}

// Cold samples are worth their name only where flushing works.
void BenchSession::CheckCold() {
  if (std::count(plan_.modes.begin(), plan_.modes.end(), bench::CacheMode::kHot) ==
      static_cast<ptrdiff_t>(plan_.modes.size())) {
    return;
  }
  constexpr size_t kCheckedBytes = 4 << 20;
  cold_check_ = bench::CheckFlushing(kCheckedBytes);
  if (!cold_check_->works) {
    progress_.Note(fmt::format("cold modes: flushed data are read at {:.1f} GB/s, warm ones at {:.1f}: flushing does "
                               "not work here, cold times are too short",
                               cold_check_->cold_gb_per_s, cold_check_->hot_gb_per_s));
  }
}

// A few cases against themselves: nothing smaller than what that shows will be claimed.
void BenchSession::Calibrate() {
  if (!baseline_ || baseline_->is_self()) return;
  constexpr double kShare = 0.05, kLongestUs = 1.5e6;
  constexpr int kCases = 3;
  const bench::CaseOptions options = OptionsFor(plan_.threads.front(), plan_.modes.front(), 0);
  const bench::Calibration calibration =
      bench::Calibrate(plan_.cases, options, kCases, std::min(kLongestUs, kShare * plan_.budget.total_us));
  report_.calibration = bench::ToJson(calibration);
  noise_floor_ = calibration.noise_floor();
  progress_.Note(fmt::format("calibration: {} against itself: differences up to {:.2f} %",
                             bench::Counted(static_cast<size_t>(calibration.cases), "case"),
                             calibration.worst_deviation * 100));
}

void BenchSession::NoteBusy() {
  int busy = 0;
  double most = 0;
  for (const bench::CaseResult& result : report_.cases) {
    busy += result.busy_cpus >= bench::kBusyCpus;
    most = std::max(most, result.busy_cpus);
  }
  if (busy == 0) return;
  const bool versus = baseline_ && !baseline_->is_self();
  progress_.Note(fmt::format("busy machine: during {} of {} other work kept up to {:.1f} CPUs busy{}", busy,
                             bench::Counted(report_.cases.size(), "case"), most,
                             versus ? "; verdicts there allow for what was missing of the core"
                                    : "; their times may be too long"));
}

void BenchSession::MeasureAll(const std::vector<Item>& items) {
  double all_weights = 0, done_weights = 0;
  TimeBudget budget(plan_.budget);
  for (const Item& item : items) {
    all_weights += item.weight;
    budget.Expect(item.call_us);
  }
  PrintHeading();
  const int64_t start_ns = roofline::NowNs();
  Calibrate();
  progress_.Begin(bench::Counted(items.size(), "case") + ":", all_weights * 1e-6);
  const std::string out_of_time =
      fmt::format("left out: the budget of {:.4g} s was used up", plan_.budget.total_us * 1e-6);
  for (const Item& item : items) {
    if (Interrupted()) break;
    PrintThreads(item.threads, item.mode);
    const double elapsed = SecondsSince(start_ns);
    progress_.Show(done_weights / all_weights, elapsed, LabelOf(*item.suite_case));
    const double share_us = budget.NextShareUs(elapsed * 1e6, item.call_us);
    const std::string too_long = TooLong(item, plan_.budget.total_us - elapsed * 1e6);
    if (!too_long.empty()) {
      Add(LeaveOut(item, too_long));
    } else {
      Add(share_us > 0 ? Measure(item, share_us) : LeaveOut(item, out_of_time));
    }
    budget.Report(share_us, (SecondsSince(start_ns) - elapsed) * 1e6, item.call_us);
    done_weights += item.weight;
  }
  if (!Interrupted()) progress_.Show(1, SecondsSince(start_ns), "");
  progress_.Clear();
}

// Why the case cannot be measured in what is left of a strict budget, as a call cannot be cut short; empty: it can.
std::string BenchSession::TooLong(const Item& item, double left_us) const {
  constexpr double kCalls = 3;  // at least: verified, warmed up, timed
  if (!plan_.budget.strict || left_us <= 0 || kCalls * item.call_us <= left_us) return {};
  const bench::CaseRunner runner(OptionsFor(item.threads, item.mode, 0), nullptr, nullptr);
  const double call_us = runner.PlannedCallUs(*item.suite_case);
  if (kCalls * call_us <= left_us) return {};
  return fmt::format("left out: one call takes {:.2g} s or more, the budget has {:.2g} s left of {:.4g}",
                     call_us * 1e-6, left_us * 1e-6, plan_.budget.total_us * 1e-6);
}

bench::CaseResult BenchSession::Measure(const Item& item, double share_us) {
  bench::CaseOptions options = OptionsFor(item.threads, item.mode, share_us);
  options.pool = WorkersFor(item.threads);
  bench::CaseRunner runner(options, bounds_.get(), baseline_.get());
  return runner.Run(*item.suite_case);
}

// Null: OpenMP.
ParallelFor* BenchSession::WorkersFor(int threads) {
  if (!plan_.pin) return nullptr;
  if (workers_threads_ != threads) {
    workers_.reset();
    auto workers = WorkerPool::Create({.threads = threads, .pin = *plan_.pin});
    if (workers.ok()) workers_ = std::move(workers).value();
    workers_threads_ = threads;
  }
  return workers_.get();
}

bench::CaseResult BenchSession::LeaveOut(const Item& item, std::string reason) {
  // A runner that is stopped from the start describes the case and does nothing else.
  static const std::atomic<bool> stopped{true};
  bench::CaseOptions options = OptionsFor(item.threads, item.mode, 0);
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

// Cases of one thread count and mode stand together.
void BenchSession::PrintThreads(int threads, bench::CacheMode mode) {
  if (!shows_table_ || (plan_.threads.size() < 2 && plan_.modes.size() < 2)) return;
  const char* name = bench::CacheModeName(mode);
  if (!report_.cases.empty() && report_.cases.back().threads == threads && report_.cases.back().mode == name) return;
  progress_.Clear();
  Print(fmt::format("{} thread{}, {}:\n", threads, threads == 1 ? "" : "s", name));
}

void BenchSession::FinishEnvironment() {
  std::vector<BaselineInfo> baselines;
  if (baseline_) baselines.push_back({baseline_->name(), baseline_->version(), baseline_->too_old(), ""});
  report_.environment =
      EnvironmentReport(local_.machine.environment,
                        SelectRoofs(local_.machine.roofs, roof_isas_, plan_.threads), baselines);
  if (cold_check_) {
    report_.environment["cold_check"] = {{"cold_gb_per_s", cold_check_->cold_gb_per_s},
                                         {"hot_gb_per_s", cold_check_->hot_gb_per_s},
                                         {"works", cold_check_->works}};
  }
  if (!bounds_) return;
  AddPeakSeries(bounds_->series(), report_.environment);
  AddBandwidths(bounds_->bandwidths(), report_.environment);
}

}  // namespace rafter::cli
