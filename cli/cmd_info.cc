// cli/cmd_info.cc: `rafter info`: what this machine is, what it allows, and how fast it can be.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/environment_report.h"
#include "cli/exit_codes.h"
#include "cli/interrupt.h"
#include "cli/local_roofs.h"
#include "cli/standard_output.h"
#include "roofline/machine_json.h"
#include "runtime/affinity.h"
#include "runtime/topology.h"

namespace rafter::cli {
namespace {

constexpr const char* kInfoExamples =
    "Examples:\n"
    "  rafter info                     processor, limits and roofs (measured once a day)\n"
    "  rafter info --no-measure        only what is known already\n"
    "  rafter info --remeasure --threads 1,2\n"
    "  rafter info --json > machine.json";

struct InfoOptions {
  std::string threads;
  bool json = false, remeasure = false, no_measure = false, quiet = false;
};

// One thread and all of them: the two ends of every question about threads.
std::vector<int> UsualThreadCounts() {
  const int most = DefaultThreadCount();
  return most > 1 ? std::vector<int>{1, most} : std::vector<int>{1};
}

Result<int> RunInfo(const InfoOptions& options) {
  if (options.remeasure && options.no_measure) {
    return GivenTogether("--remeasure, --no-measure", "one of the two");
  }
  RoofRequest request;
  request.threads = UsualThreadCounts();
  if (!options.threads.empty()) {
    auto threads = ParseThreads(options.threads, static_cast<int>(AllowedCpus().size()));
    if (!threads.ok()) return threads.status();
    request.threads = *threads;
  }
  request.policy = options.remeasure    ? RoofPolicy::kRemeasure
                   : options.no_measure ? RoofPolicy::kCacheOnly
                                        : RoofPolicy::kAsNeeded;
  Progress progress = StderrProgress(options.quiet);
  CatchInterrupts();
  LocalRoofs local;
  try {
    local = GetLocalRoofs(request, progress);
  } catch (const MeasurementInterrupted&) {
    progress.Clear();
    return kExitSignal + InterruptSignal();
  }
  const std::vector<BaselineInfo> baselines = ReadBaselines();
  if (options.json) {
    nlohmann::ordered_json json = roofline::MachineToJson(local.machine);
    json["environment"] =
        EnvironmentReport(local.machine.environment, local.machine.roofs, baselines);
    json["environment"].erase("roofs");  // they have their place beside it
    json["remarks"] = local.remarks;
    Print(JsonText(json));
  } else {
    Print(InfoText(local, baselines));
  }
  return kExitOk;
}

}  // namespace

void AddInfoCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("info", "Show the machine, its limits and its roofs");
  command->footer(kInfoExamples);
  auto options = std::make_shared<InfoOptions>();
  command->add_flag("--json", options->json, "JSON instead of text");
  command->add_flag("--remeasure", options->remeasure, "Measure the roofs anew");
  command->add_flag("--no-measure", options->no_measure,
                    "Measure nothing: show today's roofs, if any");
  command->add_option("--threads", options->threads, "Thread counts of the roofs, e.g. 1,2")
      ->type_name("LIST");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->callback([&action, options] { action = [options] { return RunInfo(*options); }; });
}

}  // namespace rafter::cli
