// Tiles cover each row, interior ones reach no padding, masks say exactly which lanes a tap
// reaches.
#include "kernels/conv/widthwise/row_cut.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/conv/widthwise/spec.h"

namespace rafter::widthwise {
namespace {

struct Case {
  int64_t in, kernel, stride, dilation, pad;
};

Geometry GeometryFor(const Case& c) {
  Geometry g;
  g.in = {1, c.in}, g.kernel = {1, c.kernel}, g.stride = {1, c.stride},
  g.dilation = {1, c.dilation};
  g.pad_left = c.pad;
  g.out = {1, (c.in + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1};
  return g;
}

// First pixel of each vector of a tile.
std::vector<int64_t> Vectors(const Column& column, int64_t tile, int lanes) {
  std::vector<int64_t> begins;
  for (int v = 0; v < column.vecs; ++v)
    begins.push_back(column.x + (tile * column.vecs + v) * lanes);
  begins.back() -= column.shift;
  return begins;
}

void CheckMasks(const Geometry& g, const RowCut& cut, const Column& column, int lanes,
                int elements) {
  const std::vector<int64_t> begins = Vectors(column, 0, lanes);
  const int32_t* masks = cut.masks.data() + column.masks;
  for (int64_t k = 0; k < g.kernel.w; ++k) {
    const uint8_t code = cut.codes[static_cast<size_t>(column.codes + k)];
    for (int v = 0; v < column.vecs; ++v, masks += lanes * elements) {
      const bool masked = code == kAllMasked || (code == kFirstMasked && v == 0) ||
                          (code == kLastMasked && v == column.vecs - 1);
      for (int lane = 0; lane < lanes; ++lane) {
        const int64_t pixel = begins[static_cast<size_t>(v)] + lane;
        const int64_t at = pixel * g.stride.w + k * g.dilation.w - g.pad_left;
        const bool valid = pixel < g.out.w && at >= 0 && at < g.in.w;
        EXPECT_EQ(masks[lane * elements], valid ? -1 : 0);
        if (code == kNoLanes) {
          EXPECT_FALSE(valid);
        }
        if (code != kNoLanes && !masked) {
          EXPECT_TRUE(valid);
          EXPECT_LT(at + elements - 1, g.in.w) << "loads beyond the row";
        }
      }
    }
  }
}

void Check(const Case& c, int lanes, int max_vecs, bool even_ends) {
  SCOPED_TRACE(::testing::Message()
               << "in " << c.in << " kernel " << c.kernel << " stride " << c.stride << " dilation "
               << c.dilation << " pad " << c.pad << " vecs " << max_vecs << " even " << even_ends);
  const Geometry g = GeometryFor(c);
  if (g.out.w < 1) return;
  const int elements = c.stride == 2 ? 2 : 1;
  const std::optional<RowCut> cut = CutRow(g, lanes, max_vecs, even_ends, c.stride == 2);
  ASSERT_TRUE(cut);
  std::vector<int> covered(static_cast<size_t>(g.out.w), 0);
  int64_t tiles = 0;
  for (const Column& column : cut->columns) {
    tiles += column.count;
    EXPECT_TRUE(column.count == 1 || (!column.is_edge() && column.shift == 0));
    for (int64_t tile = 0; tile < column.count; ++tile) {
      for (const int64_t begin : Vectors(column, tile, lanes)) {
        for (int64_t pixel = begin; pixel < begin + lanes; ++pixel) {
          if (pixel >= g.out.w && column.tail_lanes > 0) continue;
          ASSERT_TRUE(pixel >= 0 && pixel < g.out.w);
          ++covered[static_cast<size_t>(pixel)];
        }
        if (column.is_edge()) continue;
        EXPECT_GE(begin * c.stride, c.pad);
        EXPECT_LT(
            (begin + lanes - 1) * c.stride - c.pad + (c.kernel - 1) * c.dilation + elements - 1,
            c.in);
      }
    }
    if (column.is_edge()) CheckMasks(g, *cut, column, lanes, elements);
  }
  EXPECT_EQ(tiles, cut->tiles);
  for (const int times : covered) EXPECT_GE(times, 1);
}

TEST(RowCut, CoversEveryRow) {
  for (int64_t in = 1; in <= 70; ++in) {
    for (const int64_t kernel : {1, 2, 3, 7}) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t dilation : {1, 5}) {
          for (const int64_t pad : {0, 1, 3, 40}) {
            for (const bool even : {false, true}) Check({in, kernel, stride, dilation, pad}, 8, 3, even);
          }
        }
        Check({in, kernel, stride, 1, kernel / 2}, 16, 1, false);
        Check({in, kernel, stride, 1, kernel / 2}, 8, 12, false);
        Check({in, kernel, stride, 1, kernel / 2}, 4, 6, true);
      }
    }
  }
}

TEST(RowCut, AMovedVectorHasItsNeighbourInTheTileWhereResidualsAreRead) {
  Geometry g = GeometryFor({30, 1, 1, 1, 0});  // 4 vectors, the last one partly filled
  EXPECT_EQ(CutRow(g, 8, 3, false, false)->columns.back().vecs, 1);
  g.post_ops = {PostOp::ResidualAdd()};
  g.residuals.resize(1);
  const RowCut cut = *CutRow(g, 8, 3, false, false);
  EXPECT_EQ(cut.columns.back().vecs, 2);
  EXPECT_EQ(cut.columns.back().shift, 2);
  EXPECT_EQ(cut.tiles, 2);
}

TEST(RowCut, EvenEndsAreHalves) {
  const auto vecs = [](int64_t pixels, bool even) {
    std::vector<int> all;
    const std::optional<RowCut> cut = CutRow(GeometryFor({pixels, 1, 1, 1, 0}), 8, 3, even, false);
    for (const Column& column : cut->columns) {
      for (int64_t i = 0; i < column.count; ++i) all.push_back(column.vecs);
    }
    return all;
  };
  EXPECT_EQ(vecs(56, false), (std::vector<int>{3, 3, 1}));
  EXPECT_EQ(vecs(56, true), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ(vecs(53, true), (std::vector<int>{3, 2, 2}));
  EXPECT_EQ(vecs(48, true), (std::vector<int>{3, 3}));
  EXPECT_EQ(vecs(8, true), (std::vector<int>{1}));
}

TEST(RowCut, LongRowsNeedNoLists) {
  const RowCut cut = *CutRow(GeometryFor({int64_t{1} << 40, 3, 1, 1, 1}), 8, 3, false, false);
  EXPECT_LE(cut.columns.size(), 4u);
  EXPECT_FALSE(CutRow(GeometryFor({8, 3, 1, 1, int64_t{1} << 40}), 8, 3, false, false))
      << "padding without end";
}

}  // namespace
}  // namespace rafter::widthwise
