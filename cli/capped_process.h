// cli/capped_process.h: caps the instruction set of a whole process, other libraries included. They
// read their limits once, from the environment, so the program starts itself again with the limits
// set.
#ifndef RAFTER_CLI_CAPPED_PROCESS_H_
#define RAFTER_CLI_CAPPED_PROCESS_H_

#include "rafter/cpu.h"

namespace rafter::cli {

// Returns when this process has the limits for `isa` already, or when the system cannot start the
// program again (then only what rafter and the baseline's own API can cap is capped). `arguments`
// as given to main.
void RestartCapped(Isa isa, char** arguments);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_CAPPED_PROCESS_H_
