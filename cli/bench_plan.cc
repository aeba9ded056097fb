// cli/bench_plan.cc: see bench_plan.h.
#include "cli/bench_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <regex>
#include <utility>

#include "bench/baseline.h"
#include "bench/descriptor.h"
#include "bench/printable.h"
#include "bench/sweep.h"
#include "cli/arguments.h"
#include "rafter/cost.h"
#include "runtime/affinity.h"

namespace rafter::cli {
namespace {

constexpr int64_t kLargestBatch = 1'000'000;
constexpr double kQuickRoofsBelowUs = 30e6;

// Reads one option into `target`; the first failure stays.
template <typename T, typename U>
void Take(Result<T> parsed, U& target, Status& status) {
  if (!status.ok()) return;
  if (parsed.ok()) {
    target = static_cast<U>(std::move(parsed).value());
  } else {
    status = parsed.status();
  }
}

Status TakeBaseline(const std::string& name, BenchPlan& plan) {
  if (name.empty()) return {};
  if (!bench::IsBaseline(name)) return NotAllowed("--vs", name, bench::AllowedBaselines());
  if (plan.isa == Isa::kNone) {
    return NotAllowed("--vs", name, "--isa avx2 or better with it (it cannot be capped to none)");
  }
  plan.baseline = name;
  return {};
}

Status TakeFilter(const std::string& text, BenchPlan& plan) {
  if (text.empty()) return {};
  Result<std::regex> filter = ParseFilter(text);
  if (!filter.ok()) return filter.status();
  const size_t before = plan.cases.size();
  std::erase_if(plan.cases, [&](const bench::SuiteCase& one) {
    return !std::regex_search(one.descriptor.name, *filter) &&
           !std::regex_search(one.descriptor.text, *filter);
  });
  if (!plan.cases.empty()) return {};
  return NotAllowed("--filter", text,
                    before == 1 ? std::string("an expression that matches the only case")
                                : fmt::format("an expression that matches one of the {} cases", before));
}

// What the user typed himself must be right before anything starts; lines of files fail one by one.
Status CheckTyped(const BenchPlan& plan) {
  for (const bench::SuiteCase& one : plan.cases) {
    if (!one.origin.empty()) continue;
    ConvDesc desc = one.descriptor.desc;
    desc.src.layout = desc.dst.layout = plan.layout;
    const Status status = one.op ? bench::CheckOp(*one.op) : CostOf(desc).status();
    if (status.ok()) continue;
    return Status(status.code(), fmt::format("descriptor: '{}': {}", one.descriptor.text, status.message()));
  }
  return {};
}

// Parameters that no layer takes, such as a clip from 6 to 0.
Status CheckPostOps(const std::string& text) {
  ConvDesc desc{.ic = 1, .oc = 1, .in = {1, 1}, .kernel = {1, 1}};
  Result<PostOps> post_ops = ParsePostOps(text, desc.oc);
  if (!post_ops.ok()) return post_ops.status();
  desc.post_ops = std::move(post_ops).value();
  const Result<ConvCost> cost = CostOf(desc);
  if (cost.ok()) return {};
  return Status(cost.status().code(), fmt::format("--post-ops: '{}': {}", text, cost.status().message()));
}

// The cases of a sweep around a base problem.
Status TakeSweep(const BenchOptions& options, BenchPlan& plan) {
  const bool wanted = !options.sweep.empty();
  if (!wanted && !options.base.empty()) return GivenAlone("--base", "together with --sweep");
  if (!wanted && options.zip) return GivenAlone("--zip", "together with --sweep");
  if (!wanted) return {};
  if (options.base.empty()) return NothingGiven("--base", "a descriptor, which the sweep changes");
  Result<bench::Descriptor> base = bench::ParseDescriptor(options.base);
  if (!base.ok()) {
    return Status(base.status().code(),
                  fmt::format("--base: '{}': {}", bench::Printable(options.base), base.status().message()));
  }
  const Result<bench::Sweep> sweep = bench::ParseSweep(options.sweep, options.zip);
  if (!sweep.ok()) return sweep.status();
  Result<bench::SweepCases> cases = bench::ExpandSweep(*sweep, *base);
  if (!cases.ok()) return cases.status();
  plan.sweep = bench::SweepToJson(*sweep, *base);
  plan.left_out = std::move(cases->left_out);
  std::move(cases->cases.begin(), cases->cases.end(), std::back_inserter(plan.cases));
  return {};
}

// "2/5": every fifth case, beginning with the second.
Status TakeShard(const std::string& text, BenchPlan& plan) {
  if (text.empty()) return {};
  constexpr int64_t kMostShards = 10000;
  const std::string allowed = fmt::format("K/N with K from 1 to N and N up to {}", kMostShards);
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return NotAllowed("--shard", text, allowed);
  const Result<int64_t> count = ParseInteger("--shard", text.substr(slash + 1), 1, kMostShards);
  if (!count.ok()) return NotAllowed("--shard", text, allowed);
  const Result<int64_t> number = ParseInteger("--shard", text.substr(0, slash), 1, *count);
  if (!number.ok()) return NotAllowed("--shard", text, allowed);
  std::vector<bench::SuiteCase> mine;
  for (size_t i = static_cast<size_t>(*number - 1); i < plan.cases.size(); i += static_cast<size_t>(*count)) {
    mine.push_back(std::move(plan.cases[i]));
  }
  if (mine.empty()) {
    return NotAllowed("--shard", text, fmt::format("at most as many shards as cases ({})", plan.cases.size()));
  }
  plan.cases = std::move(mine);
  if (plan.sweep.is_null()) {
    plan.sweep = {{"base", nullptr}, {"kind", "none"}, {"axes", nlohmann::ordered_json::array()}};
  }
  plan.sweep["shard"] = {{"number", *number}, {"of", *count}};
  return {};
}

// Options that would do nothing for any of the cases.
Status CheckApplies(const BenchOptions& options, const BenchPlan& plan) {
  const auto is_operator = [](const bench::SuiteCase& one) { return one.op != nullptr; };
  if (std::none_of(plan.cases.begin(), plan.cases.end(), is_operator)) {
    if (plan.pages == bench::Pages::kKept) return {};
    return NotAllowed("--pages", options.pages, "kept, where no case is an operator such as scratch:8M");
  }
  if (!std::all_of(plan.cases.begin(), plan.cases.end(), is_operator)) return {};
  const BenchOptions defaults;
  const struct {
    const char* name;
    const std::string &value, &unset;
  } of_convolutions[] = {{"--algorithm", options.algorithm, defaults.algorithm},
                         {"--post-ops", options.post_ops, defaults.post_ops},
                         {"--tile", options.tile, defaults.tile},
                         {"--accuracy", options.accuracy, defaults.accuracy},
                         {"--plan", options.plan, defaults.plan}};
  for (const auto& option : of_convolutions) {
    if (option.value == option.unset) continue;
    return NotAllowed(option.name, option.value, "nothing, where every case is an operator: it is for convolutions");
  }
  return {};
}

Status TakeCases(const BenchOptions& options, BenchPlan& plan) {
  if (options.cases.empty() && options.sweep.empty()) {
    return NothingGiven("case", "descriptors such as mb1ic64ih56oc64oh56kh3ph1, files, @suites");
  }
  if (Status status = TakeSweep(options, plan); !status.ok()) return status;
  for (const std::string& argument : options.cases) {
    auto cases = bench::LoadCases(argument);
    if (!cases.ok()) return cases.status();
    std::move(cases->begin(), cases->end(), std::back_inserter(plan.cases));
  }
  if (Status status = TakeFilter(options.filter, plan); !status.ok()) return status;
  if (!options.mb.empty()) {
    const Result<int64_t> mb = ParseInteger("--mb", options.mb, 0, kLargestBatch);
    if (!mb.ok()) return mb.status();
    bench::OverrideBatch(plan.cases, *mb);
  }
  const size_t before = plan.cases.size();
  bench::RemoveDuplicates(plan.cases);
  plan.duplicates = static_cast<int>(before - plan.cases.size());
  if (Status status = TakeShard(options.shard, plan); !status.ok()) return status;
  if (Status status = CheckApplies(options, plan); !status.ok()) return status;
  return CheckTyped(plan);
}

Status TakeThreadsAndPages(const BenchOptions& options, BenchPlan& plan) {
  if (options.pin && options.no_pin) return GivenTogether("--pin, --no-pin", "one of the two");
  if (options.pin || options.no_pin) plan.pin = options.pin;
  if (plan.pin && !options.versus.empty()) {
    return GivenTogether(options.pin ? "--pin, --vs" : "--no-pin, --vs", "one of the two");
  }
  std::string allowed;
  for (const bench::Pages pages :
       {bench::Pages::kKept, bench::Pages::kFresh, bench::Pages::kPooled, bench::Pages::kHuge}) {
    plan.pages = pages;
    if (options.pages == bench::PagesName(pages)) return {};
    allowed += (allowed.empty() ? "" : ", ") + std::string(bench::PagesName(pages));
  }
  return NotAllowed("--pages", options.pages, allowed);
}

Status TakeBudget(const std::string& text, BenchPlan& plan) {
  if (text.empty()) return {};
  const Result<double> budget = ParseDuration("--budget", text);
  if (!budget.ok()) return budget.status();
  plan.budget.total_us = *budget;
  plan.budget.strict = true;
  plan.quick_roofs = *budget < kQuickRoofsBelowUs;
  return {};
}

}  // namespace

Result<BenchPlan> MakeBenchPlan(const BenchOptions& options) {
  BenchPlan plan;
  plan.quiet = options.quiet;
  plan.isa = EffectiveIsa();
  Status status;
  Take(ParseLayout(options.layout), plan.layout, status);
  Take(ParseThreads(options.threads, static_cast<int>(AllowedCpus().size())), plan.threads, status);
  if (!options.isa.empty()) {
    Take(ParseIsaOption(options.isa), plan.isa, status);
    plan.isa = std::min(plan.isa, EffectiveIsa());
  }
  Take(ParseAlgorithm(options.algorithm), plan.algorithm, status);
  Take(ParsePostOps(options.post_ops, 0), plan.post_ops, status);
  Take(ParseTile(options.tile, plan.isa), plan.tile, status);
  Take(ParseAccuracy(options.accuracy), plan.accuracy, status);
  Take(ParsePlanning(options.plan), plan.planning, status);
  Take(ParseCacheModes(options.mode), plan.modes, status);
  Take(ParseInteger("--seed", options.seed, 0, std::numeric_limits<int64_t>::max()), plan.seed,
       status);
  if (!status.ok()) return status;
  if (status = CheckPostOps(options.post_ops); !status.ok()) return status;
  if (status = TakeThreadsAndPages(options, plan); !status.ok()) return status;
  if (status = TakeBudget(options.budget, plan); !status.ok()) return status;
  if (status = TakeBaseline(options.versus, plan); !status.ok()) return status;
  if (status = TakeCases(options, plan); !status.ok()) return status;
  return plan;
}

}  // namespace rafter::cli
