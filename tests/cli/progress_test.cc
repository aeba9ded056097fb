// Tests of cli/progress.h.
#include "cli/progress.h"

#include <gtest/gtest.h>

#include <string>

namespace rafter::cli {
namespace {

struct Recorder {
  std::string text;
  Progress::Sink sink() {
    return [this](std::string_view piece) { text += piece; };
  }
};

TEST(Progress, Durations) {
  EXPECT_EQ(DurationText(0), "0:00");
  EXPECT_EQ(DurationText(6.2), "0:07");
  EXPECT_EQ(DurationText(725), "12:05");
  EXPECT_EQ(DurationText(3723), "1:02:03");
  EXPECT_EQ(DurationText(-5), "0:00");
}

TEST(Progress, OneLinePerTenthWithoutTerminal) {
  Recorder recorder;
  Progress progress(recorder.sink(), false);
  progress.Begin("8 cases:", 10);
  for (int i = 0; i <= 8; ++i) progress.Show(i / 8.0, i * 2.0, "case");
  EXPECT_EQ(recorder.text,
            "8 cases: 10 %, 0:14 left\n8 cases: 20 %, 0:12 left\n8 cases: 30 %, 0:10 left\n"
            "8 cases: 50 %, 0:08 left\n8 cases: 60 %, 0:06 left\n8 cases: 70 %, 0:04 left\n"
            "8 cases: 80 %, 0:02 left\n8 cases: 100 %, 0:00 left\n");
}

TEST(Progress, RewritesItsLineOnATerminal) {
  Recorder recorder;
  Progress progress(recorder.sink(), true);
  progress.Begin("2 cases:", 10);
  progress.Show(0, 0, "first");
  EXPECT_EQ(recorder.text, "\r\x1b[K2 cases:   0 %  0:10 left  first");
  recorder.text.clear();
  progress.Clear();
  progress.Clear();
  EXPECT_EQ(recorder.text, "\r\x1b[K");
}

TEST(Progress, TheTimeSeenReplacesTheExpectation) {
  Recorder recorder;
  Progress progress(recorder.sink(), false);
  progress.Begin("cases:", 1000);
  progress.Show(0.5, 3, "");
  EXPECT_EQ(recorder.text, "cases: 50 %, 0:03 left\n");
}

TEST(Progress, QuietSaysNothing) {
  Progress progress({}, true);
  progress.Begin("cases:", 1);
  progress.Show(0.5, 1, "x");
  progress.Note("remark");
  progress.Clear();
}

}  // namespace
}  // namespace rafter::cli
