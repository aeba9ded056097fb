// Inputs of groups that are copied before they are used: when, how much at a time, and that nothing else changes.
#include "kernels/conv/tile/staging.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>

#include "kernels/conv/tile/blocking.h"
#include "runtime/machine_model.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/scoped_machine.h"

namespace rafter::tile {
namespace {

using testing::ConvTester;
using testing::ForEachIsa;
using testing::ScopedCaches;

Geometry FarLayer(int64_t groups, int64_t channels, int64_t size, Layout layout = Layout::kNhwc) {
  Geometry g;
  g.groups = groups, g.ic_g = g.oc_g = channels, g.in = {size, size}, g.out = {(size + 1) / 2, (size + 1) / 2};
  g.kernel = {3, 3}, g.stride = {2, 2}, g.dilation = {1, 1}, g.pad_top = g.pad_left = g.pad_right = 1;
  g.src_layout = g.dst_layout = layout;
  g.src = DenseStrides(layout, groups * channels, size, size);
  g.dst = DenseStrides(layout, groups * channels, g.out.h, g.out.w);
  return g;
}

TEST(Staging, OnlyForGroupsFarApart) {
  const MachineModel machine;
  EXPECT_TRUE(StagingFor(FarLayer(32, 32, 56), machine, 8).used());
  EXPECT_FALSE(StagingFor(FarLayer(1, 1024, 56), machine, 8).used()) << "all of a pixel is used";
  EXPECT_FALSE(StagingFor(FarLayer(2, 512, 56), machine, 8).used()) << "half of it";
  EXPECT_FALSE(StagingFor(FarLayer(32, 32, 56, Layout::kNchw16c), machine, 8).used()) << "pixels lie together";
  EXPECT_FALSE(StagingFor(FarLayer(32, 32, 7), machine, 8).used()) << "all of it stays in L2";
  Geometry pointwise = FarLayer(32, 32, 56);
  pointwise.kernel = {1, 1};
  EXPECT_FALSE(StagingFor(pointwise, machine, 8).used()) << "each input is read once";
}

TEST(Staging, FitsL2AndCoversEveryRow) {
  const MachineModel machine;
  for (const auto& [groups, channels] : {std::pair<int64_t, int64_t>{32, 16}, {32, 64}, {33, 20}, {7, 130}}) {
    const Geometry g = FarLayer(groups, channels, 56);
    const Staging s = StagingFor(g, machine, 8);
    ASSERT_TRUE(s.used());
    EXPECT_EQ(groups % s.groups, 0);
    EXPECT_GE(s.pixel, s.groups * channels);
    EXPECT_EQ(s.row, 56 * s.pixel);
    EXPECT_EQ(s.in_rows, std::min<int64_t>(56, 2 * (s.out_rows - 1) + 3));
    EXPECT_LE(s.in_rows * s.row * 4, machine.l2_bytes);
    EXPECT_GT(s.cycles, 0);
    EXPECT_EQ(StagedGeometry(g, s).src, (Strides{0, 1, s.row, s.pixel}));
  }
}

TEST(Staging, ChosenWhereTapsMissL2) {
  const MachineModel machine;
  const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
  EXPECT_TRUE(ChooseBlocking(FarLayer(32, 32, 56), isa, machine, 1).staging.used());
  EXPECT_TRUE(ChooseBlocking(FarLayer(32, 64, 28), isa, machine, 2).staging.used());
}

ConvDesc GroupedDesc(int64_t groups, int64_t ic_g, int64_t oc_g) {
  ConvDesc desc;
  desc.n = 2, desc.groups = groups, desc.ic = groups * ic_g, desc.oc = groups * oc_g;
  desc.in = {11, 13}, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
  return desc;
}

bool Stages(const ConvDesc& desc) {
  const Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "direct"});
  return conv.ok() && conv->Explain().find("inputs: copied first") != std::string::npos && conv->scratch_bytes() > 0;
}

// Strides, dilation, every kind of padding, tails of channels, slices, images, threads; the same bits as in place.
TEST(StagedInputs, SameBitsAsInPlace) {
  ForEachIsa([](Isa) {
    int64_t i = 0;
    for (const auto& [groups, ic_g, oc_g] : {std::array<int64_t, 3>{8, 16, 16}, {6, 20, 24}, {16, 5, 9}, {4, 68, 40}}) {
      for (const int64_t step : {1, 2, 3}) {
        ConvDesc desc = GroupedDesc(groups, ic_g, oc_g);
        desc.stride = {step, 1 + i % 2}, desc.dilation = {1 + i % 3, 1 + step % 2};
        desc.pad = {i % 4, 2, 3 - i % 4, 1};
        desc.src.strides = Strides{11 * 13 * 512 + 5, 1, 13 * 512, 512};  // a slice
        desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        ConvTester in_place(desc);
        ASSERT_TRUE(in_place.Algorithm("direct").Data(testing::DataKind::kReal).Run());
        const ScopedCaches small({.l2 = 64 << 10});
        if (step == 1) {
          EXPECT_TRUE(Stages(desc)) << groups << " x " << ic_g;
        }
        for (const int threads : {1, 2, 3}) {
          ConvTester staged(desc);
          ASSERT_TRUE(staged.Algorithm("direct").Data(testing::DataKind::kReal).Threads(threads).Run());
          EXPECT_TRUE(testing::SameBits(in_place.output(), staged.output())) << groups << " x " << ic_g;
        }
        ++i;
      }
    }
  });
}

