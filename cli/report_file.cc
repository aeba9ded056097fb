// cli/report_file.cc: see report_file.h.
#include "cli/report_file.h"

#include <fmt/format.h>

#include <iostream>

#include "roofline/input_text.h"

namespace rafter::cli {

Result<bench::Report> ReadReportFile(const std::string& path) {
  const Result<std::string> text = path == "-" ? roofline::ReadText(std::cin) : roofline::ReadTextFile(path);
  if (!text.ok()) return Status::InvalidArgument(fmt::format("file: '{}' {}", path, text.status().message()));
  Result<bench::Report> report = bench::ReadJson(*text);
  if (report.ok()) return report;
  return Status::InvalidArgument(fmt::format("file: '{}': {}", path, report.status().message()));
}

}  // namespace rafter::cli
