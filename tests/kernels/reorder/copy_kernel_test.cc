// The generated kernels of copies: every spec can be emitted for every instruction set (also for one that this machine
// cannot run), and rows with borders are what the header says.
#include "kernels/reorder/copy_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/reorder/blocks_kernel.h"
#include "kernels/reorder/transpose_kernel.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::reorder {
namespace {

TEST(CopyKernel, EverySpecCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (int run = 0; run <= kMaxBakedRun; ++run) {
      for (const Border border : {Border::kNone, Border::kFill, Border::kEdge, Border::kReflect}) {
        CopySpec spec{static_cast<int32_t>(isa), run, border, run % 7, run % 5, 0};
        const auto kernel = GetCopyKernel(spec);
        ASSERT_TRUE(kernel.ok()) << run << ": " << kernel.status().message();
        if (run % 16 != 0 || border != Border::kNone) continue;
        spec.non_temporal = 1;
        ASSERT_TRUE(GetCopyKernel(spec).ok());
      }
    }
    for (const int pixel : {2, 8, 16, 61, kMaxPixel}) {
      for (const Border border : {Border::kEdge, Border::kReflect}) {
        const int before = kMaxPixelBorder / pixel * pixel;
        ASSERT_TRUE(GetCopyKernel({static_cast<int32_t>(isa), 0, border, before, pixel, 0, pixel}).ok());
      }
    }
  }
}

TEST(TransposeKernel, EverySpecCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (int rows = 1; rows <= kTransposeRows; ++rows) {
      for (const int zeros : {0, (kTransposeRows - rows) / 2, kTransposeRows - rows}) {
        for (int few = 0; few < 4; ++few) {
          const auto kernel = GetTransposeKernel({static_cast<int32_t>(isa), rows, zeros, few, 0});
          ASSERT_TRUE(kernel.ok()) << rows << ": " << kernel.status().message();
        }
      }
    }
    for (const int rows : {8, 16}) {
      ASSERT_TRUE(GetTransposeKernel({static_cast<int32_t>(isa), rows, 0, 0, 1}).ok());
      ASSERT_TRUE(GetTransposeKernel({static_cast<int32_t>(isa), rows, 0, 0, 1, 0, 1}).ok());
    }
  }
}

TEST(BlocksKernel, EverySpecCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const int run : {8, 16}) {
      for (const int past_caches : {0, 1}) {
        for (int blocks = 1; blocks <= kMostBlocks; ++blocks) {
          for (const int pairs : {0, 1}) {
            if (pairs != 0 && run == 16) continue;
            ASSERT_TRUE(GetBlocksKernel({static_cast<int32_t>(isa), run, blocks, pairs, 0, past_caches}).ok());
          }
        }
        ASSERT_TRUE(GetBlocksKernel({static_cast<int32_t>(isa), run, 0, 0, 1, past_caches}).ok());
      }
    }
  }
}

TEST(CopyKernel, RowsWithBorders) {
  testing::ForEachIsa([](Isa isa) {
    for (const int run : {1, 2, 3, 7, 8, 9, 31, 64, 100, 128, 129, 200, 333}) {
      for (const Border border : {Border::kNone, Border::kFill, Border::kEdge, Border::kReflect}) {
        const int before = border == Border::kNone ? 0 : std::min(run - 1, 5);
        const int after = border == Border::kNone ? 0 : std::min(run - 1, 3);
        CopySpec spec = SpecOfRun(isa, run, false);
        spec.border = border, spec.before = before, spec.after = after;
        const auto kernel = GetCopyKernel(spec);
        ASSERT_TRUE(kernel.ok());
        constexpr int kRows = 3;
        const int row = before + run + after;
        testing::GuardedBuffer src(kRows * run), dst(kRows * row);
        for (int i = 0; i < kRows * run; ++i) src[i] = static_cast<float>(i + 1);
        const float fill = -5.0f;
        const CopyArgs args{src.data(), dst.data() + before, kRows, run * 4, row * 4, run * 4, &fill};
        (*kernel)->entry<CopyFunction>()(&args);
        for (int y = 0; y < kRows; ++y) {
          for (int x = -before; x < run + after; ++x) {
            int from = x;
            if (border == Border::kEdge) from = std::clamp(x, 0, run - 1);
            if (border == Border::kReflect) from = x < 0 ? -x : x >= run ? 2 * (run - 1) - x : x;
            const bool filled = border == Border::kFill && (x < 0 || x >= run);
            ASSERT_EQ(dst[y * row + before + x], filled ? fill : src[y * run + from]) << run << " at " << x;
          }
        }
        EXPECT_TRUE(dst.SlackIntact());
      }
    }
  });
}

}  // namespace
}  // namespace rafter::reorder
