// The choices of a plan: every channel, tiles that fit the registers, threads within the limit,
// counts of rolling tiles.
#include "kernels/conv/depthwise/blocking.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::depthwise {
namespace {

Geometry Layer(int64_t ic, int64_t multiplier, int64_t size, int64_t kernel, Layout layout) {
  ConvDesc desc;
  desc.groups = desc.ic = ic, desc.oc = ic * multiplier, desc.in = {size, size},
  desc.kernel = {kernel, kernel};
  const int64_t pad = kernel / 2;
  desc.pad = {pad, pad, pad, pad};
  desc.src.layout = desc.dst.layout = layout;
  return GeometryOf(*Validate(desc), false);
}

TEST(DepthwiseBlocking, EveryChannelIsInSomeVector) {
  const MachineModel machine;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw8c}) {
      for (int64_t ic = 1; ic <= 70; ++ic) {
        const Geometry g = Layer(ic, 1, 14, 3, layout);
        const Isa used = ChannelIsa(g, isa);
        const int lanes = jit::GetIsaInfo(used).vec_lanes();
        const ChannelBlocking b = ChooseChannelBlocking(g, used, machine, 2);
        std::vector<bool> covered(static_cast<size_t>(ic), false);
        for (const VectorRun& run : b.vectors) {
          for (int64_t lane = 0; lane < run.vecs * lanes; ++lane) {
            const int64_t channel = run.first_channel + lane;
            if (channel < ic) covered[static_cast<size_t>(channel)] = true;
          }
        }
        EXPECT_EQ(covered, std::vector<bool>(static_cast<size_t>(ic), true)) << ic;
        EXPECT_GE(b.strips * b.strip_vecs, b.vectors[0].vecs);
      }
    }
  }
}

TEST(DepthwiseBlocking, TilesFitTheRegisters) {
  const MachineModel machine;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (int64_t kernel : {1, 2, 3, 4, 5, 7, 13}) {
      for (int64_t multiplier : {1, 2}) {
        const ChannelBlocking b =
            ChooseChannelBlocking(Layer(4, multiplier, 30, kernel, Layout::kNhwc), isa, machine, 1);
        EXPECT_GE(b.columns[b.rows], 1);
        EXPECT_LE(b.rows * b.columns[b.rows] + 4, jit::GetIsaInfo(isa).num_vecs);
      }
    }
  }
}

TEST(DepthwiseBlocking, ThreadsWithinTheLimit) {
  const MachineModel machine;
  for (int threads : {1, 2, 3, 5, 16}) {
    const ChannelBlocking b =
        ChooseChannelBlocking(Layer(256, 1, 28, 3, Layout::kNhwc), Isa::kAvx2, machine, threads);
    EXPECT_LE(b.unit_threads * b.strip_threads, threads);
    EXPECT_GE(b.unit_threads * b.strip_threads, (threads + 1) / 2);
  }
  const ChannelBlocking b = ChooseChannelBlocking(Layer(16, 1, 14, 3, Layout::kNhwc), Isa::kAvx2, machine, 2);
  EXPECT_EQ(b.unit_threads * b.strip_threads, 1) << "too little work for a team";
}

TEST(DepthwiseBlocking, RollingCountsAddUp) {
  const Axis rows(14, 14, 3, 1, 1, 1);
  ASSERT_TRUE(CanRoll(rows, 14));
  const RollingCounts all = CountRolling(rows, rows.input(0, 0), 14);
  EXPECT_EQ(all.first_row, 1);
  EXPECT_EQ(all.starting_rows, 13);
  EXPECT_EQ(all.last_rows, 1);
  const RollingCounts middle = CountRolling(rows, rows.input(0, 4), 4);
  EXPECT_EQ(middle.first_row, 0);
  EXPECT_EQ(middle.starting_rows, 4);
  EXPECT_EQ(middle.last_rows, 2);
  EXPECT_FALSE(CanRoll(Axis(4, 14, 3, 1, 1, 6), 14)) << "outputs that reach no input";
}

