// cli/progress.h: how far a long run is and how long it will still take. Goes to stderr: a line
// that rewrites itself on a terminal, else one line every 10 %.
//
// The estimate weighs the work items by their expected time and corrects that by the time taken so
// far.
#ifndef RAFTER_CLI_PROGRESS_H_
#define RAFTER_CLI_PROGRESS_H_

#include <functional>
#include <string>
#include <string_view>

namespace rafter::cli {

// "0:07", "12:05", "1:02:03"; rounds up.
std::string DurationText(double seconds);

class Progress {
 public:
  using Sink = std::function<void(std::string_view)>;

  // An empty sink keeps it quiet.
  Progress(Sink sink, bool terminal) : sink_(std::move(sink)), terminal_(terminal) {}

  // Begins `what`, of expected duration `expected_seconds` (any unit: only ratios count, until the
  // first item is done).
  void Begin(std::string_view what, double expected_seconds);

  // Fraction `done` of the weights is finished after `elapsed_seconds`; `label` is what comes next.
  void Show(double done, double elapsed_seconds, std::string_view label);

  // Removes the line from the terminal, so that other output may be written.
  void Clear();

  // A remark of its own line.
  void Note(std::string_view text);

 private:
  Sink sink_;
  bool terminal_;
  bool line_shown_ = false;
  int last_tenth_ = 0;
  double expected_seconds_ = 0;
  std::string what_;
};

// On stderr; silent when `quiet`.
Progress StderrProgress(bool quiet);

}  // namespace rafter::cli

#endif  // RAFTER_CLI_PROGRESS_H_
