// Winograd: every partial tile, all tails of channels, layouts, tiles, post-ops, slices, against the reference; how far
// NaN, infinity and huge values spread.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/inline_threads.h"
#include "tests/support/scoped_machine.h"

namespace rafter::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};
constexpr const char* kTiles[] = {"winograd_f4", "winograd_f2", "winograd_f4x2", "winograd_f2x4"};

// A part of the cases where tests must be quick.
int64_t Step(int64_t reduced) { return std::getenv("RAFTER_TEST_REDUCED") != nullptr ? reduced : 1; }

ConvDesc Desc(int64_t ic, int64_t oc, Size2 in, Layout src, Layout dst) {
  ConvDesc desc;
  desc.ic = ic, desc.oc = oc, desc.in = in, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
  desc.src.layout = src, desc.dst.layout = dst;
  return desc;
}

TEST(Winograd, EveryPartialTile) {
  ForEachIsa([](Isa) {
    int64_t i = 0;
    for (int64_t h = 1; h <= 20; h += Step(3)) {
      for (int64_t w = 1; w <= 20; ++w, ++i) {
        const Layout layout = kLayouts[i / 4 % 4];
        const ConvDesc desc = Desc(16, 16, {h, w}, layout, layout);
        ASSERT_TRUE(ConvTester(desc).Algorithm(kTiles[i % 4]).Data(DataKind::kReal).Threads(1 + i % 3).Run())
            << kTiles[i % 4] << " " << LayoutName(layout) << " " << h << "x" << w;
      }
    }
  });
}

TEST(Winograd, EveryPadding) {
  ForEachIsa([](Isa) {
    for (int64_t i = 0; i < 81; i += Step(4)) {
      ConvDesc desc = Desc(16, 24, {4 + i % 5, 9}, kLayouts[i % 4], kLayouts[i / 4 % 4]);
      desc.pad = {i % 3, i / 3 % 3, i / 9 % 3, i / 27 % 3};
      ASSERT_TRUE(ConvTester(desc).Algorithm(kTiles[i % 4]).Data(DataKind::kReal).Run()) << "padding " << i;
    }
  });
}

TEST(Winograd, EveryTailOfChannels) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      for (int64_t c = 1; c <= 40; c += Step(2)) {
        ConvDesc outputs = Desc(16, c, {5, 7}, layout, layout);
        ConvDesc inputs = Desc(c, 16, {7, 5}, layout, layout);
        if (c % 2 == 0) {
          outputs.post_ops = {PostOp::ResidualAdd(), PostOp::Sigmoid(),
                              PostOp::ChannelScale(std::vector<float>(static_cast<size_t>(c), 2.0f))};
        }
        const char* tile = kTiles[c % 2];
        ASSERT_TRUE(ConvTester(outputs).Algorithm(tile).Data(DataKind::kReal).Threads(1 + c % 3).Run()) << c;
        if (c >= 16) ASSERT_TRUE(ConvTester(inputs).Algorithm(tile).Run()) << c;
      }
    }
  });
}

// Integers, large and tiny values; many channels: several register tiles, prefetched panels, shared blocks.
TEST(Winograd, ScalesThreadsAndPanels) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      for (int threads = 1; threads <= 4; ++threads) {
        ConvDesc desc = Desc(68 + threads, 136, {6, 10}, layout, layout);
        desc.n = 2;
        const DataKind data = threads == 2 ? DataKind::kInteger : DataKind::kReal;
        ASSERT_TRUE(ConvTester(desc).Algorithm(kTiles[threads - 1]).Threads(threads).Data(data).Run())
            << LayoutName(layout) << " " << threads;
      }
    }
  });
}

// Few output channels of planes: threads share the inputs, the products and the outputs of a block, which may have
// fewer rows of tiles than there are threads.
TEST(Winograd, SharedStages) {
  ForEachIsa([](Isa) {
    for (int threads = 2; threads <= 4; ++threads) {
      for (const Size2 in : {Size2{8, 8}, Size2{3, 13}, Size2{11, 9}, Size2{17, 4}}) {
        ConvDesc desc = Desc(420 + threads, 9 + threads, in, Layout::kNchw, Layout::kNchw);
        desc.n = threads == 3 ? 2 : 1;
        if (threads == 2) desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        for (const char* tile : kTiles) {
          ASSERT_TRUE(ConvTester(desc).Algorithm(tile).Threads(threads).Data(DataKind::kReal).Run())
              << tile << " " << in.h << "x" << in.w << " " << threads;
        }
      }
    }
  });
}