TEST(DepthwiseBlocking, HeldRowsAddUp) {
  for (int64_t in = 1; in <= 9; ++in) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (int64_t pad = 0; pad <= kernel; ++pad) {
          if (in + 2 * pad < kernel) continue;
          const int64_t out = (in + 2 * pad - kernel) / stride + 1;
          const Axis rows(in, out, kernel, stride, 1, pad);
          for (const int tile_rows : {1, 2}) {
            const HeldRows held = CountHeld(rows, rows.input(0, 0), out, tile_rows);
            EXPECT_EQ(held.first_edges + held.full * tile_rows + held.last_edges, out);
            for (int64_t row = 0; row < out; ++row) {
              const TapRange inside = rows.Inside(rows.input(0, row), kernel);
              const int64_t last = held.first_edges + held.full * tile_rows;
              if (row >= held.first_edges && row < last) {
                EXPECT_EQ(inside.begin, 0);
                EXPECT_EQ(inside.end, kernel);
                continue;
              }
              const bool first = row < held.first_edges;
              const int64_t done = (first ? row : row - last) * stride;
              const int64_t before = (first ? held.first_before : held.last_before) - done;
              const int64_t behind = (first ? held.first_behind : held.last_behind) - done;
              for (int64_t tap = 0; tap < kernel; ++tap) {
                EXPECT_EQ(before <= tap && tap < behind, inside.begin <= tap && tap < inside.end);
              }
            }
          }
        }
      }
    }
  }
}

TEST(DepthwiseBlocking, LargeTensorsGoRowByRowPastTheCaches) {
  MachineModel machine;
  machine.l3_bytes = 1 << 20;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const ChannelBlocking b =
        ChooseChannelBlocking(Layer(32, 1, 56, 3, Layout::kNhwc), isa, machine, 1);
    EXPECT_TRUE(b.holds);
    EXPECT_TRUE(b.streams);
    EXPECT_EQ(b.tile_rows, 1);
    EXPECT_FALSE(
        ChooseChannelBlocking(Layer(36, 1, 56, 3, Layout::kNhwc), isa, machine, 1).streams)
        << "pixels are not aligned to vectors";
    EXPECT_FALSE(
        ChooseChannelBlocking(Layer(32, 1, 14, 3, Layout::kNhwc), isa, machine, 1).streams);
  }
}

TEST(DepthwiseBlocking, LargeTensorsRollThatDoNotGoPastTheCaches) {
  MachineModel machine;
  machine.l3_bytes = 1 << 20;
  const ChannelBlocking b = ChooseChannelBlocking(Layer(36, 1, 56, 3, Layout::kNhwc), Isa::kAvx2, machine, 1);
  EXPECT_TRUE(b.rolls);
  EXPECT_EQ(b.prefetch, 1);
  EXPECT_EQ(b.ahead, 0);
}

TEST(DepthwiseBlocking, PrefetchReachesFurtherWhereColumnsLieSideBySide) {
  MachineModel machine;
  machine.l3_bytes = 1 << 20;
  ConvDesc desc;
  desc.groups = desc.ic = desc.oc = 32, desc.in = {56, 56}, desc.kernel = {7, 1}, desc.pad = {3, 0, 3, 0};
  desc.src.layout = desc.dst.layout = Layout::kNhwc;
  const ChannelBlocking down = ChooseChannelBlocking(GeometryOf(*Validate(desc), true), Isa::kAvx2, machine, 1);
  EXPECT_TRUE(down.streams);
  EXPECT_EQ(down.ahead, 0);
  desc.kernel = {1, 7}, desc.pad = {0, 3, 0, 3};
  const ChannelBlocking along = ChooseChannelBlocking(GeometryOf(*Validate(desc), false), Isa::kAvx2, machine, 1);
  EXPECT_TRUE(along.streams);
  EXPECT_GT(along.ahead, 0);
}

TEST(DepthwiseBlocking, WholeLinesRollPastTheCaches) {
  MachineModel machine;
  machine.l3_bytes = 4 << 20;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const ChannelBlocking b = ChooseChannelBlocking(Layer(64, 1, 52, 3, Layout::kNhwc), isa, machine, 1);
    EXPECT_TRUE(b.rolls && b.streams);
    EXPECT_EQ(b.pairs, isa == Isa::kAvx2);
    EXPECT_FALSE(ChooseChannelBlocking(Layer(64, 1, 48, 3, Layout::kNhwc), isa, machine, 1).rolls)
        << "rows share their sets";
    EXPECT_TRUE(ChooseChannelBlocking(Layer(64, 1, 72, 3, Layout::kNhwc), isa, machine, 1).holds) << "too large";
    EXPECT_TRUE(ChooseChannelBlocking(Layer(64, 1, 52, 3, Layout::kNchw16c), isa, machine, 1).holds);
  }
}

