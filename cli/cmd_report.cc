// cli/cmd_report.cc: `rafter report`: a run as one HTML page (bench/report_html.h).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/report_html.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/machine_option.h"
#include "cli/output_file.h"
#include "cli/report_file.h"

namespace rafter::cli {
namespace {

constexpr const char* kReportExamples =
    "Examples:\n"
    "  rafter bench @resnet_50 --mb 1 --vs onednn --json run.json && rafter report run.json -o report.html\n"
    "  rafter report run.json -o report.html --machine i9-10980xe\n"
    "\n"
    "The page needs no network and no other file: mail it, put it on a stick, open it on a phone.";

struct ReportOptions {
  std::string run, output, title, machine;
};

// The roof of a data sheet: its peak and its memory.
Result<bench::DataSheetRoof> SheetOf(const std::string& name) {
  const Result<roofline::Machine> machine = FindNamedMachine(name);
  if (!machine.ok()) return machine.status();
  bench::DataSheetRoof sheet{machine->name, 0, 0};
  for (const roofline::FmaPeak& peak : machine->roofs.peaks) sheet.gflops = std::max(sheet.gflops, peak.gflops);
  for (const roofline::BandwidthCurve& curve : machine->roofs.curves) {
    if (curve.mix == roofline::Mix::kLoad && !curve.points.empty()) sheet.gb_per_s = curve.points.back().gb_per_s;
  }
  return sheet;
}

Result<int> RunReport(const ReportOptions& options) {
  if (options.run.empty()) return NothingGiven("run", "a file of rafter bench --json");
  Result<bench::Report> report = ReadReportFile(options.run);
  if (!report.ok()) return report.status();
  bench::HtmlOptions html;
  html.title = options.title.empty() ? options.run : options.title;
  if (!options.machine.empty()) {
    Result<bench::DataSheetRoof> sheet = SheetOf(options.machine);
    if (!sheet.ok()) return sheet.status();
    html.sheets.push_back(std::move(sheet).value());
  }
  Result<OutputFile> file = OutputFile::Open("--output", options.output);
  if (!file.ok()) return file.status();
  if (file->IsAt(options.run)) return NotAllowed("--output", options.output, "another file than the run itself");
  if (Status status = file->Write(bench::WriteHtml(*report, html)); !status.ok()) return status;
  if (!bench::ChartsBuiltIn()) {
    std::fprintf(stderr, "rafter: this program was built without Chart.js: the page has drawings only\n");
  }
  return kExitOk;
}

}  // namespace

void AddReportCommand(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("report", "Turn a run into one HTML page that needs nothing else");
  command->footer(kReportExamples);
  auto options = std::make_shared<ReportOptions>();
  options->output = "-";
  command->add_option("run", options->run, "What rafter bench --json wrote ('-' for standard input)")
      ->type_name("FILE");
  command->add_option("-o,--output", options->output, "The page (default: standard output)")->type_name("FILE");
  command->add_option("--title", options->title, "Title of the page")->type_name("TEXT");
  command->add_option("--machine", options->machine, "Draw the roof of this data sheet, too")->type_name("NAME");
  command->callback([&action, options] { action = [options] { return RunReport(*options); }; });
}

}  // namespace rafter::cli
