// The promise of conv.h: the same bits for any thread count and batch split and, by direct summation, image size around
// the same window.
#include <gtest/gtest.h>

#include <vector>

#include "rafter/conv.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/inline_threads.h"
#include "tests/support/random_tensor.h"

namespace rafter::testing {
namespace {

struct Layer {
  int64_t ic, oc, kernel, stride, groups;
};
constexpr Layer kLayers[] = {{64, 64, 3, 1, 1}, {40, 72, 1, 1, 1}, {3, 33, 7, 2, 1}, {128, 48, 3, 2, 1},
                             {36, 20, 5, 1, 2}, {256, 24, 1, 2, 1}};
constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};

ConvDesc DescOf(const Layer& layer, int64_t n, Size2 in, Layout layout) {
  ConvDesc desc;
  desc.n = n, desc.ic = layer.ic, desc.oc = layer.oc, desc.in = in, desc.groups = layer.groups;
  desc.kernel = {layer.kernel, layer.kernel}, desc.stride = {layer.stride, layer.stride};
  const int64_t pad = layer.kernel / 2;
  desc.pad = {pad, pad, pad, pad};
  desc.src.layout = desc.dst.layout = layout;
  return desc;
}

std::vector<float> Weights(const Layer& layer) {
  std::vector<float> weights(
      static_cast<size_t>(layer.oc * layer.ic / layer.groups * layer.kernel * layer.kernel));
  FillDense(weights.data(), weights.size(), DataKind::kReal, 11);
  return weights;
}

std::vector<float> RunConv(const ConvDesc& desc, const std::vector<float>& weights,
                           const std::vector<float>& src, int threads, const char* algorithm = "",
                           Accuracy accuracy = Accuracy::kDefault) {
  ConvOptions options;
  options.threads = threads;
  options.accuracy = accuracy;
  options.algorithm = algorithm;
  Result<Conv> conv = Conv::Create(desc, options);
  EXPECT_TRUE(conv.ok()) << conv.status().message();
  Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
  EXPECT_TRUE(packed.ok());
  InlineThreads pool(threads);
  RunOptions run;
  run.threads = &pool;
  const Size2 out = conv->output_size();
  const int64_t block = ChannelBlock(desc.dst.layout);
  const int64_t channels = (desc.oc + block - 1) / block * block;
  std::vector<float> dst(static_cast<size_t>(desc.n * channels * out.h * out.w));
  EXPECT_TRUE(conv->Run(src.data(), *packed, dst.data(), run).ok());
  return dst;
}

std::vector<float> Source(const ConvDesc& desc) {
  const int64_t block = ChannelBlock(desc.src.layout);
  const int64_t channels = (desc.ic + block - 1) / block * block;
  std::vector<float> src(static_cast<size_t>(desc.n * channels * desc.in.h * desc.in.w));
  FillDense(src.data(), src.size(), DataKind::kReal, 7);
  return src;
}

TEST(SameBits, AnyThreadCount) {
  ForEachIsa([](Isa) {
    for (const Layer& layer : kLayers) {
      const std::vector<float> weights = Weights(layer);
      for (const Layout layout : kLayouts) {
        const ConvDesc desc = DescOf(layer, 2, {13, 14}, layout);
        const std::vector<float> src = Source(desc), one = RunConv(desc, weights, src, 1);
        for (int threads = 2; threads <= 8; ++threads) {
          ASSERT_EQ(one, RunConv(desc, weights, src, threads)) << threads << " threads";
        }
      }
    }
  });
}

TEST(SameBits, AnyBatchSplit) {
  ForEachIsa([](Isa) {
    for (const Layer& layer : kLayers) {
      const std::vector<float> weights = Weights(layer);
      for (const Layout layout : kLayouts) {
        const ConvDesc all = DescOf(layer, 5, {9, 10}, layout), one = DescOf(layer, 1, {9, 10}, layout);
        const std::vector<float> src = Source(all), together = RunConv(all, weights, src, 3);
        const size_t image = src.size() / 5, result = together.size() / 5;
        for (size_t n = 0; n < 5; ++n) {
          const std::vector<float> single(src.begin() + n * image, src.begin() + (n + 1) * image);
          const std::vector<float> expected(together.begin() + n * result,
                                            together.begin() + (n + 1) * result);
          ASSERT_EQ(RunConv(one, weights, single, 1), expected);
        }
      }
    }
  });
}

// Tiles of several rows, passes over the channels, edges and moved vectors sum in the same order.
void CheckNchw(const char* algorithm) {
  ForEachIsa([&](Isa) {
    for (const Layer& layer : kLayers) {
      const std::vector<float> weights = Weights(layer);
      const ConvDesc desc = DescOf(layer, 1, {20, 60}, Layout::kNchw);
      const std::vector<float> src = Source(desc), all = RunConv(desc, weights, src, 1, algorithm);
      for (int threads = 2; threads <= 8; ++threads) {
        ASSERT_EQ(all, RunConv(desc, weights, src, threads, algorithm)) << threads << " threads";
      }
      // The left part of the image: outputs that see nothing of the rest stay as they are.
      for (int64_t width = layer.kernel; width < 60; width += 7) {
        const ConvDesc part = DescOf(layer, 1, {20, width}, Layout::kNchw);
        std::vector<float> left;
        for (int64_t row = 0; row < layer.ic * 20; ++row) {
          left.insert(left.end(), src.begin() + row * 60, src.begin() + row * 60 + width);
        }
        const std::vector<float> dst = RunConv(part, weights, left, 1, algorithm);
        const int64_t ow = (width + layer.kernel / 2 * 2 - layer.kernel) / layer.stride + 1;
        const int64_t all_ow = (60 + layer.kernel / 2 * 2 - layer.kernel) / layer.stride + 1;
        const int64_t same = (width - layer.kernel + layer.kernel / 2) / layer.stride + 1;
        for (int64_t row = 0; row < static_cast<int64_t>(dst.size()) / ow; ++row) {
          for (int64_t x = 0; x < same; ++x) ASSERT_EQ(dst[row * ow + x], all[row * all_ow + x]) << "width " << width;
        }
      }
    }
  });
}

TEST(SameBits, WidthwiseWhateverTheThreadsAndTheWidth) { CheckNchw("widthwise"); }
TEST(SameBits, GemmWhateverTheThreadsAndTheWidth) { CheckNchw("gemm"); }

// A window of input gives the same output wherever it lies and however wide the image around it is: tiles of
// different width, first and last pixels of a tile, edge kernels.
TEST(SameBits, AnyImageAroundTheWindow) {
  ForEachIsa([](Isa) {
    for (const Layer& layer : kLayers) {
      const std::vector<float> weights = Weights(layer);
      const int64_t window = layer.kernel;
      std::vector<float> patch(static_cast<size_t>(window * window * layer.ic));
      FillDense(patch.data(), patch.size(), DataKind::kReal, 13);
      std::vector<float> first;
      for (int64_t width = window; width <= 40; width += 3) {
        for (int64_t x = 0; x + window <= width; x += layer.stride) {
          ConvDesc desc = DescOf(layer, 1, {window, width}, Layout::kNhwc);
          desc.pad = {};
          std::vector<float> src(static_cast<size_t>(window * width * layer.ic), 0.25f);
          for (int64_t y = 0; y < window; ++y) {
            std::copy_n(patch.begin() + y * window * layer.ic, window * layer.ic,
                        src.begin() + (y * width + x) * layer.ic);
          }
          // Tiles of a transform lie in the image, not in the window.
          const std::vector<float> dst = RunConv(desc, weights, src, 1, "", Accuracy::kStrict);
          const auto pixel = dst.begin() + x / layer.stride * layer.oc;
          const std::vector<float> here(pixel, pixel + layer.oc);
          if (first.empty()) first = here;
          ASSERT_EQ(first, here) << "width " << width << " x " << x;
        }
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
