// Tests of bench/layer_sizes against loops that count.
#include "bench/layer_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>

namespace rafter::bench {
namespace {

LayerSizes Sizes(const std::string& text) {
  Result<LayerSizes> sizes = SizesOf(text);
  EXPECT_TRUE(sizes.ok()) << sizes.status().message();
  return sizes.ok() ? *sizes : LayerSizes();
}

// A window that slides over a square image.
struct Window {
  int64_t in, out, kernel, stride, pad, dilation;  // dilation from 0
};

// Pairs of an output and an input under a tap of it, and how many inputs have any.
struct Count {
  int64_t pairs = 0, inputs = 0, outputs_with_any = 0;
};

Count CountPairs(const Window& w) {
  Count count;
  std::set<int64_t> inputs;
  for (int64_t oh = 0; oh < w.out; ++oh) {
    for (int64_t ow = 0; ow < w.out; ++ow) {
      int64_t here = 0;
      for (int64_t kh = 0; kh < w.kernel; ++kh) {
        for (int64_t kw = 0; kw < w.kernel; ++kw) {
          const int64_t ih = oh * w.stride - w.pad + kh * (w.dilation + 1);
          const int64_t iw = ow * w.stride - w.pad + kw * (w.dilation + 1);
          if (ih < 0 || iw < 0 || ih >= w.in || iw >= w.in) continue;
          ++here;
          inputs.insert(ih * w.in + iw);
        }
      }
      count.pairs += here;
      count.outputs_with_any += here > 0;
    }
  }
  count.inputs = static_cast<int64_t>(inputs.size());
  return count;
}

std::string Text(const Window& w) {
  return "ih" + std::to_string(w.in) + "kh" + std::to_string(w.kernel) + "sh" + std::to_string(w.stride) + "ph" +
         std::to_string(w.pad) + "dh" + std::to_string(w.dilation);
}

// Nothing when the window does not fit.
std::optional<Window> RandomWindow(std::mt19937& random) {
  const auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  Window w{pick(1, 12), 0, pick(1, 4), pick(1, 3), pick(0, 2), pick(0, 2)};
  const int64_t extent = (w.kernel - 1) * (w.dilation + 1) + 1;
  if (w.in + 2 * w.pad < extent || w.pad >= extent) return std::nullopt;
  w.out = (w.in + 2 * w.pad - extent) / w.stride + 1;
  return w;
}

TEST(SizesOf, ConvolutionsAgreeWithLoops) {
  std::mt19937 random(1);
  int checked = 0;
  while (checked < 200) {
    const auto window = RandomWindow(random);
    if (!window) continue;
    const int64_t groups = 1 + checked % 3, ic = groups * (1 + checked % 4), oc = groups * (1 + checked % 5);
    const Count count = CountPairs(*window);
    const LayerSizes s =
        Sizes("g" + std::to_string(groups) + "mb3ic" + std::to_string(ic) + "oc" + std::to_string(oc) + Text(*window));
    EXPECT_DOUBLE_EQ(s.macs, static_cast<double>(3 * oc * (ic / groups) * count.pairs)) << s.text;
    EXPECT_DOUBLE_EQ(s.flops, 2 * s.macs);
    const int64_t taps = window->kernel * window->kernel;
    EXPECT_DOUBLE_EQ(s.macs_nominal, static_cast<double>(3 * oc * (ic / groups) * taps * window->out * window->out));
    EXPECT_DOUBLE_EQ(s.parameters, static_cast<double>(oc * (ic / groups) * taps + oc));
    EXPECT_DOUBLE_EQ(s.write_bytes, static_cast<double>(4 * 3 * oc * window->out * window->out));
    ++checked;
  }
}

// The transposed convolution scatters: every input adds to the outputs under its window.
TEST(SizesOf, TransposedConvolutionsAgreeWithScattering) {
  std::mt19937 random(2);
  int checked = 0;
  while (checked < 200) {
    const auto pick = [&](int64_t low, int64_t high) {
      return std::uniform_int_distribution<int64_t>(low, high)(random);
    };
    const int64_t in = pick(1, 7), kernel = pick(1, 4), stride = pick(1, 3), pad = pick(0, 1), dilation = pick(0, 1);
    const int64_t out = (in - 1) * stride - 2 * pad + (kernel - 1) * (dilation + 1) + 1;
    if (out < 1 || pad >= (kernel - 1) * (dilation + 1) + 1) continue;
    int64_t axis_pairs = 0;
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t k = 0; k < kernel; ++k) {
        const int64_t o = i * stride - pad + k * (dilation + 1);
        axis_pairs += o >= 0 && o < out;
      }
    }
    const int64_t ic = 6, oc = 4, groups = 2;
    const LayerSizes s = Sizes("deconv:g2mb2ic6oc4ih" + std::to_string(in) + "kh" + std::to_string(kernel) + "sh" +
                               std::to_string(stride) + "ph" + std::to_string(pad) + "dh" + std::to_string(dilation));
    EXPECT_DOUBLE_EQ(s.macs, static_cast<double>(2 * ic * (oc / groups) * axis_pairs * axis_pairs)) << s.text;
    EXPECT_DOUBLE_EQ(s.macs_nominal, static_cast<double>(2 * ic * (oc / groups) * kernel * kernel * in * in));
    EXPECT_DOUBLE_EQ(s.parameters, static_cast<double>(ic * (oc / groups) * kernel * kernel + oc));
    EXPECT_DOUBLE_EQ(s.write_bytes, static_cast<double>(4 * 2 * oc * out * out));
    ++checked;
  }
}

