// Gathered columns against their definition, pixel by pixel.
#include "kernels/conv/gemm/columns.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "kernels/conv/gemm/blocking.h"
#include "tests/support/random_desc.h"

namespace rafter::gemm {
namespace {

TEST(TapOrder, BlocksThenKernelThenChannels) {
  constexpr int64_t kIc = 200, kKh = 2, kKw = 3, kStep = SumBlock(kIc);
  TapOrder walk(kIc, kKh, kKw, 0);
  int64_t k = 0;
  for (int64_t block = 0; block < kIc; block += kStep) {
    for (int64_t kh = 0; kh < kKh; ++kh) {
      for (int64_t kw = 0; kw < kKw; ++kw) {
        for (int64_t ic = block; ic < std::min(kIc, block + kStep); ++ic, ++k, walk.Next()) {
          const TapOrder at(kIc, kKh, kKw, k);
          for (const TapOrder& tap : {walk, at}) {
            ASSERT_EQ(tap.ic(), ic) << k;
            ASSERT_EQ(tap.kh(), kh) << k;
            ASSERT_EQ(tap.kw(), kw) << k;
          }
        }
      }
    }
  }
}

// One problem: all panels of a pass over a segment.
void Check(const ConvProblem& p, Range ks, Range pixels) {
  const ConvDesc& d = p.desc;
  const std::vector<int32_t> tiles = CutPixels(pixels.end - pixels.begin, 8);
  int64_t width = 0;
  for (const int32_t tile : tiles) width += tile;
  std::vector<float> image(static_cast<size_t>(p.ic_g * p.src.c + d.in.h * p.src.h + d.in.w));
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i + 1);
  const int64_t count = ks.end - ks.begin;
  std::vector<float> line(static_cast<size_t>(width)), panels(static_cast<size_t>(width * count), 7.0F),
      masks(panels.size(), 7.0F);
  const Columns columns(p);
  columns.Fill(image.data(), ks, pixels, tiles, line.data(), panels.data());
  columns.FillMasks(ks, pixels, tiles, line.data(), masks.data());
  bool padded = false;
  int64_t first = 0;
  for (const int32_t tile : tiles) {
    for (int64_t k = ks.begin; k < ks.end; ++k) {
      const TapOrder tap(p.ic_g, d.kernel.h, d.kernel.w, k);
      for (int64_t i = 0; i < tile; ++i) {
        const int64_t pixel = pixels.begin + first + i;
        const int64_t y = pixel / p.ow * d.stride.h - d.pad.top + tap.kh() * d.dilation.h;
        const int64_t x = pixel % p.ow * d.stride.w - d.pad.left + tap.kw() * d.dilation.w;
        const bool inside = y >= 0 && y < d.in.h && x >= 0 && x < d.in.w, used = pixel < pixels.end;
        padded = padded || (used && !inside);
        const auto at = static_cast<size_t>(first * count + (k - ks.begin) * tile + i);
        const float expected =
            used && inside ? image[static_cast<size_t>(tap.ic() * p.src.c + y * p.src.h + x)] : 0.0F;
        ASSERT_EQ(panels[at], expected) << "k " << k << " pixel " << pixel;
        ASSERT_EQ(std::bit_cast<int32_t>(masks[at]), used && inside ? -1 : 0) << "k " << k << " pixel " << pixel;
      }
    }
    first += tile;
  }
  EXPECT_TRUE(columns.is_padded() || !padded);
}

TEST(Columns, HoldWhatTheTapsSee) {
  testing::Random random(3);
  testing::RandomDescLimits limits;
  limits.layouts = {Layout::kNchw};
  limits.max_image = 20, limits.max_kernel = 5, limits.max_channels_g = 6, limits.max_stride = 3;
  for (int i = 0; i < 300; ++i) {
    const ConvDesc desc = testing::RandomDesc(random, limits);
    const Result<ConvProblem> problem = Validate(desc);
    if (!problem.ok()) continue;
    const ConvProblem& p = *problem;
    const int64_t length = p.ic_g * desc.kernel.h * desc.kernel.w, pixels = p.oh * p.ow;
    ASSERT_NO_FATAL_FAILURE(Check(p, {0, length}, {0, pixels})) << "case " << i;
    ASSERT_NO_FATAL_FAILURE(Check(p, {length / 3, length}, {pixels / 2, pixels})) << "case " << i;
  }
}

TEST(Columns, OfDensePlanesAreReadAsTheyLie) {
  ConvDesc desc;
  desc.ic = 3, desc.oc = 4, desc.in = {5, 7}, desc.src.layout = desc.dst.layout = Layout::kNchw;
  EXPECT_TRUE(Columns(*Validate(desc)).is_plain());
  Check(*Validate(desc), {0, 3}, {0, 35});
  Check(*Validate(desc), {1, 3}, {24, 35});
  desc.stride = {2, 2};
  EXPECT_FALSE(Columns(*Validate(desc)).is_plain());
  EXPECT_FALSE(Columns(*Validate(desc)).is_padded());
}

}  // namespace
}  // namespace rafter::gemm
