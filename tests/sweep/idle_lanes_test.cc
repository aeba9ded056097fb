// Convolutions whose output channels do not fill vectors, by the algorithms made for them: every tail of output and
// input channels, every small group, kernels and paddings of all kinds, with guard pages around each tensor.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/from_environment.h"
#include "tests/support/random_desc.h"

namespace rafter::testing {
namespace {

struct Channels {
  int64_t groups, ic_g, oc_g;
};

ConvDesc Desc(int64_t groups, int64_t ic_g, int64_t oc_g, Size2 in, int64_t kernel) {
  ConvDesc desc;
  desc.groups = groups, desc.ic = groups * ic_g, desc.oc = groups * oc_g;
  desc.in = in, desc.kernel = {kernel, kernel};
  const int64_t pad = kernel / 2;
  desc.pad = {pad, pad, pad, pad};
  return desc;
}

// Whether the algorithm takes the problem, with every post-op chain.
bool Takes(const ConvDesc& desc, const std::string& algorithm) {
  const Result<Conv> conv = Conv::Create(desc, {.algorithm = algorithm});
  EXPECT_TRUE(conv.ok() || conv.status().code() == StatusCode::kUnsupported)
      << conv.status().message();
  return conv.ok();
}

PostOps SomePostOps(int64_t oc, int64_t which) {
  if (which % 3 == 0) return {};
  if (which % 3 == 1) return {PostOp::Relu()};
  return {PostOp::ResidualAdd(), PostOp::ChannelScale(std::vector<float>(static_cast<size_t>(oc), 2.0f)),
          PostOp::LeakyRelu(0.25f)};
}

TEST(IdleLanes, OutputAndInputChannels) {
  ForEachIsa([](Isa) {
    int taken = 0;
    for (int64_t oc = 1; oc <= 40; ++oc) {
      for (int64_t ic = 1; ic <= 40; ++ic) {
        ConvDesc desc = Desc(1, ic, oc, {3, 7}, (ic + oc) % 4 == 0 ? 1 : 3);
        desc.post_ops = SomePostOps(oc, ic);
        if (!Takes(desc, "splitk")) continue;
        ++taken;
        ASSERT_TRUE(ConvTester(desc)
                        .Algorithm("splitk")
                        .Data((ic + oc) % 2 == 0 ? DataKind::kInteger : DataKind::kSpecials)
                        .Threads(1 + static_cast<int>(ic % 3))
                        .Run())
            << "ic " << ic << " oc " << oc;
      }
    }
    EXPECT_GE(taken, 1000);
  });
}

TEST(IdleLanes, SmallGroups) {
  ForEachIsa([](Isa) {
    int taken = 0;
    for (int64_t ic = 1; ic <= 9; ++ic) {
      for (int64_t oc = 1; oc <= 9; ++oc) {
        for (const int64_t groups : {2, 3, 4, 5, 8, 9, 17}) {
          ConvDesc desc = Desc(groups, ic, oc, {4, 6}, groups % 4 == 0 ? 1 : 3);
          desc.stride = {1, 1 + groups % 2};
          desc.post_ops = SomePostOps(desc.oc, ic + oc + groups);
          if (!Takes(desc, "grouped")) continue;
          ++taken;
          ASSERT_TRUE(ConvTester(desc)
                          .Algorithm("grouped")
                          .Data(groups % 2 == 0 ? DataKind::kInteger : DataKind::kSpecials)
                          .Threads(1 + static_cast<int>(groups % 4))
                          .Run())
              << groups << " groups of " << ic << " to " << oc;
        }
      }
    }
    EXPECT_GE(taken, 400);
  });
}

TEST(IdleLanes, MiddlingGroups) {
  ForEachIsa([](Isa) {
    for (const int64_t channels : {10, 12, 15, 16, 17, 24, 30, 33}) {
      for (const int64_t groups : {2, 3}) {
        const ConvDesc desc = Desc(groups, channels, channels, {5, 5}, 3);
        if (!Takes(desc, "grouped")) continue;
        ASSERT_TRUE(ConvTester(desc).Algorithm("grouped").Run()) << groups << " groups of " << channels;
      }
    }
  });
}

TEST(IdleLanes, RowWidths) {
  ForEachIsa([](Isa) {
    for (int64_t width = 1; width <= 60; ++width) {
      for (const int64_t oc : {1, 3, 4, 9, 12}) {
        ConvDesc desc = Desc(1, 11, oc, {2, width}, 3);
        desc.stride = {1, 1 + width % 2};
        ASSERT_TRUE(ConvTester(desc).Algorithm("splitk").Run()) << "width " << width << " oc " << oc;
      }
      ASSERT_TRUE(ConvTester(Desc(6, 4, 4, {2, width}, 3)).Algorithm("grouped").Run()) << width;
    }
  });
}

// More columns than one step takes, and edges wider than a strip.
TEST(IdleLanes, WideKernels) {
  ForEachIsa([](Isa) {
    for (const int64_t kernel : {15, 16, 17, 31}) {
      for (const auto& [groups, ic, oc] : {Channels{1, 9, 1}, {1, 5, 6}, {3, 4, 4}, {2, 3, 5}}) {
        ConvDesc desc = Desc(groups, ic, oc, {1, 50}, kernel);
        desc.kernel.h = 1, desc.pad = {0, kernel - 3, 0, kernel / 2};
        desc.dilation.w = 1 + kernel % 2;
        const char* algorithm = groups == 1 ? "splitk" : "grouped";
        ASSERT_TRUE(ConvTester(desc).Algorithm(algorithm).Threads(3).Run()) << "kernel " << kernel;
      }
    }
  });
}

RandomDescLimits Limits(const std::string& algorithm, int64_t i) {
  RandomDescLimits limits;
  limits.layouts = {Layout::kNhwc};
  limits.max_groups = algorithm == "grouped" ? 9 : 1;
  limits.max_channels_g = i % 2 == 0 ? 9 : 34;
  limits.max_kernel = i % 8 == 0 ? 20 : 5;
  limits.max_image = i % 5 == 0 ? 40 : 14;
  limits.exact_post_ops = i % 3 != 0;
  return limits;
}

TEST(IdleLanes, AnythingElse) {
  const int64_t seed = FromEnvironment("RAFTER_SWEEP_SEED", 1);
  ForEachIsa([&](Isa) {
    for (const std::string algorithm : {"splitk", "grouped"}) {
      Random random(static_cast<uint64_t>(seed));
      for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 1500); ++i) {
        const ConvDesc desc = RandomDesc(random, Limits(algorithm, i));
        if (!Takes(desc, algorithm)) continue;
        constexpr DataKind kKinds[] = {DataKind::kReal, DataKind::kInteger, DataKind::kSpecials};
        ASSERT_TRUE(ConvTester(desc)
                        .Algorithm(algorithm)
                        .Data(kKinds[i % 3])
                        .Seed(static_cast<uint64_t>(seed + i))
                        .Threads(1 + static_cast<int>(i % 5))
                        .Run())
            << "case " << i;
      }
    }
  });
}

