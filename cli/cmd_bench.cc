// cli/cmd_bench.cc: `rafter bench`: options and the order of things; the plan (bench_plan.h) finds
// bad input, the session (bench_session.h) measures, the outputs (bench_outputs.h) are written
// whatever happens.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/printable.h"
#include "bench/summary.h"
#include "cli/bench_outputs.h"
#include "cli/bench_plan.h"
#include "cli/bench_session.h"
#include "cli/capped_process.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/standard_output.h"
#include "kernels/conv/tile_choice.h"
#include "rafter/cpu.h"

namespace rafter::cli {
namespace {

constexpr const char* kBenchExamples =
    "Examples:\n"
    "  rafter bench mb1ic64ih56oc64oh56kh3ph1\n"
    "  rafter bench @resnet_50 --mb 1 --vs onednn\n"
    "  rafter bench @vgg_19 --mb 1 --threads 1,2 --layout nchw16c --json vgg.json --md vgg.md\n"
    "  rafter bench @resnet_50 --mb 1 --post-ops residual_add+relu\n"
    "  rafter bench --sweep oc=16:256:16,kh=1,3 --base mb1ic64ih56oc64kh3ph1 --json sweep.json\n"
    "  rafter bench @memory --vs onednn\n"
    "  rafter bench eltwise:relu:1x64x56x56 eltwise:tanh:1x64x56x56 reorder:nchw-nhwc:1x64x56x56\n"
    "  rafter bench scratch:8M --pages fresh\n"
    "  rafter bench layers.txt --filter conv3 --budget 90s --csv -\n"
    "\n"
    "Time is the median over samples of one call with warm caches; % is bound / time. Each case "
    "is\n"
    "checked against exact sums before it is timed. Without --budget about 100 s are used.";

Result<int> RunBench(const BenchOptions& options, char** arguments) {
  Result<BenchPlan> plan = MakeBenchPlan(options);
  if (!plan.ok()) return plan.status();
  if (!plan->baseline.empty() && plan->isa < DetectedIsa()) RestartCapped(plan->isa, arguments);
  SetMaxIsa(plan->isa);
  SetTileChoice(plan->tile);
  Result<BenchOutputs> outputs = BenchOutputs::Open(options);
  if (!outputs.ok()) return outputs.status();
  CatchInterrupts();

  BenchSession session(*plan, outputs->shows_table());
  if (Status status = session.Prepare(); !status.ok()) return status;
  session.Run();

  const bench::Report& report = session.report();
  const bench::Summary summary = bench::SummarizeCases(report.cases);
  if (outputs->shows_table() && !report.cases.empty()) {
    Print(bench::TableFooter(report.cases, summary, session.table_options()));
  }
  if (outputs->shows_table() && !report.complete) {
    Print(fmt::format("incomplete: interrupted, {} unfinished\n",
                      bench::Counted(static_cast<size_t>(summary.unfinished), "case")));
  }
  if (Status status = outputs->Write(report, session.table_options()); !status.ok()) return status;
  if (!report.complete) return kExitSignal + InterruptSignal();
  return summary.failed > 0 ? kExitError : kExitOk;
}

void AddOptions(CLI::App& command, BenchOptions& options) {
  const auto value = [&](const char* name, std::string& target, const char* type,
                         const char* help) {
    command.add_option(name, target, help)->type_name(type);
  };
  command.add_option("cases", options.cases, "Descriptors, files of them, or @suites")
      ->type_name("CASE");
  value("--layout", options.layout, "NAME", "nhwc (default), nchw, nchw16c, nchw8c");
  value("--mb", options.mb, "N", "Batch of every case instead of its own");
  value("--threads", options.threads, "LIST", "Thread counts, e.g. 1,2 (default 1)");
  value("--isa", options.isa, "NAME", "Use no better set than this: none, avx2, avx512");
  value("--algorithm", options.algorithm, "NAME", "Only this one, see rafter list");
  value("--post-ops", options.post_ops, "LIST",
        "Fused behind each sum, in this order, e.g. relu or residual_add+relu; see rafter list");
  value("--tile", options.tile, "PXxVECS",
        "For experts: register tiles of at most PX pixels by VECS vectors of channels, e.g. 6x2");
  value("--accuracy", options.accuracy, "NAME", "default, or strict: direct summation only");
  value("--plan", options.plan, "HOW",
        "Choose algorithms by the model (default) or measure the candidates");
  value("--wisdom", options.wisdom, "FILE", "What was measured: loaded if it exists, saved at the end");
  value("--vs", options.versus, "NAME", "Compare with another library: onednn; self shows the error of the method");
  value("--filter", options.filter, "REGEX", "Only cases whose name or descriptor matches");
  value("--budget", options.budget, "TIME", "Time for all cases, e.g. 90s or 3m");
  value("--json", options.json, "FILE", "Write a report as JSON ('-' for standard output)");
  value("--csv", options.csv, "FILE", "Write a report as CSV");
  value("--md", options.md, "FILE", "Write a report as Markdown");
  value("--plot", options.plot, "FILE", "Draw the roofline as SVG");
  value("--mode", options.mode, "LIST", "What caches hold: hot (default), cold-weights, cold, or a list");
  value("--sweep", options.sweep, "AXES", "Vary a base problem: oc=16:256:16,kh=1,3,5 or c=16:1024:*2");
  value("--base", options.base, "DESC", "The problem that --sweep varies");
  command.add_flag("--zip", options.zip, "Walk the axes of a sweep side by side instead of combining them");
  value("--shard", options.shard, "K/N", "Only the K-th of N parts of the cases; see rafter merge");
  value("--pages", options.pages, "KIND",
        "Where operators' results lie: kept (default), or at each call fresh, pooled, huge pages");
  command.add_flag("--pin", options.pin, "Own workers, each pinned to a core, instead of OpenMP");
  command.add_flag("--no-pin", options.no_pin, "Own workers that the system may move");
  value("--seed", options.seed, "N", "Seed of the data and of the order of samples (default 1)");
  command.add_flag("--quiet", options.quiet, "No progress and no remarks on standard error");
}

}  // namespace

void AddBenchCommand(CLI::App& app, Action& action, char** arguments) {
  CLI::App* command = app.add_subcommand("bench", "Measure convolutions against their bounds");
  command->footer(kBenchExamples);
  auto options = std::make_shared<BenchOptions>();
  AddOptions(*command, *options);
  command->callback([&action, options, arguments] {
    action = [options, arguments] { return RunBench(*options, arguments); };
  });
}

}  // namespace rafter::cli
