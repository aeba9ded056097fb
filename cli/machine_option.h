// cli/machine_option.h: `--machine`: a data sheet by name or a file of `rafter info --json`.
#ifndef RAFTER_CLI_MACHINE_OPTION_H_
#define RAFTER_CLI_MACHINE_OPTION_H_

#include <string>

#include "rafter/status.h"
#include "roofline/machine.h"

namespace rafter::cli {

// A file, the name of a data sheet, or the beginning of exactly one such name ("i9-10980xe"). kInvalidArgument lists
// what there is.
Result<roofline::Machine> FindNamedMachine(const std::string& name);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_MACHINE_OPTION_H_
