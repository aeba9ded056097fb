// cli/interrupt.h: Ctrl-C and SIGTERM while measuring: the first asks for an orderly end, so that
// what was measured gets written; a second one ends the process at once.
#ifndef RAFTER_CLI_INTERRUPT_H_
#define RAFTER_CLI_INTERRUPT_H_

#include <atomic>

namespace rafter::cli {

// Catches SIGINT and SIGTERM from now on, and ignores SIGPIPE: a closed reader of the table must
// not cost the files.
void CatchInterrupts() noexcept;

// Becomes true with the first signal.
const std::atomic<bool>& Interrupted() noexcept;

// The signal that came, 0 before.
int InterruptSignal() noexcept;

}  // namespace rafter::cli

#endif  // RAFTER_CLI_INTERRUPT_H_
