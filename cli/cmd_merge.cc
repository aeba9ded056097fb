// cli/cmd_merge.cc: `rafter merge`: parts of a sweep as one report (bench/merge.h).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/merge.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/output_file.h"
#include "cli/report_file.h"

namespace rafter::cli {
namespace {

constexpr const char* kMergeExamples =
    "Examples:\n"
    "  rafter bench @all --shard 1/2 --json 1.json     on one machine\n"
    "  rafter bench @all --shard 2/2 --json 2.json     on another one of the same kind\n"
    "  rafter merge 1.json 2.json -o all.json";

struct MergeOptions {
  std::vector<std::string> parts;
  std::string output = "-";
  bool allow_different = false;
};

Result<int> RunMerge(const MergeOptions& options) {
  if (options.parts.empty()) return NothingGiven("part", "files of rafter bench --json");
  std::vector<bench::NamedReport> parts;
  for (const std::string& path : options.parts) {
    Result<bench::Report> report = ReadReportFile(path);
    if (!report.ok()) return report.status();
    parts.push_back({path, std::move(report).value()});
  }
  const Result<bench::Report> merged = bench::MergeReports(parts, options.allow_different);
  if (!merged.ok()) return merged.status();
  Result<OutputFile> file = OutputFile::Open("--output", options.output);
  if (!file.ok()) return file.status();
  for (const std::string& path : options.parts) {
    if (file->IsAt(path)) return NotAllowed("--output", options.output, "another file than the parts");
  }
  if (Status status = file->Write(bench::WriteJson(*merged)); !status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddMergeCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("merge", "Join the parts of a sweep or of a list of cases");
  command->footer(kMergeExamples);
  auto options = std::make_shared<MergeOptions>();
  command->add_option("part", options->parts, "What rafter bench --shard --json wrote")->type_name("FILE");
  command->add_option("-o,--output", options->output, "The whole (default: standard output)")->type_name("FILE");
  command->add_flag("--allow-different", options->allow_different, "Also from machines or settings that differ");
  command->callback([&action, options] { action = [options] { return RunMerge(*options); }; });
}

}  // namespace rafter::cli
