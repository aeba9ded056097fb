// cli/exit_codes.h: how the command ends. Scripts rely on these numbers (docs/command.md).
#ifndef RAFTER_CLI_EXIT_CODES_H_
#define RAFTER_CLI_EXIT_CODES_H_

#include "rafter/status.h"

namespace rafter::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError =
    1;  // something failed while working; what else could be done was done
inline constexpr int kExitUsage = 2;     // bad input, found before any work; one line on stderr
inline constexpr int kExitRegression = 3;  // a gate found something slower
inline constexpr int kExitNoisy = 4;       // a gate could not decide: too noisy, or not comparable
inline constexpr int kExitSignal = 128;  // plus the number of the signal that ended the run

// What was asked for is impossible or contradicts itself: 2. Everything else: 1.
inline int ExitCodeOf(const Status& status) noexcept {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
      return kExitUsage;
    default:
      return kExitError;
  }
}

}  // namespace rafter::cli

#endif  // RAFTER_CLI_EXIT_CODES_H_
