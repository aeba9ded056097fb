// cli/bench_outputs.cc: see bench_outputs.h.
#include "cli/bench_outputs.h"

#include <string>
#include <utility>
#include <vector>

#include "bench/roofline_svg.h"
#include "bench/summary.h"
#include "cli/arguments.h"
#include "cli/wisdom_file.h"
#include "rafter/wisdom.h"

namespace rafter::cli {

Result<BenchOutputs> BenchOutputs::Open(const BenchOptions& options) {
  BenchOutputs outputs;
  struct Target {
    const char* option;
    const std::string* path;
    std::optional<OutputFile>* file;
  };
  const Target targets[] = {{"--json", &options.json, &outputs.json_},
                            {"--csv", &options.csv, &outputs.csv_},
                            {"--md", &options.md, &outputs.md_},
                            {"--plot", &options.plot, &outputs.plot_},
                            {"--wisdom", &options.wisdom, &outputs.wisdom_}};
  if (options.wisdom == "-") return NotAllowed("--wisdom", "-", "the name of a file");
  std::vector<const OutputFile*> opened;
  for (const Target& target : targets) {
    if (target.path->empty()) continue;
    Result<OutputFile> file = OutputFile::Open(target.option, *target.path);
    if (!file.ok()) return file.status();
    target.file->emplace(std::move(file).value());
    const OutputFile& mine = **target.file;
    for (const std::string& path : options.cases) {
      if (mine.IsAt(path)) return NotAllowed(target.option, *target.path, "another file than the list of cases");
    }
    for (const OutputFile* other : opened) {
      if (mine.SameAs(*other) || (mine.is_stdout() && other->is_stdout())) {
        return NotAllowed(target.option, *target.path, "one document per file");
      }
    }
    opened.push_back(&mine);
  }
  if (outputs.wisdom_) {
    if (Status status = LoadWisdom(options.wisdom); !status.ok()) return status;
  }
  return outputs;
}

bool BenchOutputs::shows_table() const {
  for (const auto* file : {&json_, &csv_, &md_, &plot_}) {
    if (*file && (*file)->is_stdout()) return false;
  }
  return true;
}

Status BenchOutputs::Write(const bench::Report& report, const bench::TableOptions& table) {
  Status first;
  const auto write_document = [&](std::optional<OutputFile>& file, const auto& make_text) {
    if (!file) return;
    Status status = file->Write(make_text());
    if (first.ok()) first = std::move(status);
  };
  write_document(json_, [&] { return bench::WriteJson(report); });
  write_document(csv_, [&] { return bench::WriteCsv(report.cases); });
  write_document(md_, [&] {
    return bench::WriteMarkdown(report.cases, bench::SummarizeCases(report.cases), table);
  });
  write_document(plot_, [&] {
    const bench::RooflinePlot plot = bench::MakeRooflinePlot(report);
    return bench::RooflineSvg(plot, plot.views.empty() ? bench::RooflineView{} : plot.views.front());
  });
  const std::string wisdom = wisdom_ ? ExportWisdom() : std::string();
  // An empty text is a lack of memory: better the old content than none.
  if (wisdom_ && wisdom.empty()) return first.ok() ? Status::OutOfMemory() : first;
  write_document(wisdom_, [&] { return wisdom; });
  return first;
}

}  // namespace rafter::cli
