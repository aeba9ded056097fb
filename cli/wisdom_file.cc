// cli/wisdom_file.cc: see wisdom_file.h.
#include "cli/wisdom_file.h"

#include <fmt/format.h>

#include "rafter/wisdom.h"
#include "roofline/input_text.h"

namespace rafter::cli {

Status LoadWisdom(const std::string& path) {
  const Result<std::string> text = roofline::ReadTextFile(path);
  if (!text.ok()) return Status::InvalidArgument(fmt::format("--wisdom: '{}' {}", path, text.status().message()));
  if (text->empty()) return {};
  const Status status = ImportWisdom(*text);
  if (status.ok() || status.code() != StatusCode::kInvalidArgument) return status;
  return Status::InvalidArgument(fmt::format("--wisdom: '{}': {}", path, status.message()));
}

}  // namespace rafter::cli
