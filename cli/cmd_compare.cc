// cli/cmd_compare.cc: `rafter compare`: two stored runs, and a gate for scripts (bench/compare.h).
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "bench/compare.h"
#include "bench/merge.h"
#include "bench/printable.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/report_file.h"
#include "cli/standard_output.h"

namespace rafter::cli {
namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  rafter compare before.json after.json\n"
    "  rafter compare before.json after.json --fail-above 3%    exit code 3: a case became slower, 4: cannot tell\n"
    "\n"
    "Runs with --vs compare best: the other library's time cancels clock and neighbours.";

struct CompareOptions {
  std::string a, b, fail_above;
  bool json = false;
};

int ExitCodeOf(bench::GateOutcome outcome) {
  switch (outcome) {
    case bench::GateOutcome::kPassed:
      return kExitOk;
    case bench::GateOutcome::kRegression:
      return kExitRegression;
    case bench::GateOutcome::kTooNoisy:
    case bench::GateOutcome::kIncomplete:
      return kExitNoisy;
  }
  return kExitError;
}

Result<int> RunCompare(const CompareOptions& options) {
  if (options.a.empty() || options.b.empty()) {
    return NothingGiven(options.a.empty() ? "A.json and B.json" : "B.json", "two files of rafter bench --json");
  }
  if (options.a == "-" && options.b == "-") return NotAllowed("B.json", "-", "standard input for one of the two");
  std::optional<double> fail_above;
  if (!options.fail_above.empty()) {
    const Result<double> percent = ParsePercent("--fail-above", options.fail_above);
    if (!percent.ok()) return percent.status();
    fail_above = *percent;
  }
  const Result<bench::Report> a = ReadReportFile(options.a);
  if (!a.ok()) return a.status();
  const Result<bench::Report> b = ReadReportFile(options.b);
  if (!b.ok()) return b.status();
  for (const auto& [path, report] : {std::pair{&options.a, &*a}, {&options.b, &*b}}) {
    const std::string doubled = bench::DoubledCase(*report);
    if (doubled.empty()) continue;
    return Status::InvalidArgument(fmt::format("file: '{}': case '{}' is there twice; allowed: each case once", *path,
                                               bench::Printable(doubled)));
  }
  const bench::ReportComparison comparison = bench::CompareReports(*a, *b, fail_above);
  Print(options.json ? JsonText(bench::ToJson(comparison))
                     : bench::ComparisonText(comparison, options.a, options.b, fail_above));
  return fail_above ? ExitCodeOf(bench::JudgeGate(comparison)) : kExitOk;
}

}  // namespace

void AddCompareCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("compare", "Compare two stored runs, with a gate for scripts");
  command->footer(kCompareExamples);
  auto options = std::make_shared<CompareOptions>();
  command->add_option("a", options->a, "The run before")->type_name("A.json");
  command->add_option("b", options->b, "The run after")->type_name("B.json");
  command->add_option("--fail-above", options->fail_above, "Fail when a case of B is slower by more than this")
      ->type_name("PERCENT");
  command->add_flag("--json", options->json, "JSON instead of text");
  command->callback([&action, options] { action = [options] { return RunCompare(*options); }; });
}

}  // namespace rafter::cli
