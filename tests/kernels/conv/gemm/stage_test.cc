// Blocks of pixels are copied once, in any portions, and nothing else of the stage is written.
#include "kernels/conv/gemm/stage.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace rafter::gemm {
namespace {

TEST(StageRow, IsAnOddNumberOfLines) {
  for (int64_t pixels = 1; pixels < 600; ++pixels) {
    EXPECT_GE(StageRow(pixels), pixels);
    EXPECT_LE(StageRow(pixels), pixels + 2 * kLineFloats);
    EXPECT_EQ(StageRow(pixels) / kLineFloats % 2, 1);
    EXPECT_EQ(StageRow(pixels) % kLineFloats, 0);
  }
}

TEST(StageCopy, CopiesEachPixelInPortions) {
  constexpr int64_t kPlane = 211, kPlanes = 5;
  std::vector<float> planes(kPlane * kPlanes);
  std::iota(planes.begin(), planes.end(), 1.0F);
  for (const int64_t pixels : {1, 15, 16, 17, 100, 200}) {
    for (const int64_t portion : {1, 3, 7, 100}) {
      const int64_t row = StageRow(pixels);
      std::vector<float> stage(static_cast<size_t>(row * kPlanes), -1);
      const PlaneBlock block{planes.data() + 9, kPlane, kPlanes, pixels};
      StageCopy copy(block, row, stage.data());
      for (int64_t done = 0; done < block.lines(); done += portion) copy.Copy(portion);
      for (int64_t plane = 0; plane < kPlanes; ++plane) {
        for (int64_t x = 0; x < row; ++x) {
          const float expected = x < pixels ? static_cast<float>(plane * kPlane + 9 + x + 1) : -1;
          ASSERT_EQ(stage[static_cast<size_t>(plane * row + x)], expected) << pixels << " pixels, column " << x;
        }
      }
    }
  }
}

TEST(StageCopy, OfNothing) { StageCopy(PlaneBlock(), StageRow(10), nullptr).CopyRest(); }

}  // namespace
}  // namespace rafter::gemm
