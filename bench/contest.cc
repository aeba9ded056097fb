// bench/contest.cc: choosing the baseline's layouts and reading the duel's outcome.
#include "bench/contest.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/verify.h"

namespace rafter::bench {
namespace {

constexpr double kKeepWithin = 1.10;  // of the fastest trial
constexpr double kTrialShare = 0.05;  // of the budget, per layout

constexpr double kGlanceProducts = 4e6;  // a check that the baseline does the same operation

struct Entrant {
  BaselineLayout layout = BaselineLayout::kSame;
  std::unique_ptr<BaselineRun> run;
  double trial_us = 0;
};

void AppendError(CaseResult& result, const std::string& message) {
  if (!result.vs_error.empty()) result.vs_error += "; ";
  result.vs_error += message;
}

// One call, whose outputs must be right.
Status RunAndVerify(const ContestSetup& setup, BaselineRun& run) {
  run.Run();
  if (Status status = run.status(); !status.ok()) return status;
  std::vector<float> nchw;
  if (Status status = run.ReadOutput(nchw); !status.ok()) return status;
  ConvDesc desc = setup.problem->desc;
  desc.dst = {Layout::kNchw, {}};  // the residuals stay in the case's layout
  Result<ConvProblem> plain = Validate(desc);
  if (!plain.ok()) return plain.status();
  return VerifyOutputs(*plain, setup.tensors->src.data(), setup.tensors->oihw.data(),
                       setup.tensors->bias_or_null(), nchw.data(), 1, kGlanceProducts,
                       ResidualTensors(*setup.problem, *setup.tensors))
      .status();
}

std::vector<Entrant> PrepareEntrants(const ContestSetup& setup, const Work& ours, CaseResult& result) {
  std::vector<Entrant> entrants;
  for (BaselineLayout layout :
       {BaselineLayout::kSame, BaselineLayout::kAny, BaselineLayout::kNchw16c}) {
    if (setup.baseline->is_self() && layout != BaselineLayout::kSame) continue;
    if (layout == BaselineLayout::kNchw16c && setup.problem->desc.src.layout == Layout::kNchw16c) {
      continue;  // that is kSame
    }
    BaselineRequest request;
    request.desc = &setup.problem->desc;
    request.layout = layout;
    request.threads = setup.threads;
    request.oihw = setup.tensors->oihw.data();
    request.bias = setup.tensors->bias_or_null();
    request.src = setup.tensors->src.data();
    request.dst = setup.tensors->dst.data();
    request.residuals = setup.tensors->residual_pointers();
    request.ours = &ours;
    Result<std::unique_ptr<BaselineRun>> run = setup.baseline->Prepare(request);
    // Its plain loops take seconds per call and are never its best.
    if (run.ok() && layout != BaselineLayout::kSame &&
        (*run)->implementation().starts_with("ref")) {
      continue;
    }
    Status status = run.ok() ? RunAndVerify(setup, **run) : run.status();
    if (!status.ok()) {
      AppendError(result,
                  std::string(BaselineLayoutName(layout)) + ": " + std::string(status.message()));
      continue;
    }
    const bool known = std::any_of(entrants.begin(), entrants.end(), [&](const Entrant& other) {
      return other.run->layout() == (*run)->layout() &&
             other.run->implementation() == (*run)->implementation();
    });
    if (!known) entrants.push_back({layout, std::move(run).value(), 0});
  }
  return entrants;
}

// What must be flushed before a call of the baseline.
Work FlushForEntrant(const ContestSetup& setup, const BaselineRun& run) {
  if (setup.baseline->is_self()) return FlushFor(setup.mode, setup.our_weights, setup.our_memory);
  std::vector<Memory> weights, rest = MemoryOf(*setup.tensors);
  run.AppendMemory(true, weights);
  run.AppendMemory(false, rest);
  return FlushFor(setup.mode, std::move(weights), std::move(rest));
}

void DropSlowEntrants(std::vector<Entrant>& entrants, const ContestSetup& setup, Stopwatch& watch,
                      const DuelOptions& options) {
  if (entrants.size() < 2) return;
  SamplingOptions trial = options.sampling;
  trial.budget_us *= kTrialShare;
  trial.max_samples = 20;
  double fastest = std::numeric_limits<double>::infinity();
  for (Entrant& entrant : entrants) {
    trial.before = FlushForEntrant(setup, *entrant.run);
    entrant.trial_us = Measure(
                           watch, [&] { entrant.run->Run(); }, trial)
                           .median;
    fastest = std::min(fastest, entrant.trial_us);
  }
  std::erase_if(entrants, [&](const Entrant& entrant) {
    return entrant.layout != BaselineLayout::kSame && entrant.trial_us > fastest * kKeepWithin;
  });
}

VersusResult MakeVersus(const Baseline& baseline, const Entrant& entrant, const TimeStats& time,
                        const Comparison& comparison) {
  VersusResult versus;
  versus.library = baseline.name();
  versus.version = baseline.version();
  versus.implementation = entrant.run->implementation();
  versus.layout = entrant.run->layout();
  versus.time_us = time.median;
  versus.create_us = entrant.run->create_us();
  versus.speedup = comparison.speedup;
  versus.ci_low = comparison.ci_low;
  versus.ci_high = comparison.ci_high;
  versus.verdict = VerdictName(comparison.verdict);
  return versus;
}

}  // namespace

Work FlushFor(CacheMode mode, std::vector<Memory> weights, std::vector<Memory> rest) {
  if (mode == CacheMode::kHot) return {};
  std::vector<Memory> all = std::move(weights);
  if (mode == CacheMode::kCold) all.insert(all.end(), rest.begin(), rest.end());
  return [all = std::move(all)] {
    for (const Memory memory : all) FlushFromCaches(memory);
  };
}

std::vector<Memory> MemoryOf(const CaseTensors& tensors) {
  std::vector<Memory> memory;
  const auto append = [&](const TensorBuffer& buffer) { memory.push_back(std::as_bytes(buffer.span())); };
  append(tensors.src);
  append(tensors.dst);
  for (const TensorBuffer& residual : tensors.residuals) append(residual);
  return memory;
}

void RunContest(const ContestSetup& setup, const Work& ours, Stopwatch& watch,
                const DuelOptions& options, CaseResult& result) {
  std::vector<Entrant> entrants = PrepareEntrants(setup, ours, result);
  DropSlowEntrants(entrants, setup, watch, options);
  std::vector<Work> contenders = {ours};
  DuelOptions duel_options = options;
  const bool cold = setup.mode != CacheMode::kHot;
  if (cold) duel_options.before.push_back(FlushFor(setup.mode, setup.our_weights, setup.our_memory));
  for (Entrant& entrant : entrants) {
    contenders.push_back([run = entrant.run.get()] { run->Run(); });
    if (cold) duel_options.before.push_back(FlushForEntrant(setup, *entrant.run));
  }
  const DuelResult duel = RunDuel(watch, contenders, duel_options);
  result.time = duel.times[0];
  result.noise_floor = duel.noise_floor;
  for (size_t i = 0; i < entrants.size(); ++i) {
    if (Status status = entrants[i].run->status(); !status.ok()) {
      AppendError(result, std::string(status.message()));
      continue;
    }
    VersusResult versus =
        MakeVersus(*setup.baseline, entrants[i], duel.times[i + 1], duel.comparisons[i + 1]);
    // Against its fastest: the lowest speed-up of ours.
    if (!result.vs_best || versus.speedup < result.vs_best->speedup) result.vs_best = versus;
    if (entrants[i].layout == BaselineLayout::kSame) result.vs_same = std::move(versus);
  }
}

}  // namespace rafter::bench
