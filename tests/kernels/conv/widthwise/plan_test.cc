// Widthwise convolution from end to end against the reference: every tile, edge and tail, and who
// is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/machine_model.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/random_desc.h"

namespace rafter::testing {
namespace {

ConvDesc Desc(int64_t groups, int64_t ic, int64_t oc, Size2 in, Size2 kernel) {
  ConvDesc desc;
  desc.groups = groups, desc.ic = ic, desc.oc = oc, desc.in = in, desc.kernel = kernel;
  const int64_t y = kernel.h / 2, x = kernel.w / 2;
  desc.pad = {y, x, y, x};
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  return desc;
}

ConvTester Widthwise(const ConvDesc& desc) { return ConvTester(desc).Algorithm("widthwise"); }

TEST(Widthwise, EveryRowWidth) {
  ForEachIsa([](Isa) {
    for (int64_t width = 1; width <= 110; ++width) {
      for (const int64_t oc : {1, 2, 3, 4, 7}) {
        for (const int64_t stride : {1, 2}) {
          ConvDesc desc = Desc(1, 2, oc, {6, width}, {3, 3});
          desc.stride = {1, stride};
          ASSERT_TRUE(Widthwise(desc).Run())
              << "width " << width << " oc " << oc << " stride " << stride;
          desc.kernel = {1, 1};
          desc.pad = {};
          ASSERT_TRUE(Widthwise(desc).Run())
              << "1x1, width " << width << " oc " << oc << " stride " << stride;
        }
      }
    }
  });
}

TEST(Widthwise, EveryImageHeight) {
  ForEachIsa([](Isa) {
    for (int64_t height = 1; height <= 20; ++height) {
      for (const int64_t oc : {1, 2, 3, 5}) {
        for (const Size2 stride : {Size2{1, 1}, Size2{2, 2}, Size2{3, 1}}) {
          for (const int64_t dilation : {1, 2}) {
            ConvDesc desc = Desc(1, 2, oc, {height, 9}, {3, 3});
            desc.stride = stride, desc.dilation = {dilation, 1};
            desc.pad = {2, 1, 3, 1};
            ASSERT_TRUE(Widthwise(desc).Threads(1 + static_cast<int>(oc % 3)).Run())
                << "height " << height << " oc " << oc << " stride " << stride.h << " dilation "
                << dilation;
          }
        }
      }
    }
  });
}

TEST(Widthwise, EveryKernelWidth) {
  ForEachIsa([](Isa) {
    for (int64_t kernel = 1; kernel <= 36; ++kernel) {
      for (const int64_t stride : {1, 2}) {
        for (const int64_t dilation : {1, 3}) {
          ConvDesc desc = Desc(1, 3, 6, {1, 120}, {1, kernel});
          desc.stride = {1, stride}, desc.dilation = {1, dilation};
          ASSERT_TRUE(Widthwise(desc).Run()) << "kernel " << kernel << " stride " << stride;
          desc.pad = {};
          ASSERT_TRUE(Widthwise(desc).Run()) << "kernel " << kernel << " stride " << stride;
        }
      }
      ASSERT_TRUE(Widthwise(Desc(1, 3, 6, {40, 17}, {kernel, 1})).Run())
          << "kernel " << kernel << " x 1";
    }
  });
}

TEST(Widthwise, EveryStride) {
  ForEachIsa([](Isa) {
    for (int64_t stride = 1; stride <= 9; ++stride) {
      for (const int64_t kernel : {1, 3, 8}) {
        for (const int64_t dilation : {1, 2}) {
          for (const int64_t width : {20, 150, 700}) {
            ConvDesc desc = Desc(1, 5, 6, {20, width}, {kernel, kernel});
            desc.stride = {stride, stride}, desc.dilation = {1, dilation};
            ASSERT_TRUE(Widthwise(desc).Threads(1 + static_cast<int>(stride % 3)).Run())
                << "stride " << stride << " kernel " << kernel << " dilation " << dilation
                << " width " << width;
            desc.post_ops = {PostOp::ResidualAdd()};
            ASSERT_TRUE(Widthwise(desc).Run())
                << "stride " << stride << " kernel " << kernel << ", residual";
          }
        }
      }
    }
  });
}

// More input channels than one pass sums: parked sums.
TEST(Widthwise, SeveralPasses) {
  ForEachIsa([](Isa) {
    for (const int64_t ic : {70, 150}) {
      for (const int64_t oc : {1, 3, 8}) {
        for (const int64_t width : {5, 50, 333}) {
          ConvDesc desc = Desc(1, ic, oc, {9, width}, {3, 3});
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(Widthwise(desc).ResidualInPlace().Threads(2).Run())
              << "ic " << ic << " width " << width;
          desc.kernel = {1, 1}, desc.pad = {};
          ASSERT_TRUE(Widthwise(desc).ResidualInPlace().Run())
              << "1x1, ic " << ic << " width " << width;
        }
      }
    }
  });
}

TEST(Widthwise, GroupsAndChannels) {
  ForEachIsa([](Isa) {
    for (const int64_t groups : {1, 2, 5, 32}) {
      for (const int64_t ic_g : {1, 2, 4, 9}) {
        for (const int64_t oc_g : {1, 2, 4, 5, 6, 9}) {
          const ConvDesc desc = Desc(groups, groups * ic_g, groups * oc_g, {5, 14}, {3, 3});
          ASSERT_TRUE(Widthwise(desc).Threads(3).Run())
              << groups << " groups of " << ic_g << " to " << oc_g;
        }
      }
    }
  });
}

// The last vector of a row overlaps its neighbour: a residual in place must not be added twice.
TEST(Widthwise, ResidualInPlace) {
  ForEachIsa([](Isa) {
    for (int64_t width = 1; width <= 70; ++width) {
      for (const int64_t oc : {1, 2, 3, 4}) {
        ConvDesc desc = Desc(1, 3, oc, {7, width}, {3, 3});
        desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
        ASSERT_TRUE(Widthwise(desc).ResidualInPlace().Run()) << "width " << width << " oc " << oc;
        desc.kernel = {1, 1}, desc.pad = {};
        ASSERT_TRUE(Widthwise(desc).ResidualInPlace().Run())
            << "1x1, width " << width << " oc " << oc;
      }
    }
  });
}

TEST(Widthwise, RandomProblems) {
  ForEachIsa([](Isa) {
    for (const DataKind data : {DataKind::kInteger, DataKind::kSpecials, DataKind::kReal}) {
      Random random(static_cast<uint64_t>(data) + 3);
      RandomDescLimits limits;
      limits.layouts = {Layout::kNchw};
      limits.exact_post_ops = data != DataKind::kReal;
      limits.max_channels_g = 12, limits.max_image = 40, limits.max_stride = 5,
      limits.max_kernel = 9;
      for (int i = 0; i < 400; ++i) {
        ASSERT_TRUE(Widthwise(RandomDesc(random, limits))
                        .Data(data)
                        .Seed(static_cast<uint64_t>(i))
                        .Threads(1 + i % 8)
                        .Run())
            << "case " << i;
      }
    }
  });
}

// Infinite weights of taps in the padding must not show: padding is not even multiplied by.
TEST(Widthwise, InfiniteWeightsReachTheirTapsOnly) {
  ForEachIsa([](Isa) {
    for (const int64_t stride : {1, 2}) {
      ConvDesc desc = Desc(1, 1, 1, {1, 20}, {1, 3});
      desc.stride = {1, stride};
      Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "widthwise"});
      ASSERT_TRUE(conv.ok()) << conv.status().message();
      const std::vector<float> weights = {HUGE_VALF, 1, HUGE_VALF}, src(20, 1.0f);
      std::vector<float> dst(20);
      // Output 0 misses the first tap, the last output misses the last one: both still see one
      // infinity.
      Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
      ASSERT_TRUE(packed.ok());
      ASSERT_TRUE(conv->Run(src.data(), *packed, dst.data()).ok());
      EXPECT_EQ(dst[0], HUGE_VALF) << "not NaN, which 0 * infinity would give";
      EXPECT_EQ(dst[static_cast<size_t>(conv->output_size().w) - 1], HUGE_VALF);
    }
  });
}

