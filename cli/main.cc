// cli/main.cc: the command `rafter`: finds the subcommand, runs it, and turns every failure into
// one line on stderr and an exit code. Where to read on: cmd_<subcommand>.cc.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "bench/printable.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/standard_output.h"
#include "rafter/version.h"

namespace rafter::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  rafter info                                   this machine and its roofs\n"
    "  rafter list                                   suites and algorithms\n"
    "  rafter bench mb1ic64ih56oc64oh56kh3ph1        one layer, in benchdnn's notation\n"
    "  rafter bench @resnet_50 --mb 1 --vs onednn    a network's layers against oneDNN\n"
    "  rafter explain mb1ic64ih56oc64oh56kh3ph1      why it runs as it does\n"
    "  rafter report run.json -o report.html         one page with roofline, table, losses\n"
    "  rafter compare old.json new.json --fail-above 3%\n"
    "  rafter accuracy                               rounding errors of every algorithm\n"
    "\n"
    "Exit codes: 0 done, 1 something failed, 2 bad input, 3 regression, 4 too noisy to decide,\n"
    "128 + signal when interrupted.";

int Fail(std::string message, int code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  while (!message.empty() && message.back() == ' ') message.pop_back();
  constexpr size_t kLongestMessage = 8000;
  message = bench::Printable(message, kLongestMessage);
  std::fprintf(stderr, "rafter: %s\n", message.c_str());
  return code;
}

// "info, list, bench" or "--json, --quiet".
std::string NamesOfSubcommands(const CLI::App& app) {
  std::string names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  return names;
}

std::string NamesOfOptions(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) continue;
    names += (names.empty() ? "--" : ", --") + option->get_lnames().front();
  }
  return names;
}

std::string NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

// "DESC, and options": what is no option.
std::string NamesOfArguments(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty() && option->get_positional()) names += option->get_type_name() + ", ";
  }
  return names.empty() ? "only options" : names + "and options";
}

// An empty value is a slip, such as a variable of a script that is not set: never the same as no value.
std::string DescribeEmptyValue(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& value : option->results()) {
        if (!value.empty()) continue;
        return command->get_name() + ": " + NameOf(*option) + ": '' is not allowed; allowed: " +
               option->get_type_name() + " (" + option->get_description() + ")";
      }
    }
  }
  return {};
}

// CLI11's messages differ between versions and do not say what is allowed.
std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string> extras = app.remaining(true);
  if (chosen.empty()) {
    const std::string what =
        extras.empty() ? "no subcommand" : "'" + extras.front() + "' is not a subcommand";
    return what + "; allowed: " + NamesOfSubcommands(app) + " (see rafter --help)";
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !extras.empty()) {
    const CLI::App& command = *chosen.front();
    const bool option = extras.front().size() > 1 && extras.front().front() == '-';
    return command.get_name() + ": '" + extras.front() + "' " +
           (option ? "is not an option of it; allowed: " + NamesOfOptions(command)
                   : "is one argument too many; allowed: " + NamesOfArguments(command));
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    for (const CLI::Option* option : chosen.front()->get_options()) {
      if (option->count() > 1 && option->get_items_expected_max() == 1) {
        return chosen.front()->get_name() + ": " + NameOf(*option) + ": given " + std::to_string(option->count()) +
               " times; allowed: once";
      }
    }
  }
  return chosen.front()->get_name() + ": " + error.what() + " (see rafter " +
         chosen.front()->get_name() + " --help)";
}

int Main(int argc, char** argv) {
  CLI::App app{"rafter: JIT-generated CPU convolution kernels, measured against the roofline",
               "rafter"};
  app.set_version_flag("--version", std::string("rafter ") + Version(),
                       "Show the version and exit");
  app.set_help_flag("-h,--help", "Show this help and exit");
  app.require_subcommand(1);
  app.footer(kExamples);
  Action action;
  AddInfoCommand(app, action);
  AddListCommand(app, action);
  AddBenchCommand(app, action, argv);
  AddExplainCommand(app, action);
  AddSizesCommand(app, action);
  AddReportCommand(app, action);
  AddCompareCommand(app, action);
  AddMergeCommand(app, action);
  AddAccuracyCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    const int code = app.exit(success);
    return StandardOutputFailed() ? Fail("standard output: cannot be written", kExitError) : code;
  } catch (const CLI::ParseError& error) {
    return Fail(DescribeParseError(app, error), kExitUsage);
  }
  if (const std::string empty = DescribeEmptyValue(app); !empty.empty()) return Fail(empty, kExitUsage);
  const Result<int> code = action();
  if (!code.ok()) return Fail(std::string(code.status().message()), ExitCodeOf(code.status()));
  if (*code == kExitOk && StandardOutputFailed()) {
    return Fail("standard output: cannot be written", kExitError);
  }
  return *code;
}

}  // namespace
}  // namespace rafter::cli

int main(int argc, char** argv) {
  try {
    return rafter::cli::Main(argc, argv);
  } catch (const std::bad_alloc&) {
    return rafter::cli::Fail("out of memory", rafter::cli::kExitError);
  } catch (const std::exception& error) {
    return rafter::cli::Fail(error.what(), rafter::cli::kExitError);
  }
}
