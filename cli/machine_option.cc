// cli/machine_option.cc: see machine_option.h.
#include "cli/machine_option.h"

#include <filesystem>
#include <vector>

#include "cli/arguments.h"

namespace rafter::cli {

Result<roofline::Machine> FindNamedMachine(const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) return roofline::ReadMachineFile(name);
  std::string allowed = "a file of rafter info --json";
  std::vector<std::string> matches;
  for (const std::string& sheet : roofline::DataSheetNames()) {
    allowed += ", " + sheet;
    if (sheet == name) return roofline::DataSheetMachine(sheet);
    if (!name.empty() && sheet.starts_with(name)) matches.push_back(sheet);
  }
  if (matches.size() == 1) return roofline::DataSheetMachine(matches.front());
  return NotAllowed("--machine", name, allowed);
}

}  // namespace rafter::cli
