// bench/op_runner.cc: see the header.
#include "bench/op_runner.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bench/duel.h"
#include "bench/omp_team.h"
#include "bench/op_work.h"
#include "rafter/conv.h"

namespace rafter::bench {
namespace {

constexpr double kOpCreationBudgetUs = 100e3;

// With an empty code cache each time, as for convolutions.
Status TimeCreation(OpWork& work, Stopwatch& watch, int creations, CaseResult& result) {
  std::vector<double> times_us;
  double total_us = 0;
  for (int i = 0; i < std::max(creations, 1) && total_us < kOpCreationBudgetUs; ++i) {
    ClearKernelCache();
    const double start = watch.NowUs();
    if (Status status = work.Create(); !status.ok()) return status;
    times_us.push_back(watch.NowUs() - start);
    total_us += times_us.back();
  }
  result.create_us = Median(std::move(times_us));
  return {};
}

void FillVersus(const Baseline& baseline, const BaselineRun& run, const DuelResult& duel, CaseResult& result) {
  VersusResult versus;
  versus.library = baseline.name();
  versus.version = baseline.version();
  versus.implementation = run.implementation();
  versus.layout = run.layout();
  versus.time_us = duel.times[1].median;
  versus.create_us = run.create_us();
  versus.speedup = duel.comparisons[1].speedup;
  versus.ci_low = duel.comparisons[1].ci_low;
  versus.ci_high = duel.comparisons[1].ci_high;
  versus.verdict = VerdictName(duel.comparisons[1].verdict);
  result.vs_best = versus;
  result.vs_same = std::move(versus);
}

Status TimeIt(const CaseOptions& options, Baseline* baseline, const OpCase& op, OpWork& work, Stopwatch& watch,
              const ShareProbe& share, CaseResult& result) {
  DuelOptions duel;
  duel.sampling.share = share;
  duel.sampling.budget_us = options.budget_us;
  duel.sampling.stop = options.stop;
  duel.seed = options.seed;
  const Work ours = [&work] { work.Run(); };
  std::unique_ptr<BaselineRun> other;
  if (baseline != nullptr) {
    auto run = baseline->PrepareOp({&op, options.layout, options.threads, &work.tensors()});
    if (run.ok()) {
      other = std::move(run).value();
    } else {
      result.vs_error = run.status().message();
    }
  }
  if (other) {  // does it compute the same?
    other->Run();
    constexpr double kSameOperation = 1e-4;  // other libraries' functions are less accurate
    if (!op.in_place && other->status().ok()) {
      if (const auto same = work.CompareResult(kSameOperation); !same.ok()) {
        result.vs_error = "its " + std::string(same.status().message());
        other.reset();
      }
    }
  }
  if (!other) {
    result.time = Measure(watch, ours, duel.sampling);
    return work.status();
  }
  const std::vector<Work> contenders = {ours, [&other] { other->Run(); }};
  const DuelResult outcome = RunDuel(watch, contenders, duel);
  result.time = outcome.times[0];
  result.noise_floor = outcome.noise_floor;
  if (Status status = other->status(); status.ok()) {
    FillVersus(*baseline, *other, outcome, result);
  } else {
    result.vs_error = status.message();
  }
  return work.status();
}

}  // namespace

void DescribeOpCase(const CaseOptions& options, const OpCase& op, CaseResult& result) {
  result.descriptor = op.text;
  result.layout = LayoutName(options.layout);
  if (const auto* reorder = std::get_if<ReorderDesc>(&op.desc)) {
    result.layout = std::string(LayoutName(reorder->src.layout)) + "->" + LayoutName(reorder->dst.layout);
  }
  result.algorithm = options.pages == Pages::kKept ? "" : PagesName(options.pages);
}

Status RunOpCase(const CaseOptions& options, Bounds* bounds, Baseline* baseline, const OpCase& op,
                 CaseResult& result) {
  const ScopedTeamSize team(options.threads);
  const std::unique_ptr<Stopwatch> watch = MakeSystemStopwatch(options.threads);
  const auto stopped = [&] { return options.stop != nullptr && options.stop->load(); };
  if (stopped()) return Status(StatusCode::kInternal, kInterrupted);
  auto made = OpWork::Make(op, {options.layout, options.threads, options.pool, options.pages, options.seed});
  if (!made.ok()) return made.status();
  OpWork& work = **made;
  if (Status status = TimeCreation(work, *watch, options.creations, result); !status.ok()) return status;
  result.kernel = work.kernel();
  result.isa = IsaName(work.isa());
  const OpTraffic& traffic = work.traffic();
  result.bytes = traffic.load_bytes + traffic.store_bytes;
  result.flops_valid = result.flops_nominal = work.flops();
  const auto verified = work.Verify();
  if (!verified.ok()) return verified.status();
  result.verified_outputs = verified->outputs;
  result.max_error = verified->max_error;

  if (bounds != nullptr) bounds->BeginCase(work.isa(), options.threads);
  const PassBytes bytes = {traffic.load_bytes, traffic.store_bytes, traffic.in_place};
  ShareProbe share;
  if (bounds != nullptr && (options.pool == nullptr || options.threads == 1) &&
      !std::holds_alternative<ScratchDesc>(op.desc)) {
    share = bounds->ProbeForPass(bytes, work.isa(), options.threads);
  }
  if (Status status = TimeIt(options, baseline, op, work, *watch, share, result); !status.ok()) return status;
  if (stopped()) return Status(StatusCode::kInternal, kInterrupted);
  const double median = result.time.median;
  if (!(median > 0)) return Status::Internal("no sample was taken");
  result.gflops = work.flops() / median * 1e-3;
  result.gb_per_s = result.bytes / median * 1e-3;
  if (bounds == nullptr || std::holds_alternative<ScratchDesc>(op.desc)) return {};
  const BoundResult bound = bounds->EndPass(bytes, work.isa(), options.threads, result.time);
  result.bound_us = bound.bound_us;
  result.binding = bound.binding;
  result.peak_gflops = bound.peak_gflops;
  result.disturbed = bound.disturbed;
  result.roof_share = bound.roof_share;
  result.efficiency = result.bound_us / median;
  return {};
}

double EstimateOpUs(const CaseOptions& options, const OpCase& op) noexcept {
  // 8 bytes each way at 10 GB/s, verified at 50 ns an element, timed for a second at most.
  constexpr double kVerifyUsPerFloat = 0.05, kTimingUs = 1e6;
  const double floats = std::visit(
      [](const auto& desc) {
        if constexpr (requires { desc.in; }) {
          return static_cast<double>(desc.n * desc.c * desc.in.h * desc.in.w);
        } else if constexpr (requires { desc.h; }) {
          return static_cast<double>(desc.n * desc.c * desc.h * desc.w);
        } else {
          return 0.0;
        }
      },
      op.desc);
  return floats * kVerifyUsPerFloat + std::min(options.budget_us, kTimingUs) + 2e4;
}

}  // namespace rafter::bench