TEST(SizesOf, PoolingAgreesWithLoops) {
  std::mt19937 random(3);
  int checked = 0;
  while (checked < 100) {
    const auto window = RandomWindow(random);
    if (!window) continue;
    const Count count = CountPairs(*window);
    if (count.outputs_with_any != window->out * window->out) continue;  // a window of padding only: no value at all
    const LayerSizes max = Sizes("maxpool:mb2ic5" + Text(*window)), avg = Sizes("avgpool:mb2ic5" + Text(*window));
    const int64_t outputs = window->out * window->out;
    EXPECT_DOUBLE_EQ(max.flops, static_cast<double>(10 * (count.pairs - outputs))) << max.text;
    EXPECT_DOUBLE_EQ(avg.flops, static_cast<double>(10 * count.pairs));
    EXPECT_DOUBLE_EQ(max.read_bytes, static_cast<double>(4 * 10 * count.inputs));
    EXPECT_DOUBLE_EQ(max.write_bytes, static_cast<double>(4 * 10 * outputs));
    EXPECT_EQ(max.parameters, 0);
    ++checked;
  }
}

TEST(SizesOf, LstmAgreesWithItsLoops) {
  const int64_t steps = 5, mb = 2, inputs = 7, hidden = 4, layers = 2, directions = 2;
  double macs = 0, extra = 0, parameters = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    const int64_t from = layer == 0 ? inputs : hidden * directions;
    for (int64_t direction = 0; direction < directions; ++direction) {
      for (int64_t gate = 0; gate < 4; ++gate) {
        for (int64_t h = 0; h < hidden; ++h) parameters += static_cast<double>(from + hidden + 1);
      }
      for (int64_t step = 0; step < steps * mb; ++step) {
        for (int64_t h = 0; h < hidden; ++h) {
          macs += static_cast<double>(4 * (from + hidden));
          extra += 4 + 3 * FlopsPerElement("sigmoid") + 2 * FlopsPerElement("tanh") + 4;
        }
      }
    }
  }
  const LayerSizes s = Sizes("lstm:t5mb2ic7hc4l2d2");
  EXPECT_DOUBLE_EQ(s.macs, macs);
  EXPECT_DOUBLE_EQ(s.flops, 2 * macs + extra);
  EXPECT_DOUBLE_EQ(s.parameters, parameters);
  EXPECT_DOUBLE_EQ(s.read_bytes, 4 * (5 * 2 * 7 + parameters + 2 * 2 * 2 * 2 * 4));
  EXPECT_DOUBLE_EQ(s.write_bytes, 4 * (5 * 2 * 4 * 2 + 2.0 * 2 * 2 * 2 * 4));
}

