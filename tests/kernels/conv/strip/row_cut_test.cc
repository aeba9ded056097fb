// Rows cut into strips: every pixel once, and the skips of edge strips leave out exactly the taps in the padding.
#include "kernels/conv/strip/row_cut.h"

#include <gtest/gtest.h>

namespace rafter::strip {
namespace {

RowShape Row(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t left, int64_t right,
             bool all_columns) {
  return {in, (in + left + right - dilation * (kernel - 1) - 1) / stride + 1, kernel, stride, dilation,
          left, all_columns};
}

bool Inside(const RowShape& row, int64_t x, int64_t column) {
  const int64_t at = x * row.stride - row.pad + column * row.dilation;
  return at >= 0 && at < row.in;
}

bool Runs(const RowShape& row, const EdgeStrip& strip, int p, int64_t column) {
  if (!strip.has_taps) return false;
  if (!row.all_columns) return column >= strip.column_begin && column < strip.column_end;
  const int64_t position = p * row.stride + column * row.dilation;
  const int64_t end = (strip.px - 1) * row.stride + (row.kernel - 1) * row.dilation + 1 - strip.skip_last;
  return position >= strip.skip_first && position < end;
}

void CheckEdges(const RowShape& row, const std::vector<EdgeStrip>& strips, int64_t* next) {
  for (const EdgeStrip& strip : strips) {
    ASSERT_EQ(strip.x, *next);
    for (int p = 0; p < strip.px; ++p) {
      for (int64_t column = 0; column < row.kernel; ++column) {
        ASSERT_EQ(Runs(row, strip, p, column), Inside(row, strip.x + p, column));
      }
    }
    *next += strip.px;
  }
}

void CheckRow(const RowShape& row, int px_max) {
  const std::optional<RowCut> cut = CutRow(row, px_max);
  ASSERT_TRUE(cut);
  int64_t next = 0;
  CheckEdges(row, cut->head, &next);
  for (int64_t strip = 0; strip < cut->interior(); ++strip) {
    const int px = strip < cut->wide ? cut->px : cut->px - 1;
    ASSERT_EQ(cut->at(strip), next);
    ASSERT_LE(px, px_max);
    ASSERT_TRUE(Inside(row, next, 0));
    ASSERT_TRUE(Inside(row, next + px - 1, row.kernel - 1));
    next += px;
  }
  CheckEdges(row, cut->tail, &next);
  ASSERT_EQ(next, row.out);
}

TEST(RowCut, CoversEveryPixelWithItsTaps) {
  for (const bool all_columns : {true, false}) {
    for (const int64_t in : {1, 2, 3, 7, 13, 28, 50}) {
      for (const int64_t kernel : {1, 2, 3, 5, 7}) {
        for (const int64_t stride : {1, 2, 3}) {
          for (const int64_t dilation : {1, 2, 12}) {
            for (const int64_t left : {0, 1, 3, 13}) {
              for (const int64_t right : {0, 2, 12}) {
                if (in + left + right < dilation * (kernel - 1) + 1) continue;
                const RowShape row = Row(in, kernel, stride, dilation, left, right, all_columns);
                for (const int px_max : {1, 3, 4, 6, 12, 24}) CheckRow(row, px_max);
              }
            }
          }
        }
      }
    }
  }
}

TEST(RowCut, LongRowsAreShortPrograms) {
  const std::optional<RowCut> cut = CutRow(Row(100'000'000, 3, 1, 1, 1, 1, true), 12);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->head.size(), 1u);
  EXPECT_EQ(cut->tail.size(), 1u);
}

TEST(RowCut, EdgesBeyondCountingAreRefused) {
  EXPECT_FALSE(CutRow(Row(10, 3, 1, 1, 10'000'000, 0, true), 12));
}

}  // namespace
}  // namespace rafter::strip
