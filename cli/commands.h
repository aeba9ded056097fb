// cli/commands.h: the subcommands, each in its file cmd_<name>.cc. A subcommand declares its
// options on `app` and, when the user chose it, sets `action`; main.cc runs the action after
// parsing.
//
// Option values arrive here as text and are checked by cli/arguments.h, so that every message has
// the same form. An action returns an exit code, or a Status that main.cc prints as one line.
#ifndef RAFTER_CLI_COMMANDS_H_
#define RAFTER_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <functional>

#include "rafter/status.h"

namespace rafter::cli {

using Action = std::function<Result<int>()>;

void AddAccuracyCommand(CLI::App& app, Action& action);
void AddInfoCommand(CLI::App& app, Action& action);
void AddListCommand(CLI::App& app, Action& action);
// `arguments` are those of main, null-terminated: the command may have to start itself again.
void AddBenchCommand(CLI::App& app, Action& action, char** arguments);
void AddExplainCommand(CLI::App& app, Action& action);
void AddReportCommand(CLI::App& app, Action& action);
void AddCompareCommand(CLI::App& app, Action& action);
void AddSizesCommand(CLI::App& app, Action& action);
void AddMergeCommand(CLI::App& app, Action& action);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_COMMANDS_H_
