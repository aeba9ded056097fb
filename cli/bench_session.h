// cli/bench_session.h: measures the cases of a plan one after the other: roofs first, then per case
// its share of the time, a row of the table, progress; ends early, in order, when the user wants
// that.
#ifndef RAFTER_CLI_BENCH_SESSION_H_
#define RAFTER_CLI_BENCH_SESSION_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/baseline.h"
#include "bench/case_runner.h"
#include "bench/report_json.h"
#include "bench/report_table.h"
#include "cli/bench_plan.h"
#include "cli/local_roofs.h"
#include "cli/progress.h"
#include "cli/roof_bounds.h"

#include "rafter/threads.h"

namespace rafter::cli {

class BenchSession {
 public:
  // `plan` outlives the session. The cap of the plan is in force already.
  BenchSession(const BenchPlan& plan, bool shows_table);

  // The baseline is loaded here. Errors: it cannot be used.
  Status Prepare();

  // Measures; may be interrupted. Afterwards report() holds what there is.
  void Run();

  const bench::Report& report() const { return report_; }
  const bench::TableOptions& table_options() const { return table_; }

 private:
  struct Item {
    const bench::SuiteCase* suite_case;
    int threads;
    bench::CacheMode mode;
    double weight;  // expected time
    double call_us;  // of the direct sum, at least
  };

  std::vector<Item> Schedule() const;
  bench::CaseOptions OptionsFor(int threads, bench::CacheMode mode, double budget_us) const;
  void MeasureAll(const std::vector<Item>& items);
  std::string TooLong(const Item& item, double left_us) const;
  bench::CaseResult Measure(const Item& item, double share_us);
  // The description of a case that is not measured, with the reason as its error.
  bench::CaseResult LeaveOut(const Item& item, std::string reason);
  void Add(bench::CaseResult result);
  void AddUnfinished();
  void PrintHeading();
  void PrintThreads(int threads, bench::CacheMode mode);
  void Calibrate();
  ParallelFor* WorkersFor(int threads);
  void CheckCold();
  void NoteBusy();
  void FinishEnvironment();

  const BenchPlan& plan_;
  bool shows_table_;
  Progress progress_;
  LocalRoofs local_;
  std::vector<Isa> roof_isas_;
  std::unique_ptr<RoofBounds> bounds_;
  std::unique_ptr<bench::Baseline> baseline_;
  bench::TableOptions table_;
  bench::Report report_;
  std::optional<bench::ColdCheck> cold_check_;
  std::unique_ptr<WorkerPool> workers_;  // of the plan's --pin, for workers_threads_ threads
  int workers_threads_ = 0;
  double noise_floor_ = 0;  // of the calibration
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_BENCH_SESSION_H_
