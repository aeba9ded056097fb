// Tiles cover the pixels of an image; passes, segments and blocks keep their bounds.
#include "kernels/conv/gemm/blocking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "kernels/conv/gemm/spec.h"
#include "kernels/sizes.h"
#include "tests/support/for_each_isa.h"

namespace rafter::gemm {
namespace {

TEST(CutPixels, CoversAllWithoutASingleVector) {
  for (const int lanes : {8, 16}) {
    for (int64_t pixels = 1; pixels <= 500; ++pixels) {
      const std::vector<int32_t> tiles = CutPixels(pixels, lanes);
      const int64_t width = std::accumulate(tiles.begin(), tiles.end(), int64_t{0});
      EXPECT_GE(width, pixels);
      EXPECT_LT(width, pixels + lanes) << "no vector without a pixel";
      for (const int32_t tile : tiles) {
        EXPECT_LE(tile, kMaxVecs * lanes);
        EXPECT_TRUE(tile > lanes || tiles.size() == 1) << pixels;
      }
    }
  }
}

ConvProblem Problem(int64_t ic, int64_t oc, Size2 in, Size2 kernel) {
  ConvDesc desc;
  desc.ic = ic, desc.oc = oc, desc.in = in, desc.kernel = kernel;
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  Result<ConvProblem> problem = Validate(desc);
  EXPECT_TRUE(problem.ok());
  return *problem;
}

TEST(Blocking, SegmentsAndPassesCoverTheProblem) {
  const MachineModel machine;
  testing::ForEachIsa([&](Isa isa_row) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(isa_row);
    for (const int threads : {1, 2, 7}) {
      for (const int64_t ic : {1, 64, 1000, 5000}) {
        for (const int64_t size : {1, 7, 14, 56, 200}) {
          const ConvProblem problem = Problem(ic, 100, {size, size}, {1, 1});
          const Blocking b = ChooseBlocking(problem, isa, machine, threads);
          const int64_t pixels = size * size, tile = kMaxVecs * isa.vec_lanes();
          EXPECT_GE(b.segments * b.segment_pixels, pixels);
          EXPECT_LT((b.segments - 1) * b.segment_pixels, pixels) << "no empty segment";
          EXPECT_EQ(b.segment_pixels % (b.staged ? kLineFloats : tile), 0);
          EXPECT_GE(b.pass, 1);
          EXPECT_LE(b.pass * tile * 4, machine.l2_bytes / 2) << "a panel fits L2";
          EXPECT_EQ(b.block_channels % ChannelUnit(isa), 0);
          EXPECT_GE(b.channel_parts, 1);
          EXPECT_GT(b.predicted_us, 0);
        }
      }
    }
  });
}

TEST(Blocking, StagesFitTheirShareOfL2) {
  MachineModel machine;
  machine.l3_bytes = 8 << 20;
  testing::ForEachIsa([&](Isa isa_row) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(isa_row);
    for (const int64_t ic : {3, 16, 64, 128, 1000}) {
      for (const int64_t oc : {1, 40, 128, 1000}) {
        const ConvProblem problem = Problem(ic, oc, {256, 250}, {1, 1});
        const Blocking b = ChooseBlocking(problem, isa, machine, 2);
        EXPECT_EQ(b.staged, std::max(ic, oc) >= 16 && std::max(ic, oc) <= 128) << ic << " to " << oc;
        if (!b.staged) continue;
        EXPECT_LT((2 * ic + oc) * b.segment_pixels * 4, machine.l2_bytes);
        EXPECT_GE(b.segment_pixels, 96);
        EXPECT_GE(b.segments * b.segment_pixels, 256 * 250);
        EXPECT_EQ(b.pass, ic);
        EXPECT_GE(b.block_channels, oc);
      }
    }
    EXPECT_FALSE(ChooseBlocking(Problem(16, 16, {100, 100}, {1, 1}), isa, machine, 1).staged) << "1.3 MB";
    EXPECT_FALSE(ChooseBlocking(Problem(16, 16, {256, 250}, {3, 3}), isa, machine, 1).staged) << "no 1x1 kernel";
  });
}

}  // namespace
}  // namespace rafter::gemm