TEST(Winograd, OneDimensionAndGroups) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      for (const Size2 kernel : {Size2{1, 3}, Size2{3, 1}, Size2{3, 3}}) {
        for (const int64_t groups : {1, 2, 3}) {
          const bool by_groups = groups > 1 && layout == Layout::kNhwc;  // of any number of outputs there
          ConvDesc desc = Desc(32 * groups, (by_groups ? 13 : 16) * groups, {6, 11}, layout, layout);
          desc.kernel = kernel, desc.groups = groups, desc.n = 2;
          desc.pad = {kernel.h / 2, kernel.w / 2, kernel.h / 2, kernel.w / 2};
          for (const char* tile : {"winograd_f4", "winograd_f2"}) {
            ASSERT_TRUE(ConvTester(desc).Algorithm(tile).Data(DataKind::kReal).Threads(2).Run())
                << tile << " " << LayoutName(layout) << " groups " << groups;
          }
        }
      }
    }
  });
}

TEST(Winograd, PrefetchesWithinTheTensorsAndChangesNothing) {
  ForEachIsa([](Isa) {
    for (const auto& [groups, ic_g, oc_g] : {std::array<int64_t, 3>{1, 16, 40}, {1, 20, 17}, {6, 16, 16}}) {
      for (const Size2 kernel : {Size2{1, 3}, Size2{3, 1}, Size2{3, 3}}) {
        ConvDesc desc = Desc(groups * ic_g, groups * oc_g, {13, 22}, Layout::kNhwc, Layout::kNhwc);
        desc.groups = groups, desc.n = 2, desc.kernel = kernel;
        for (const char* tile : {"winograd_f4", "winograd_f2"}) {
          ConvTester usual(desc);
          ASSERT_TRUE(usual.Algorithm(tile).Data(DataKind::kReal).Run()) << tile << " groups " << groups;
          const ScopedCaches small({.l2 = 4 << 10});  // so that inputs and outputs are prefetched
          for (const int threads : {1, 3}) {
            ConvTester ahead(desc);
            ASSERT_TRUE(ahead.Algorithm(tile).Data(DataKind::kReal).Threads(threads).Run()) << tile << " " << groups;
            EXPECT_TRUE(SameBits(usual.output(), ahead.output())) << tile << " groups " << groups;
          }
        }
      }
    }
  });
}

// Outputs through the stage, with lines that neighbouring pieces and rows share, and in place: the same bits.
TEST(Winograd, OutputsPastTheCaches) {
  ForEachIsa([](Isa) {
    for (const auto& [groups, ic_g, oc_g] : {std::array<int64_t, 3>{1, 16, 1}, {1, 20, 17}, {1, 16, 40}, {3, 16, 16}}) {
      for (const Size2 kernel : {Size2{1, 3}, Size2{3, 1}, Size2{3, 3}}) {
        ConvDesc desc = Desc(groups * ic_g, groups * oc_g, {13, 51}, Layout::kNhwc, Layout::kNhwc);
        desc.groups = groups, desc.n = 2, desc.kernel = kernel;
        desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        for (const char* tile : kTiles) {
          if (kernel != Size2{3, 3} && tile != kTiles[0]) continue;
          ConvTester usual(desc);
          ASSERT_TRUE(usual.Algorithm(tile).Data(DataKind::kReal).Run()) << tile << " groups " << groups;
          const ScopedCaches small({.l3 = 64});
          for (const int threads : {1, 3}) {
            ConvTester past(desc);
            past.Algorithm(tile).Data(DataKind::kReal).Threads(threads);
            ASSERT_TRUE(past.Run()) << tile << " groups " << groups;
            EXPECT_TRUE(SameBits(usual.output(), past.output())) << tile << " groups " << groups;
            ASSERT_TRUE(past.ResidualInPlace().Run()) << tile << " groups " << groups;
          }
        }
      }
    }
  });
}

