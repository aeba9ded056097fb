// Blocks of tiles: every tile once, intermediates in L2, threads, and when the algorithm is worth it.
#include "kernels/conv/winograd/blocking.h"

#include <gtest/gtest.h>

#include "kernels/conv/winograd/tuning.h"
#include "kernels/conv/winograd/work.h"

namespace rafter::winograd {
namespace {

struct Planned {
  ConvProblem problem;
  Geometry geometry;
  PackLayout layout;
  Blocking blocking;
};

Planned Plan(int64_t channels, int64_t size, int threads, Layout layout = Layout::kNhwc, int64_t n = 1,
             const MachineModel& machine = {}) {
  ConvDesc desc;
  desc.n = n, desc.ic = desc.oc = channels, desc.in = {size, size}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
  desc.src.layout = desc.dst.layout = layout;
  Planned p{*Validate(desc), {}, {}, {}};
  const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
  const TileShape shape{Axis::kFour, Axis::kFour};
  const PlanContext context{.isa = Isa::kAvx2, .threads = threads, .machine = &machine};
  p.geometry = Geometry::Of(p.problem, shape);
  p.layout = LayOut(p.problem, shape, isa);
  p.blocking = ChooseBlocking(p.problem, p.geometry, p.layout, isa, context);
  return p;
}

TEST(Blocking, CoversEveryTileOnce) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
    for (const int threads : {1, 2, 7}) {
      for (int64_t size = 1; size <= 60; size += 3) {
        const Planned p = Plan(64, size, threads, layout, 2);
        int64_t next = 0;
        for (int64_t block = 0; block < p.blocking.blocks; ++block) {
          const Range tiles = p.blocking.Tiles(block);
          EXPECT_EQ(tiles.begin, next);
          EXPECT_GT(tiles.end, tiles.begin);
          EXPECT_LE(tiles.end - tiles.begin, p.blocking.max_tiles);
          next = tiles.end;
        }
        EXPECT_EQ(next, p.geometry.tiles) << size;
      }
    }
  }
}

TEST(Blocking, RowsOfNchwStayWhole) {
  const Planned p = Plan(64, 56, 1, Layout::kNchw);
  EXPECT_EQ(p.blocking.grain, 14);
}

TEST(Blocking, SmallGroupsSideBySide) {
  const auto groups_of = [](int64_t groups, int64_t channels, int threads, Layout layout = Layout::kNhwc) {
    ConvDesc desc;
    desc.groups = groups, desc.ic = desc.oc = groups * channels, desc.in = {28, 28}, desc.kernel = {3, 3};
    desc.src.layout = desc.dst.layout = layout;
    const ConvProblem problem = *Validate(desc);
    const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
    const TileShape shape{Axis::kFour, Axis::kFour};
    const MachineModel machine;
    const PlanContext context{.isa = Isa::kAvx2, .threads = threads, .machine = &machine};
    return ChooseBlocking(problem, Geometry::Of(problem, shape), LayOut(problem, shape, isa), isa, context).groups;
  };
  EXPECT_EQ(groups_of(32, 16, 1), 8) << "runs of 512 bytes";
  EXPECT_EQ(groups_of(32, 32, 1), 4);
  EXPECT_EQ(groups_of(32, 128, 1), 1) << "long enough alone";
  EXPECT_EQ(groups_of(32, 16, 2), 4) << "8 bundles for 2 threads";
  EXPECT_EQ(groups_of(32, 20, 1), 1) << "a group ends within a vector";
  EXPECT_EQ(groups_of(32, 16, 1, Layout::kNchw), 1) << "channels lie apart";
  EXPECT_EQ(groups_of(7, 16, 1), 7);
}