// The same where stages hold zeros for the padding: strides that are always staged.
TEST(Widthwise, InfiniteWeightsFindNoZerosInStages) {
  ForEachIsa([](Isa) {
    for (const int64_t stride : {3, 4}) {
      for (const int64_t kernel : {3, 7, 11}) {
        for (const int64_t width : {5, 30, 150}) {
          ConvDesc desc = Desc(1, 2, 1, {1, width}, {1, kernel});
          desc.stride = {1, stride}, desc.pad = {0, kernel - 1, 0, kernel - 1};
          const Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "widthwise"});
          ASSERT_TRUE(conv.ok()) << conv.status().message();
          const std::vector<float> src(static_cast<size_t>(2 * width), 1.0f);
          std::vector<float> weights(static_cast<size_t>(2 * kernel), 1.0f), dst(400);
          weights[static_cast<size_t>(kernel - 1)] = HUGE_VALF;
          const Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
          ASSERT_TRUE(packed.ok());
          ASSERT_TRUE(conv->Run(src.data(), *packed, dst.data()).ok());
          for (int64_t x = 0; x < conv->output_size().w; ++x) {
            const int64_t last = x * stride, first = last - kernel + 1;  // input columns of the taps
            const int64_t taps = std::min(last, width - 1) - std::max<int64_t>(first, 0) + 1;
            const float expected = last < width ? HUGE_VALF : static_cast<float>(2 * taps);
            ASSERT_EQ(dst[static_cast<size_t>(x)], expected) << stride << " kernel " << kernel << " at " << x;
          }
        }
      }
    }
  });
}