// Sums of one output have one order: whatever the place in the row, the width of the strip and the edge beside it.
TEST(IdleLanes, SameBitsEverywhere) {
  ForEachIsa([](Isa) {
    for (const auto& [groups, ic, oc] : {Channels{1, 19, 1}, {1, 21, 3}, {1, 13, 4}, {1, 17, 17},
                                         {4, 4, 4}, {5, 3, 3}, {3, 6, 2}}) {
      const std::string algorithm = groups == 1 ? "splitk" : "grouped";
      std::vector<float> first;
      for (int64_t width = 3; width <= 40; ++width) {
        // Every pixel holds the same, so that all inner outputs of a channel must be equal.
        ConvDesc desc = Desc(groups, ic, oc, {3, width}, 3);
        desc.pad = {};
        const Result<Conv> conv = Conv::Create(desc, {.algorithm = algorithm});
        ASSERT_TRUE(conv.ok()) << conv.status().message();
        std::vector<float> pixel(static_cast<size_t>(desc.ic)), src, weights(static_cast<size_t>(desc.oc * ic * 9));
        FillDense(pixel.data(), pixel.size(), DataKind::kReal, 3);
        FillDense(weights.data(), weights.size(), DataKind::kReal, 4);
        for (int64_t i = 0; i < 3 * width; ++i) src.insert(src.end(), pixel.begin(), pixel.end());
        const Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
        ASSERT_TRUE(packed.ok());
        std::vector<float> dst(static_cast<size_t>(desc.oc * (width - 2)));
        ASSERT_TRUE(conv->Run(src.data(), *packed, dst.data()).ok());
        if (first.empty()) first.assign(dst.begin(), dst.begin() + desc.oc);
        for (int64_t x = 0; x < width - 2; ++x) {
          const std::vector<float> here(dst.begin() + x * desc.oc, dst.begin() + (x + 1) * desc.oc);
          ASSERT_TRUE(SameBits(first, here)) << "width " << width << " x " << x;
        }
      }
    }
  });
}

// Image size and threads must not decide between these algorithms and those with another order of the sum.
TEST(IdleLanes, ChoiceBelongsToTheLayer) {
  ForEachIsa([](Isa) {
    for (int64_t oc = 1; oc <= 40; ++oc) {
      for (const int64_t ic : {16, 64}) {
        for (const int64_t kernel : {1, 3}) {
          std::string first;
          for (const int64_t width : {7, 8, 13, 14, 28, 33, 56, 112}) {
            for (const int threads : {1, 2, 4}) {
              const Result<Conv> conv = Conv::Create(Desc(1, ic, oc, {width, width}, kernel),
                                                     {.threads = threads, .accuracy = Accuracy::kStrict});
              ASSERT_TRUE(conv.ok());
              std::string family = conv->algorithm();
              if (family == "pointwise") family = "direct";  // the same order
              if (first.empty()) first = family;
              ASSERT_EQ(first, family) << ic << " to " << oc << " " << kernel << " at " << width;
            }
          }
        }
      }
    }
  });
}

// In NCHW the image may decide, too, but not the batch and not the threads.
TEST(IdleLanes, BatchAndThreadsDoNotDecideInNchw) {
  const auto order_of = [](const ConvDesc& desc, int threads) {
    const Result<Conv> conv = Conv::Create(desc, {.threads = threads});
    EXPECT_TRUE(conv.ok());
    const std::string name = conv.ok() ? conv->algorithm() : "";
    return name.starts_with("splitk") ? "lanes" : name.starts_with("winograd") ? name : "layer";
  };
  ForEachIsa([&](Isa) {
    for (int64_t oc = 1; oc <= 24; ++oc) {
      for (const int64_t ic : {4, 16}) {
        for (const int64_t kernel : {1, 3}) {
          for (const int64_t width : {3, 5, 8, 14, 28, 56}) {
            ConvDesc desc = Desc(1, ic, oc, {width, width}, kernel);
            desc.src.layout = desc.dst.layout = Layout::kNchw;
            const std::string first = order_of(desc, 1);
            for (const int64_t n : {1, 20}) {
              desc.n = n;
              for (const int threads : {1, 2, 4}) {
                ASSERT_EQ(first, order_of(desc, threads)) << ic << " to " << oc << " " << kernel << " at " << width;
              }
            }
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
