// cli/progress.cc: see progress.h.
#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace rafter::cli {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[K";
constexpr size_t kLabelColumns = 48;

}  // namespace

std::string DurationText(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e9)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60, rest = whole % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, rest);
  return fmt::format("{}:{:02}", minutes, rest);
}

void Progress::Begin(std::string_view what, double expected_seconds) {
  what_ = what;
  expected_seconds_ = expected_seconds;
  last_tenth_ = 0;
}

void Progress::Show(double done, double elapsed_seconds, std::string_view label) {
  if (!sink_) return;
  done = std::clamp(done, 0.0, 1.0);
  // Early on the plan says more than the little that has been seen.
  const double seen_total = done > 0 ? elapsed_seconds / done : expected_seconds_;
  const double trust = std::min(1.0, done / 0.1);
  const double total = trust * seen_total + (1 - trust) * expected_seconds_;
  const double left = std::max(0.0, total - elapsed_seconds);
  if (terminal_) {
    sink_(fmt::format("{}{} {:3.0f} %  {} left  {}", kClearLine, what_, std::floor(done * 100),
                      DurationText(left), label.substr(0, kLabelColumns)));
    line_shown_ = true;
    return;
  }
  const int tenth = static_cast<int>(done * 10 + 1e-9);
  if (tenth <= last_tenth_) return;
  last_tenth_ = tenth;
  sink_(fmt::format("{} {} %, {} left\n", what_, tenth * 10, DurationText(left)));
}

void Progress::Clear() {
  if (!line_shown_) return;
  sink_(kClearLine);
  line_shown_ = false;
}

void Progress::Note(std::string_view text) {
  if (!sink_) return;
  Clear();
  sink_(fmt::format("{}\n", text));
}

Progress StderrProgress(bool quiet) {
  if (quiet) return Progress({}, false);
  const auto write_text = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  return Progress(write_text, isatty(STDERR_FILENO) == 1);
}

}  // namespace rafter::cli
