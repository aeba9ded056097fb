// Rows cut into tiles: every pixel once, and the column tables say exactly which taps are inside.
#include "kernels/conv/tile/row_program.h"

#include <gtest/gtest.h>

#include "kernels/conv/tile/spec.h"

namespace rafter::tile {
namespace {

Geometry Row(int64_t iw, int64_t kw, int64_t stride, int64_t dilation, int64_t left, int64_t right) {
  Geometry g;
  g.in = {1, iw}, g.kernel = {1, kw}, g.stride = {1, stride}, g.dilation = {1, dilation};
  g.pad_left = left, g.pad_right = right;
  g.out = {1, (iw + left + right - dilation * (kw - 1) - 1) / stride + 1};
  return g;
}

bool Inside(const Geometry& g, int64_t x, int64_t column) {
  const int64_t at = x * g.stride.w - g.pad_left + column * g.dilation.w;
  return at >= 0 && at < g.in.w;
}

// Whether a column table entry covers pixel p of the tile.
bool Covers(const EdgeSkips& skips, uint8_t index, int px, int p) {
  if (index == kNoPixels) return false;
  if (index <= skips.first) return p >= index;
  return p < px - (index - skips.first);
}

void CheckRow(const Geometry& g, int px_max) {
  std::optional<RowProgram> program = MakeRowProgram(g, 0, g.out.w, px_max);
  if (!program) {
    ASSERT_GT(px_max, 1) << "single pixels are never in the middle of nothing";
    return;
  }
  int64_t next = 0;
  for (const TileRun& run : program->runs) {
    ASSERT_EQ(run.begin, next);
    ASSERT_LE(run.px, px_max);
    next += run.px * run.tiles;
    const EdgeSkips skips = EdgeSkipsFor(g, run.px);
    for (int64_t p = 0; p < run.px * run.tiles; ++p) {
      for (int64_t column = 0; column < g.kernel.w; ++column) {
        const bool covered =
            !run.is_edge() || Covers(skips, program->columns[run.columns + column], run.px, p);
        ASSERT_EQ(covered, Inside(g, run.begin + p, column)) << "pixel " << run.begin + p;
      }
    }
  }
  ASSERT_EQ(next, g.out.w);
}

TEST(RowProgram, CoversEveryPixelWithItsTaps) {
  for (int64_t iw : {1, 2, 3, 7, 13, 28, 50}) {
    for (int64_t kw : {1, 2, 3, 5, 7}) {
      for (int64_t stride : {1, 2, 3}) {
        for (int64_t dilation : {1, 2, 12}) {
          for (int64_t left : {0, 1, 3, 13}) {
            for (int64_t right : {0, 2, 12}) {
              const Geometry g = Row(iw, kw, stride, dilation, left, right);
              if (iw + left + right < dilation * (kw - 1) + 1) continue;
              for (int px_max : {1, 3, 4, 6, 14, 28}) CheckRow(g, px_max);
            }
          }
        }
      }
    }
  }
}

TEST(RowProgram, WidthsDifferByAtMostOne) {
  const std::optional<RowProgram> program = MakeRowProgram(Row(13, 1, 1, 1, 0, 0), 0, 13, 6);
  ASSERT_TRUE(program);
  ASSERT_EQ(program->runs.size(), 2u);
  EXPECT_EQ(program->runs[0], (TileRun{0, 5, 1, -1}));
  EXPECT_EQ(program->runs[1], (TileRun{5, 4, 2, -1}));
}

TEST(RowProgram, LongRowsAreShortPrograms) {
  const std::optional<RowProgram> program =
      MakeRowProgram(Row(100'000'000, 3, 1, 1, 1, 1), 0, 100'000'000, 6);
  ASSERT_TRUE(program);
  EXPECT_LE(program->runs.size(), 4u);
}

}  // namespace
}  // namespace rafter::tile