// Groups of few channels whose transforms take several at a time, as long as there are enough for the threads: the same
// bits for any number of them, in slices, with post-ops.
TEST(Winograd, GroupsSideBySide) {
  ForEachIsa([](Isa) {
    for (const auto& [groups, ic_g, oc_g] :
         {std::array<int64_t, 3>{4, 16, 32}, {12, 16, 16}, {5, 48, 16}, {32, 16, 24}}) {
      ConvDesc desc = Desc(groups * ic_g, groups * oc_g, {9, 14}, Layout::kNhwc, Layout::kNhwc);
      desc.groups = groups, desc.n = 2;
      desc.src.strides = Strides{9 * 14 * (desc.ic + 16), 1, 14 * (desc.ic + 16), desc.ic + 16};
      desc.post_ops = {PostOp::ChannelScale(std::vector<float>(static_cast<size_t>(desc.oc), 0.5f)),
                       PostOp::ResidualAdd(), PostOp::Relu()};
      for (const char* tile : kTiles) {
        ConvTester one(desc);
        ASSERT_TRUE(one.Algorithm(tile).Data(DataKind::kReal).Run()) << tile << " groups " << groups;
        for (const int threads : {2, 3}) {
          ConvTester several(desc);
          ASSERT_TRUE(several.Algorithm(tile).Data(DataKind::kReal).Threads(threads).Run()) << tile << " " << groups;
          EXPECT_TRUE(SameBits(one.output(), several.output())) << tile << " groups " << groups;
        }
      }
    }
  });
}

TEST(Winograd, SlicesAndChainsOfPostOps) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      const int64_t block = std::max<int64_t>(ChannelBlock(layout), 1);
      ConvDesc desc = Desc(24, 21, {9, 10}, layout, layout);
      desc.n = 2;
      const auto slice = [&](int64_t c) {
        Strides s = DenseStrides(layout, c + 2 * block, 11, 12);
        s.n += 64;
        return s;
      };
      desc.src.strides = slice(24), desc.dst.strides = slice(21);
      desc.post_ops = {PostOp::ChannelScale(std::vector<float>(21, 0.5f)), PostOp::ResidualAdd(slice(21)),
                       PostOp::Clip(-4, 4), PostOp::ResidualAdd(), PostOp::HardSwish(), PostOp::LeakyRelu(0.25f)};
      ASSERT_TRUE(ConvTester(desc).Algorithm("winograd_f4").Data(DataKind::kReal).Run()) << LayoutName(layout);
      desc.post_ops = {PostOp::ResidualAdd(*desc.dst.strides), PostOp::Relu()};
      ASSERT_TRUE(ConvTester(desc).Algorithm("winograd_f2").Data(DataKind::kReal).ResidualInPlace().Threads(3).Run());
      ASSERT_TRUE(ConvTester(desc).Algorithm("winograd_f4").Data(DataKind::kSpecials).Run());
    }
  });
}

std::vector<float> RunOn(const ConvDesc& desc, const char* algorithm, int threads, const std::vector<float>& src) {
  const Result<Conv> conv = Conv::Create(desc, {.threads = threads, .algorithm = algorithm});
  EXPECT_TRUE(conv.ok()) << conv.status().message();
  std::vector<float> weights(static_cast<size_t>(desc.oc * desc.ic / desc.groups * desc.kernel.h * desc.kernel.w));
  FillDense(weights.data(), weights.size(), DataKind::kReal, 3);
  const Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
  EXPECT_TRUE(packed.ok());
  const Size2 out = conv->output_size();
  std::vector<float> dst(static_cast<size_t>(desc.n * desc.oc * out.h * out.w));
  InlineThreads pool(threads);
  RunOptions options;
  options.threads = &pool;
  EXPECT_TRUE(conv->Run(src.data(), *packed, dst.data(), options).ok());
  return dst;
}

