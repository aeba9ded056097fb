// cli/standard_output.cc: see standard_output.h.
#include "cli/standard_output.h"

#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>

namespace rafter::cli {

void Print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool StandardOutputFailed() { return std::fflush(stdout) != 0 || std::ferror(stdout) != 0; }

bool ColorWanted() {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return isatty(STDOUT_FILENO) == 1;
}

std::string JsonText(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rafter::cli