TEST(DepthwiseBlocking, KernelsOfOneColumnGoAlongTheRow) {
  MachineModel machine;
  const auto blocking = [&](int64_t width, Layout layout, int threads) {
    ConvDesc desc;
    desc.groups = desc.ic = desc.oc = 32, desc.in = {100, width}, desc.kernel = {7, 1}, desc.pad = {3, 0, 3, 0};
    desc.src.layout = desc.dst.layout = layout;
    return ChooseChannelBlocking(GeometryOf(*Validate(desc), true), Isa::kAvx2, machine, threads);
  };
  const ChannelBlocking b = blocking(101, Layout::kNhwc, 1);
  EXPECT_TRUE(b.sideways);
  EXPECT_GT(b.tile_rows, 10);
  EXPECT_LE(blocking(101, Layout::kNhwc, 2).tile_rows, 51);
  EXPECT_TRUE(blocking(101, Layout::kNchw16c, 1).sideways);
  EXPECT_FALSE(blocking(101, Layout::kNchw8c, 1).sideways);
  EXPECT_FALSE(blocking(3, Layout::kNhwc, 1).sideways) << "a small image";
}

TEST(DepthwiseBlocking, BlocksOfRollingRows) {
  const MachineModel machine;
  const auto rows = [&](int64_t channels, int64_t size, int64_t kernel, int64_t stride) {
    ConvDesc desc;
    desc.groups = desc.ic = desc.oc = channels, desc.in = {size, size}, desc.kernel = {kernel, kernel};
    desc.stride = {stride, stride}, desc.pad = {1, 1, 1, 1};
    desc.src.layout = desc.dst.layout = Layout::kNhwc;
    const ChannelBlocking b = ChooseChannelBlocking(GeometryOf(*Validate(desc), false), Isa::kAvx2, machine, 1);
    return b.rolls ? b.tile_rows * b.depth() : 0;
  };
  EXPECT_EQ(rows(511, 10, 3, 1), 10) << "all rows of a small image";
  EXPECT_EQ(rows(144, 56, 3, 1), 10);
  EXPECT_EQ(rows(144, 56, 3, 2), 6);
  EXPECT_EQ(rows(128, 56, 3, 2), 2 * 2) << "rows share their sets: few of them, in pairs of vectors";
  EXPECT_EQ(rows(128, 56, 2, 1), 4 * 2);
  EXPECT_EQ(rows(512, 56, 3, 1), 4 * 2) << "a large image: not staged";
  EXPECT_EQ(rows(512, 56, 3, 2), 6 * 2);
  EXPECT_EQ(rows(128, 56, 3, 1), 0) << "… and too many rows in flight";
}

// As many as leave lines in L1 until their other half is used; windows that do not meet leave tiles no way to roll.
TEST(DepthwiseBlocking, RowsOfTilesThatHoldTheirWeights) {
  MachineModel machine;
  machine.l2_bytes = 512 << 10, machine.l3_bytes = 32 << 20;
  const auto rows = [&](int64_t channels, int64_t size, int64_t kernel, int64_t stride, Layout layout) {
    ConvDesc desc;
    desc.groups = desc.ic = desc.oc = channels, desc.in = {size, size}, desc.kernel = {kernel, kernel};
    desc.stride = {stride, stride}, desc.pad = {1, 1, 1, 1};
    desc.src.layout = desc.dst.layout = layout;
    const ChannelBlocking b = ChooseChannelBlocking(GeometryOf(*Validate(desc), false), Isa::kAvx2, machine, 1);
    return b.holds ? b.tile_rows : 0;
  };
  EXPECT_EQ(rows(32, 112, 3, 1, Layout::kNhwc), 4);
  EXPECT_EQ(rows(32, 128, 3, 1, Layout::kNhwc), 2) << "rows share their sets";
  EXPECT_EQ(rows(32, 128, 3, 1, Layout::kNchw16c), 2);
  EXPECT_EQ(rows(32, 128, 3, 1, Layout::kNchw8c), 8) << "… but vectors are whole blocks";
  EXPECT_EQ(rows(96, 60, 3, 4, Layout::kNhwc), 8) << "windows that do not meet";
  EXPECT_EQ(rows(16, 30, 2, 3, Layout::kNhwc), 11) << "all rows of a small image";
  EXPECT_EQ(rows(96, 60, 3, 3, Layout::kNhwc), 0);
}

}  // namespace
}  // namespace rafter::depthwise
