// cli/report_file.cc: see report_file.h.
#include "cli/report_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace rafter::cli {

Result<bench::Report> ReadReportFile(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  } else {
    std::error_code error;
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path, error)) {
      return Status::InvalidArgument(fmt::format("file: '{}' cannot be read", path));
    }
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  Result<bench::Report> report = bench::ReadJson(text);
  if (report.ok()) return report;
  return Status::InvalidArgument(fmt::format("file: '{}': {}", path, report.status().message()));
}

}  // namespace rafter::cli
