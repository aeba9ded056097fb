// cli/bench_plan.h: what `rafter bench` was asked for, checked. Everything that can be wrong with
// the input is found while the plan is made, before anything is measured.
#ifndef RAFTER_CLI_BENCH_PLAN_H_
#define RAFTER_CLI_BENCH_PLAN_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cache_mode.h"
#include "bench/pages.h"
#include "bench/suite.h"
#include "cli/time_budget.h"
#include "kernels/conv/tile_choice.h"
#include "rafter/conv.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter::cli {

// Option values as the user wrote them; empty = not given.
struct BenchOptions {
  std::vector<std::string> cases;
  std::string layout = "nhwc", threads = "1", accuracy = "default", seed = "1";
  std::string plan = "model", wisdom;
  std::string mb, isa, algorithm, post_ops, tile, versus, filter, budget, json, csv, md, plot;
  std::string mode = "hot", sweep, base, shard;
  std::string pages = "kept";
  bool pin = false, no_pin = false;
  bool zip = false;
  bool quiet = false;
};

struct BenchPlan {
  std::vector<bench::SuiteCase> cases;  // filtered, equal geometries once
  int duplicates = 0;                   // left out for that
  nlohmann::ordered_json sweep;         // of the report; null without --sweep
  std::vector<std::string> left_out;    // combinations of the sweep that are no valid problem
  std::vector<bench::CacheMode> modes{bench::CacheMode::kHot};
  bench::Pages pages = bench::Pages::kKept;  // of operators' results
  std::optional<bool> pin;                   // own workers, pinned or not; none: OpenMP
  Layout layout = Layout::kNhwc;
  std::vector<int> threads;
  Isa isa = Isa::kNone;             // cap of the process
  std::string algorithm, baseline;  // empty: any, none
  PostOps post_ops;                 // without the factors of channel scales
  TileChoice tile;                  // for experts: overrides the planner
  Accuracy accuracy = Accuracy::kDefault;
  Planning planning = Planning::kModel;
  TimeBudgetOptions budget;
  bool quick_roofs = false;  // a short budget leaves no time for a fine sweep
  uint64_t seed = 1;
  bool quiet = false;
};

Result<BenchPlan> MakeBenchPlan(const BenchOptions& options);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_BENCH_PLAN_H_