TEST(Widthwise, RefusesWithAReason) {
  ForEachIsa([](Isa) {
    const auto refusal = [](const ConvDesc& desc) {
      const Result<Conv> conv = Conv::Create(desc, {.algorithm = "widthwise"});
      return conv.ok() ? std::string() : std::string(conv.status().message());
    };
    ConvDesc desc = Desc(1, 8, 8, {8, 8}, {3, 3});
    EXPECT_EQ(refusal(desc), "");
    desc.src.layout = Layout::kNhwc, desc.dst.layout = Layout::kNchw16c;
    EXPECT_NE(refusal(desc).find("src is not NCHW"), std::string::npos) << refusal(desc);
  });
}

// Large outputs are prefetched: of tiles beside and below each other, and behind the last one.
TEST(Widthwise, LargeOutputs) {
  const MachineModel real = CurrentMachineModel();
  MachineModel small = real;
  small.l2_bytes = 256;
  SetMachineModel(small);
  ForEachIsa([](Isa) {
    for (const int64_t kernel : {1, 3}) {
      for (const int64_t width : {13, 70, 250}) {
        ConvDesc desc;
        desc.ic = 5, desc.oc = 11, desc.in = {9, width}, desc.kernel = {kernel, kernel};
        desc.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
        desc.src.layout = desc.dst.layout = Layout::kNchw;
        EXPECT_TRUE(ConvTester(desc).Algorithm("widthwise").Threads(2).Run()) << kernel << " width " << width;
        desc.stride = {2, 2};
        EXPECT_TRUE(ConvTester(desc).Algorithm("widthwise").Run()) << kernel << " width " << width;
      }
    }
  });
  SetMachineModel(real);
}

bool GoesOverChannels(const ConvDesc& desc) {
  const Result<Conv> conv = Conv::Create(desc, {.threads = 1, .algorithm = "widthwise"});
  return conv.ok() && conv->Explain().find("calls over channels") != std::string::npos;
}

// Tiles of one size and of two, of a group or of all groups; rows in part, shifted, staged, sorted; tiles of several
// rows; parts for several threads; scales, residuals in place, NaN.
TEST(Widthwise, CallsOverChannels) {
  ForEachIsa([](Isa isa) {
    int over_channels = 0, cases = 0;
    for (const int64_t groups : {1, 2, 9}) {
      for (const int64_t oc : {2, 4, 7, 13, 24}) {
        for (const Size2 in : {Size2{1, 5}, {1, 15}, {1, 40}, {4, 7}, {7, 9}}) {
          for (const int64_t stride : {1, 2, 3}) {
            ConvDesc desc = Desc(groups, groups * 3, groups * oc, in, {in.h > 1 ? 3 : 1, 3});
            desc.n = 2, desc.stride = {1, stride};
            ++cases, over_channels += isa != Isa::kNone && GoesOverChannels(desc);
            const int threads = 1 + static_cast<int>(cases % 3);
            ASSERT_TRUE(Widthwise(desc).Threads(threads).Run()) << groups << " groups, " << oc << " oc";
            ASSERT_TRUE(Widthwise(desc).Data(DataKind::kSpecials).Run()) << groups << " groups, " << oc << " oc";
            std::vector<float> scale;
            for (int64_t c = 0; c < desc.oc; ++c) scale.push_back(static_cast<float>(c % 5 - 2));
            desc.post_ops = {PostOp::ChannelScale(scale), PostOp::ResidualAdd(), PostOp::Relu()};
            ASSERT_TRUE(Widthwise(desc).ResidualInPlace().Threads(threads).Run())
                << groups << " groups, " << oc << " oc, post-ops";
            desc.kernel = {1, 1}, desc.pad = {};
            ASSERT_TRUE(Widthwise(desc).Threads(threads).Run()) << "1x1, " << groups << " groups, " << oc << " oc";
          }
        }
      }
    }
    if (isa != Isa::kNone) EXPECT_GT(over_channels, cases / 3);
  });
}

}  // namespace
}  // namespace rafter::testing
