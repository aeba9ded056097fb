// cli/cmd_explain.cc: `rafter explain`: options; the facts are gathered in explanation.h.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bench/descriptor.h"
#include "bench/printable.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/explanation.h"
#include "cli/interrupt.h"
#include "cli/local_roofs.h"
#include "cli/machine_option.h"
#include "cli/standard_output.h"
#include "runtime/affinity.h"

namespace rafter::cli {
namespace {

constexpr const char* kExplainExamples =
    "Examples:\n"
    "  rafter explain mb1ic64ih56oc64oh56kh3ph1\n"
    "  rafter explain mb1ic64ih56oc64oh56kh3ph1 --post-ops residual_add+relu --layout nchw16c\n"
    "  rafter explain mb1ic64ih56oc64oh56kh3ph1 --machine i9-10980xe\n"
    "\n"
    "Runs the layer and a few neighbours for about two seconds, unless --no-measure or --machine is given.";

struct ExplainOptions {
  std::string descriptor, layout = "nhwc", threads = "1", accuracy = "default";
  std::string mb, isa, algorithm, post_ops, machine;
  bool json = false, no_measure = false, quiet = false, verbose = false;
};

Status TakeDescriptor(const ExplainOptions& options, ExplainRequest& request) {
  if (options.descriptor.empty()) {
    return NothingGiven("descriptor", "one such as mb1ic64ih56oc64oh56kh3ph1");
  }
  Result<bench::Descriptor> descriptor = bench::ParseDescriptor(options.descriptor);
  if (!descriptor.ok()) {
    return Status(
        descriptor.status().code(),
        fmt::format("descriptor: '{}': {}", bench::Printable(options.descriptor), descriptor.status().message()));
  }
  request.descriptor = std::move(descriptor).value();
  ConvDesc& desc = request.descriptor.desc;
  desc.bias = true;
  if (!options.mb.empty()) {
    const Result<int64_t> mb = ParseInteger("--mb", options.mb, 0, 1'000'000);
    if (!mb.ok()) return mb.status();
    desc.n = *mb;
  }
  const Result<Layout> layout = ParseLayout(options.layout);
  if (!layout.ok()) return layout.status();
  desc.src.layout = desc.dst.layout = *layout;
  Result<PostOps> post_ops = ParsePostOps(options.post_ops, desc.oc);
  if (!post_ops.ok()) return post_ops.status();
  desc.post_ops = std::move(post_ops).value();
  return {};
}

Status TakePlanOptions(const ExplainOptions& options, ConvOptions& plan) {
  const Result<int64_t> threads =
      ParseInteger("--threads", options.threads, 1, static_cast<int64_t>(AllowedCpus().size()));
  if (!threads.ok()) return threads.status();
  plan.threads = static_cast<int>(*threads);
  const Result<Accuracy> accuracy = ParseAccuracy(options.accuracy);
  if (!accuracy.ok()) return accuracy.status();
  plan.accuracy = *accuracy;
  Result<std::string> algorithm = ParseAlgorithm(options.algorithm);
  if (!algorithm.ok()) return algorithm.status();
  plan.algorithm = std::move(algorithm).value();
  if (options.isa.empty()) return {};
  const Result<Isa> isa = ParseIsaOption(options.isa);
  if (!isa.ok()) return isa.status();
  SetMaxIsa(*isa);
  return {};
}

Result<roofline::Machine> FindMachine(const ExplainOptions& options, int threads) {
  if (!options.machine.empty()) return FindNamedMachine(options.machine);
  RoofRequest request;
  request.isas = MeasurableIsas();
  if (!request.isas.empty()) request.isas = {request.isas.back()};
  request.threads = {threads};
  request.policy = options.no_measure ? RoofPolicy::kCacheOnly : RoofPolicy::kAsNeeded;
  Progress progress = StderrProgress(options.quiet);
  LocalRoofs local = GetLocalRoofs(request, progress);
  for (const std::string& remark : local.remarks) progress.Note(remark);
  return std::move(local.machine);
}

Result<int> RunExplain(const ExplainOptions& options) {
  ExplainRequest request;
  if (Status status = TakePlanOptions(options, request.options); !status.ok()) return status;
  if (Status status = TakeDescriptor(options, request); !status.ok()) return status;
  CatchInterrupts();
  try {
    Result<roofline::Machine> machine = FindMachine(options, request.options.threads);
    if (!machine.ok()) return machine.status();
    Result<Explanation> explanation = ExplainConv(request, *machine);
    if (!explanation.ok()) return explanation.status();
    // Under the roofs of another machine the times of this one mean nothing.
    constexpr double kMeasuringUs = 2e6;
    if (options.machine.empty() && !options.no_measure) {
      MeasureExplanation(request, *machine, kMeasuringUs, *explanation);
      if (Interrupted()) return kExitSignal + InterruptSignal();
    }
    Print(options.json ? JsonText(ToJson(*explanation)) : ToText(*explanation, options.verbose));
  } catch (const MeasurementInterrupted&) {
    return kExitSignal + InterruptSignal();
  }
  return kExitOk;
}

void AddOptions(CLI::App& command, ExplainOptions& options) {
  const auto value = [&](const char* name, std::string& target, const char* type,
                         const char* help) {
    command.add_option(name, target, help)->type_name(type);
  };
  value("descriptor", options.descriptor, "DESC", "A convolution in benchdnn's notation");
  value("--layout", options.layout, "NAME", "nhwc (default), nchw, nchw16c, nchw8c");
  value("--mb", options.mb, "N", "Batch instead of the descriptor's");
  value("--threads", options.threads, "N", "Threads of the plan (default 1)");
  value("--isa", options.isa, "NAME", "Use no better set than this: none, avx2, avx512");
  value("--algorithm", options.algorithm, "NAME", "Only this one, see rafter list");
  value("--accuracy", options.accuracy, "NAME", "default, or strict: direct summation only");
  value("--post-ops", options.post_ops, "LIST",
        "Fused behind it, e.g. residual_add+relu, clip:0:6");
  value("--machine", options.machine, "NAME",
        "Roofs of a data sheet or of a JSON file of rafter info");
  command.add_flag("--json", options.json, "JSON instead of text");
  command.add_flag("--no-measure", options.no_measure, "Measure and run nothing: use today's roofs, if any");
  command.add_flag("--verbose", options.verbose, "Also all that the plan says of itself, and every refusal");
  command.add_flag("--quiet", options.quiet, "No progress and no remarks on standard error");
}

}  // namespace

void AddExplainCommand(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("explain", "Explain the choice of a kernel, its cost and its bound");
  command->footer(kExplainExamples);
  auto options = std::make_shared<ExplainOptions>();
  AddOptions(*command, *options);
  command->callback([&action, options] { action = [options] { return RunExplain(*options); }; });
}

}  // namespace rafter::cli