TEST(SizesOf, MatricesAndTensors) {
  const LayerSizes fc = Sizes("fc:mb3ic20oc10");
  EXPECT_EQ(fc.flops, 2 * 3 * 20 * 10);
  EXPECT_EQ(fc.parameters, 20 * 10 + 10);
  EXPECT_EQ(fc.bytes(), 4 * (3 * 20 + 210 + 3 * 10));
  EXPECT_EQ(Sizes("fc:mb1ic8ih7oc10").macs, 8 * 7 * 7 * 10);
  const LayerSizes matmul = Sizes("matmul:5x64x128:1x128x32");
  EXPECT_EQ(matmul.macs, 5 * 64 * 128 * 32);
  EXPECT_EQ(matmul.read_bytes, 4 * (5 * 64 * 128 + 128 * 32));
  EXPECT_EQ(matmul.write_bytes, 4 * 5 * 64 * 32);
  const LayerSizes relu = Sizes("relu:2x3x4x5");
  EXPECT_EQ(relu.flops, 120);
  EXPECT_EQ(relu.bytes(), 2 * 4 * 120);
  EXPECT_EQ(Sizes("add:10").read_bytes, 80);
  EXPECT_EQ(Sizes("copy:10").flops, 0);
  const LayerSizes concat = Sizes("concat:1x3x4x4:1x5x4x4");
  EXPECT_EQ(concat.flops, 0);
  EXPECT_EQ(concat.read_bytes, 4 * 8 * 16);
  EXPECT_EQ(concat.write_bytes, 4 * 8 * 16);
  const LayerSizes pad = Sizes("pad:1x3x8x8:1,2,3,4");
  EXPECT_EQ(pad.read_bytes, 4 * 3 * 64);
  EXPECT_EQ(pad.write_bytes, 4 * 3 * 12 * 14);
}

// The classic figures of depthwise convolutions: 2.346 FLOP/byte by nominal taps and bias, 2.20 by valid taps, both
// with bias.
TEST(SizesOf, DepthwiseIntensityOfTheLessons) {
  const LayerSizes s = Sizes("g32mb1ic32ih20oc32oh20kh3ph1");
  EXPECT_NEAR((s.flops_nominal + 32 * 400) / s.bytes(), 2.346, 0.0005);
  EXPECT_NEAR((s.flops + 32 * 400) / s.bytes(), 2.20, 0.0005);
  EXPECT_NEAR(2.346 / (4608.0 / 96), 0.049, 0.0005) << "of the peak of the i9-10980XE";
}

TEST(SizesOf, SaysWhatIsWrong) {
  for (const auto& [text, part] : {std::pair{"fc:mb1oc10", "'ic' is missing"},
                                   {"fc:mb1ic2oc10x5", "'x' is not a field"},
                                   {"lstm:t5mb2ic7", "'hc'"},
                                   {"pooling:mb1", "allowed"},
                                   {"maxpool:mb1ic3", "missing"},
                                   {"matmul:3x4:5x6", "rows of the second"},
                                   {"matmul:3x4", "allowed"},
                                   {"concat:1x2", "at least two"},
                                   {"concat:1x2x3:1x2x4", "second dimension"},
                                   {"pad:1x3x8x8:1,2", "allowed"},
                                   {"relu:1xax3", "sizes such as"},
                                   {"mb1ic3", "'oc' was not specified"},
                                   {"relu:", "sizes such as"},
                                   {"fc:mb1mb1ic2oc3", "twice"},
                                   {"relu:0x2", "sizes such as"}}) {
    const Result<LayerSizes> sizes = SizesOf(text);
    ASSERT_FALSE(sizes.ok()) << text;
    EXPECT_EQ(sizes.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(sizes.status().message().find(part), std::string::npos) << text << ": " << sizes.status().message();
  }
}

TEST(SumOf, AddsAllButTheFootprint) {
  const std::array<LayerSizes, 2> layers = {Sizes("fc:mb1ic20oc10"), Sizes("relu:1x10")};
  const LayerSizes sum = SumOf(layers);
  EXPECT_EQ(sum.flops, layers[0].flops + layers[1].flops);
  EXPECT_EQ(sum.bytes(), layers[0].bytes() + layers[1].bytes());
  EXPECT_EQ(sum.footprint_bytes, layers[0].footprint_bytes);
  EXPECT_EQ(sum.parameters, 210);
}

}  // namespace
}  // namespace rafter::bench