// Rows of several stretches, NaN and infinity, and outputs far apart that are prefetched.
TEST(StagedInputs, LongRowsAndSpecials) {
  const ScopedCaches small({.l2 = 512 << 10});
  ForEachIsa([](Isa) {
    ConvDesc desc = GroupedDesc(16, 16, 16);
    desc.in = {9, 200};
    EXPECT_TRUE(Stages(desc));
    for (const testing::DataKind data : {testing::DataKind::kInteger, testing::DataKind::kSpecials}) {
      ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Data(data).Threads(2).Run());
    }
    desc.in = {1, 300}, desc.kernel = {1, 3}, desc.pad = {0, 1, 0, 1};
    ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Threads(2).Run());
  });
}

TEST(Staging, GathersBlocksOfPointwiseLayers) {
  const MachineModel machine;
  Geometry g = FarLayer(1, 1024, 14, Layout::kNchw8c);
  g.kernel = {1, 1}, g.pad_top = g.pad_left = g.pad_right = 0;
  const Staging s = StagingFor(g, machine, 8);
  EXPECT_TRUE(s.gathers());
  EXPECT_EQ(s.block, 8);
  EXPECT_GE(s.pixel, 1024);
  EXPECT_NE(s.pixel % 64, 0) << "pixels would share few sets of L1";
  const Geometry staged = StagedGeometry(g, s);
  EXPECT_EQ(staged.src_layout, Layout::kNhwc);
  EXPECT_EQ(staged.in, (Size2{7, 7}));
  EXPECT_EQ(staged.stride, (Size2{1, 1}));
  g.pad_left = 1;
  EXPECT_FALSE(StagingFor(g, machine, 8).used()) << "padding has no pixels";
  g.pad_left = 0, g.kernel = {3, 3};
  EXPECT_FALSE(StagingFor(g, machine, 8).used()) << "taps share lines";
}

// Blocks on more pages than the first level of TLB holds: tails, strides, slices, images, threads.
TEST(GatheredPixels, EveryTailStrideAndSlice) {
  ForEachIsa([](Isa) {
    for (const Layout layout : {Layout::kNchw8c, Layout::kNchw16c}) {
      const int64_t block = ChannelBlock(layout);
      int64_t i = 0, gathered = 0;  // others are copied whole, by the layer around the tiles
      for (const int64_t blocks : {65, 66, 70}) {
        for (const Size2 stride : {Size2{1, 1}, {2, 3}, {3, 1}}) {
          ConvDesc desc;
          desc.n = 2, desc.ic = blocks * block - i % block, desc.oc = 67 + i, desc.in = {7, 20}, desc.stride = stride;
          desc.src.layout = desc.dst.layout = layout;
          desc.src.strides = DenseStrides(layout, desc.ic + 2 * block, 9, 23);
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          const Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "pointwise"});
          ASSERT_TRUE(conv.ok());
          gathered += conv->Explain().find("inputs: copied first, all channels") != std::string::npos;
          for (const testing::DataKind data : {testing::DataKind::kInteger, testing::DataKind::kSpecials}) {
            ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise").Data(data).Threads(1 + i % 3).Run())
                << LayoutName(layout) << " " << desc.ic << " stride " << stride.h << "x" << stride.w;
          }
          ++i;
        }
      }
      EXPECT_GE(gathered, 3) << LayoutName(layout);
    }
  });
}

TEST(GatheredPixels, LongRowsInChunks) {
  const ScopedCaches small({.l2 = 64 << 10});
  ForEachIsa([](Isa) {
    ConvDesc desc;
    desc.ic = 70 * 16, desc.oc = 72, desc.in = {3, 400}, desc.src.layout = desc.dst.layout = Layout::kNchw16c;
    ConvTester one(desc);
    ASSERT_TRUE(one.Algorithm("pointwise").Data(testing::DataKind::kReal).Run());
    for (const int threads : {2, 5}) {
      ConvTester several(desc);
      ASSERT_TRUE(several.Algorithm("pointwise").Data(testing::DataKind::kReal).Threads(threads).Run());
      EXPECT_TRUE(testing::SameBits(one.output(), several.output())) << threads;
    }
  });
}

}  // namespace
}  // namespace rafter::tile
