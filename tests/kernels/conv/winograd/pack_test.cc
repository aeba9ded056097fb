// Transformed weights: every filter at its place, against the definition in double precision.
#include "kernels/conv/winograd/pack.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/random_tensor.h"

namespace rafter::winograd {
namespace {

TEST(CutPanels, EveryVectorOnceAndNoSinglesBesideOthers) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const jit::IsaInfo& info = jit::GetIsaInfo(isa);
    for (int64_t vecs = 1; vecs <= 70; ++vecs) {
      int64_t next = 0;
      for (const PanelRun& run : CutPanels(vecs, info)) {
        EXPECT_EQ(run.first_vec, next);
        EXPECT_GT(MaxTiles(run.vecs, 2, info), 0) << run.vecs << " vectors have no register tile";
        EXPECT_TRUE(run.vecs > 1 || vecs == 1) << vecs;
        next += run.panels * run.vecs;
      }
      EXPECT_EQ(next, vecs);
    }
  }
}

// A and B^T belong to the same points as G: for any taps and inputs, A^T ((G g) * (B^T d)) is the convolution. Here
// the inputs are unit vectors, of which B^T and A^T are the polynomials of the points.
TEST(WeightRow, SumsOfPointsAreTheTaps) {
  // y_0 = sum of all finite points' products with d = 1 at every point: the sum over points of G's rows, weighted
  // with B^T (1, 0, 0, …) = (1, 0, …), is the first tap.
  const WeightRow zero = WeightRowOf(Axis::kFour, 0), infinity = WeightRowOf(Axis::kFour, 1);
  EXPECT_EQ(zero.tap[0], 1);
  EXPECT_EQ(infinity.tap[2], 1);
  // Opposite points differ in the odd tap's sign only.
  for (const Axis axis : {Axis::kTwo, Axis::kFour}) {
    for (int point = 2; point < Inputs(axis); point += 2) {
      const WeightRow plus = WeightRowOf(axis, point), minus = WeightRowOf(axis, point + 1);
      EXPECT_EQ(plus.tap[0], minus.tap[0]);
      EXPECT_EQ(plus.tap[1], -minus.tap[1]);
      EXPECT_EQ(plus.tap[2], minus.tap[2]);
    }
  }
}

TEST(Pack, EveryFilterAtItsPlace) {
  ConvDesc desc;
  desc.groups = 2, desc.ic = 34, desc.oc = 46, desc.in = {8, 8}, desc.kernel = {3, 3};
  const ConvProblem problem = *Validate(desc);
  std::vector<float> oihw(46 * 17 * 9), bias(46);
  testing::FillDense(oihw.data(), oihw.size(), testing::DataKind::kReal, 1);
  testing::FillDense(bias.data(), bias.size(), testing::DataKind::kReal, 2);
  const TileShape shape{Axis::kFour, Axis::kTwo};
  const PackLayout layout = LayOut(problem, shape, jit::GetIsaInfo(Isa::kAvx2));
  std::vector<float> payload(static_cast<size_t>(layout.payload_floats()), 0.0f);
  PackWeights(layout, oihw.data(), bias.data(), payload.data());
  int64_t weights = 0;
  for (int64_t group = 0; group < 2; ++group) {
    for (int64_t oc = 0; oc < 23; ++oc) {
      EXPECT_EQ(payload[static_cast<size_t>(layout.bias(group) + oc)], bias[static_cast<size_t>(group * 23 + oc)]);
    }
    for (const PanelRun& run : layout.runs) {
      const int64_t width = run.vecs * layout.lanes;
      const float* u = payload.data() + layout.weights(group, run.first_vec);
      for (int position = 0; position < shape.positions(); ++position) {
        const WeightRow row = WeightRowOf(shape.rows, position % shape.in_h());
        const WeightRow column = WeightRowOf(shape.columns, position / shape.in_h());
        for (int64_t panel = 0; panel < run.panels; ++panel) {
          for (int64_t k = 0; k < 17; ++k) {
            for (int64_t lane = 0; lane < width; ++lane, ++u, ++weights) {
              const int64_t oc = run.first_vec * layout.lanes + panel * width + lane;
              double want = 0;
              for (int tap = 0; tap < 9 && oc < 23; ++tap) {
                const auto at = static_cast<size_t>(((group * 23 + oc) * 17 + k) * 9 + tap);
                want += row.tap[tap / 3] * column.tap[tap % 3] * double{oihw[at]};
              }
              ASSERT_NEAR(*u, want, 1e-7) << "position " << position << " channel " << oc << " input " << k;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(weights, 2 * layout.group_floats);
}

TEST(Pack, EveryTileHasItsFormat) {
  ConvDesc desc;
  desc.ic = 16, desc.oc = 16, desc.in = {8, 8}, desc.kernel = {3, 3};
  const ConvProblem problem = *Validate(desc);
  std::vector<uint32_t> formats;
  for (const Axis rows : {Axis::kTwo, Axis::kFour}) {
    for (const Axis columns : {Axis::kTwo, Axis::kFour}) {
      const PackLayout layout = LayOut(problem, {rows, columns}, jit::GetIsaInfo(Isa::kAvx2));
      formats.push_back(HeaderOf(layout, problem).format);
    }
  }
  EXPECT_EQ(formats, (std::vector<uint32_t>{16, 19, 18, 17}));
}

}  // namespace
}  // namespace rafter::winograd