// Whole blocks per thread, shared blocks, blocks of other sizes: the same bits.
TEST(Winograd, SameBitsForAnyThreadsAndBatch) {
  ForEachIsa([](Isa) {
    for (const char* tile : kTiles) {
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
        ConvDesc desc = Desc(96, 64, {14, 13}, layout, layout);
        desc.n = 3;
        std::vector<float> src(static_cast<size_t>(desc.n * desc.ic * desc.in.h * desc.in.w));
        FillDense(src.data(), src.size(), DataKind::kReal, 5);
        const std::vector<float> all = RunOn(desc, tile, 1, src);
        for (const int threads : {2, 3, 5, 8}) ASSERT_EQ(all, RunOn(desc, tile, threads, src)) << tile << threads;
        desc.n = 1;
        const size_t image = src.size() / 3, result = all.size() / 3;
        for (size_t n = 0; n < 3; ++n) {
          const std::vector<float> one(src.begin() + n * image, src.begin() + (n + 1) * image);
          const std::vector<float> part(all.begin() + n * result, all.begin() + (n + 1) * result);
          ASSERT_EQ(part, RunOn(desc, tile, 2, one)) << tile;
        }
      }
    }
  });
}

// The rule of docs/accuracy.md: a value that is not finite, or overflows in the transform, reaches the tiles whose
// inputs contain it, and nothing else.
TEST(Winograd, NanInfinityAndHugeValuesStayInTheirTiles) {
  ForEachIsa([](Isa) {
    const ConvDesc desc = Desc(16, 16, {15, 17}, Layout::kNhwc, Layout::kNhwc);
    std::vector<float> src(16 * 15 * 17, 1.0f);
    for (const char* tile : {"winograd_f4", "winograd_f2"}) {
      const int64_t size = tile == kTiles[0] ? 4 : 2;
      const std::vector<float> clean = RunOn(desc, tile, 1, src);
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38f}) {
        for (const Size2 at : {Size2{0, 0}, Size2{7, 8}, Size2{14, 16}, Size2{4, 11}}) {
          std::vector<float> with = src;
          with[static_cast<size_t>((at.h * 17 + at.w) * 16 + 5)] = bad;
          const std::vector<float> dst = RunOn(desc, tile, 1, with);
          for (int64_t y = 0; y < 15; ++y) {
            for (int64_t x = 0; x < 17; ++x) {
              // Inputs of the output's tile: rows top … top + size + 1.
              const int64_t top = y / size * size - 1, left = x / size * size - 1;
              const bool touched =
                  at.h >= top && at.h <= top + size + 1 && at.w >= left && at.w <= left + size + 1;
              const bool in_window = std::abs(at.h - y) <= 1 && std::abs(at.w - x) <= 1;
              const auto i = static_cast<size_t>((y * 17 + x) * 16 + 3);
              if (!touched) {
                ASSERT_EQ(dst[i], clean[i]) << tile << " output " << y << "," << x;
              } else if (in_window && bad != 3e38f) {
                ASSERT_FALSE(std::isfinite(dst[i])) << tile << " output " << y << "," << x;
              }
            }
          }
        }
      }
    }
  });
}

TEST(Winograd, StrictAccuracyNeverTakesIt) {
  const ConvDesc desc = Desc(64, 64, {28, 28}, Layout::kNhwc, Layout::kNhwc);
  const Result<Conv> strict = Conv::Create(desc, {.accuracy = Accuracy::kStrict}), free = Conv::Create(desc);
  ASSERT_TRUE(strict.ok() && free.ok());
  EXPECT_FALSE(strict->work().transforms);
  EXPECT_NE(strict->Explain().find("refused: accuracy: only direct summation is allowed"), std::string::npos);
  EXPECT_EQ(Conv::Create(desc, {.accuracy = Accuracy::kStrict, .algorithm = "winograd"}).status().code(),
            StatusCode::kUnsupported);
  if (DetectedIsa() == Isa::kNone) return;
  EXPECT_STREQ(free->algorithm(), "winograd_f4");
  EXPECT_GT(free->work().flops, 0);
}

}  // namespace
}  // namespace rafter::testing
