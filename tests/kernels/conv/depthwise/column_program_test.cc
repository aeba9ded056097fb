// Column programs: every output once, and skips that agree with the taps inside the image one by
// one.
#include "kernels/conv/depthwise/column_program.h"

#include <gtest/gtest.h>

#include "kernels/conv/depthwise/channel_spec.h"

namespace rafter::depthwise {
namespace {

void Check(const Axis& axis, int max_columns) {
  for (int64_t phase = 0; phase < axis.phases(); ++phase) {
    const auto program = MakeColumnProgram(axis, phase, max_columns);
    ASSERT_TRUE(program);
    int64_t next = 0;
    for (size_t run = 0; run < program->runs.size(); ++run) {
      const ColumnRun& r = program->runs[run];
      ASSERT_EQ(r.begin, next);
      ASSERT_LE(r.columns, max_columns);
      next += r.tiles * r.columns;
      for (int64_t tile = 0; tile < r.tiles; ++tile) {
        for (int64_t piece = 0; piece < program->pieces; ++piece) {
          const Skip skip =
              program
                  ->skips[run * static_cast<size_t>(program->pieces) + static_cast<size_t>(piece)];
          const int64_t window = (r.columns - 1) * axis.step() + PieceTaps(axis.kernel(), piece);
          for (int64_t at = 0; at < window; ++at) {
            const int64_t input = axis.input(phase, r.begin + tile * r.columns) +
                                  (piece * kMaxTaps + at) * axis.dilation();
            const bool inside = input >= 0 && input < axis.in();
            ASSERT_EQ(inside, at >= skip.first && at < window - skip.last) << "column " << at;
          }
        }
      }
    }
    ASSERT_EQ(next, axis.outputs(phase));
  }
}

TEST(ColumnProgram, EveryOutputOnceWithTheRightSkips) {
  for (int64_t kernel : {1, 2, 3, 7, 31, 40}) {
    for (int64_t stride : {1, 2, 3, 5}) {
      for (int64_t dilation : {1, 2, 12}) {
        for (int64_t in : {1, 5, 33, 100}) {
          for (int64_t pad : {int64_t{0}, int64_t{1}, kernel / 2, kernel}) {
            const int64_t extent = dilation * (kernel - 1) + 1;
            if (in + 2 * pad < extent) continue;
            Check(Axis(in, (in + 2 * pad - extent) / stride + 1, kernel, stride, dilation, pad), 5);
          }
        }
      }
    }
  }
}

TEST(ColumnProgram, LongRowsNeedFewRuns) {
  const Axis axis(1 << 20, 1 << 20, 3, 1, 1, 1);
  const auto program = MakeColumnProgram(axis, 0, 5);
  ASSERT_TRUE(program);
  EXPECT_LE(program->runs.size(), 5u);
}

}  // namespace
}  // namespace rafter::depthwise