TEST(Blocking, FewTilesAreSharedManyAreNot) {
  EXPECT_EQ(Plan(256, 14, 4).blocking.split, Split::kStages) << "V of 590 KB";
  EXPECT_EQ(Plan(128, 14, 2).blocking.split, Split::kChannels) << "V of 295 KB";
  EXPECT_EQ(Plan(128, 14, 2 * kMostRepeats).blocking.split, Split::kStages);
  EXPECT_EQ(Plan(64, 112, 4).blocking.split, Split::kBlocks);
  EXPECT_EQ(Plan(16, 4, 4).blocking.threads, 1) << "too little to wake anybody";
  EXPECT_EQ(Plan(16, 16, 4).blocking.threads, 1) << "one block of few channels";
}

TEST(Blocking, FewTilesOfFewOutputChannelsAreSharedStageByStage) {
  const auto split = [](Layout layout, int64_t size) {
    ConvDesc desc;
    desc.ic = 512, desc.oc = 16, desc.in = {size, size}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
    desc.src.layout = desc.dst.layout = layout;
    const ConvProblem problem = *Validate(desc);
    const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
    const TileShape shape{Axis::kFour, Axis::kFour};
    const MachineModel machine;
    const PlanContext context{.isa = Isa::kAvx2, .threads = 2, .machine = &machine};
    return ChooseBlocking(problem, Geometry::Of(problem, shape), LayOut(problem, shape, isa), isa, context).split;
  };
  EXPECT_EQ(split(Layout::kNchw, 10), Split::kPositions) << "9 tiles, 2 vectors of output channels";
  EXPECT_EQ(split(Layout::kNhwc, 10), Split::kBlocks) << "tiles would be shared";
  EXPECT_EQ(split(Layout::kNchw, 56), Split::kBlocks) << "196 tiles";
}

TEST(Blocking, StreamedWeightsArePrefetched) {
  EXPECT_FALSE(Plan(16, 56, 1).blocking.prefetches_weights);
  EXPECT_TRUE(Plan(256, 14, 1).blocking.prefetches_weights);
}

// 256 channels: 9.4 MB of weights.
TEST(Blocking, WeightsThatOtherGuestsMayEvictAreReadRarely) {
  MachineModel machine;
  machine.l3_bytes = 32 << 20;
  const Planned own = Plan(256, 28, 1, Layout::kNhwc, 1, machine);
  machine.l3_shared = true;
  const Planned shared = Plan(256, 28, 1, Layout::kNhwc, 1, machine);
  EXPECT_GT(own.blocking.blocks, 1);
  EXPECT_EQ(shared.blocking.blocks, 1);
  const double small = Plan(256, 7, 1, Layout::kNhwc, 1, machine).blocking.predicted_us;
  machine.l3_shared = false;
  EXPECT_GT(small, 2 * Plan(256, 7, 1, Layout::kNhwc, 1, machine).blocking.predicted_us);
}

TEST(LayOutRows, AvoidsPowersOfTwo) {
  for (const int64_t channels : {16, 20, 64, 100, 512}) {
    const Rows rows = LayOutRows(24, channels, 8);
    EXPECT_GE(rows.tile, channels);
    EXPECT_NE(rows.tile % 64, 0);
    EXPECT_GE(rows.position, 24 * rows.tile);
    EXPECT_EQ(rows.position / 16 % 2, 1) << "an odd number of lines";
  }
}

TEST(Work, CountsProductsTransformsAndIntermediates) {
  const Planned p = Plan(64, 56, 1);
  const AlgorithmWork work = WorkOf(p.problem, p.geometry, p.layout, p.blocking);
  const double products = 2.0 * 36 * 196 * 64 * 64;
  EXPECT_TRUE(work.transforms);
  EXPECT_GT(work.flops, products);
  EXPECT_LT(work.flops, 1.15 * products);
  EXPECT_EQ(work.intermediate_bytes, 2.0 * 196 * 36 * 128 * 4);
  EXPECT_EQ(work.load_bytes, 4.0 * (56 * 56 * 64 + 36 * 64 * 64));
  EXPECT_EQ(work.store_bytes, 4.0 * 56 * 56 * 64);
}

}  // namespace
}  // namespace rafter::winograd
