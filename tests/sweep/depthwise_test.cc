// Depthwise convolutions against the reference: kernels, strides, dilations, paddings, channels,
// multipliers and layouts, drawn at random with a fixed seed. RAFTER_SWEEP_CASES and
// RAFTER_SWEEP_SEED choose how many and which.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <utility>

#include "jit/code_cache.h"
#include "runtime/machine_model.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/from_environment.h"
#include "tests/support/random_desc.h"

namespace rafter::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw16c, Layout::kNchw, Layout::kNchw8c};

template <typename T, size_t kCount>
T OneOf(Random& random, const T (&values)[kCount]) {
  return values[random.Between(0, static_cast<int64_t>(kCount) - 1)];
}

// An axis with few outputs, so that the reference stays cheap whatever the kernel.
void DrawAxis(Random& random, int64_t* in, int64_t* kernel, int64_t* stride, int64_t* dilation,
              int64_t* pad_begin, int64_t* pad_end) {
  constexpr int64_t kKernels[] = {1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 31};
  constexpr int64_t kStrides[] = {1, 1, 1, 2, 2, 3, 5}, kDilations[] = {1, 1, 1, 2, 12};
  *kernel = OneOf(random, kKernels);
  *stride = OneOf(random, kStrides), *dilation = OneOf(random, kDilations);
  *in = random.Between(1, random.Between(0, 3) == 0 ? 60 : 20);
  *pad_begin = Skewed(random, 0, *kernel + 1);
  *pad_end = random.Between(0, 1) == 0 ? *pad_begin : Skewed(random, 0, *kernel + 1);
  const int64_t extent = *dilation * (*kernel - 1) + 1;
  if (extent > *in + *pad_begin + *pad_end)
    *pad_end = extent - *in - *pad_begin + random.Between(0, 2);
}

ConvDesc Draw(Random& random, bool exact) {
  constexpr int64_t kLarge[] = {113, 128, 255, 256, 257, 384};  // pixels at distances with and without powers of two
  constexpr int64_t kMultipliers[] = {1, 1, 1, 1, 2, 3, 4, 8, 11};
  ConvDesc desc;
  desc.n = Skewed(random, 1, 3);
  desc.ic = random.Between(0, 9) == 0 ? OneOf(random, kLarge) : random.Between(1, 40);
  desc.groups = desc.ic;
  desc.oc = desc.ic * (desc.ic > 40 ? 1 : OneOf(random, kMultipliers));
  DrawAxis(random, &desc.in.h, &desc.kernel.h, &desc.stride.h, &desc.dilation.h, &desc.pad.top,
           &desc.pad.bottom);
  DrawAxis(random, &desc.in.w, &desc.kernel.w, &desc.stride.w, &desc.dilation.w, &desc.pad.left,
           &desc.pad.right);
  if (random.Between(0, 5) == 0) {  // 1-D
    desc.in.h = desc.kernel.h = 1, desc.pad.top = desc.pad.bottom = 0;
  } else if (random.Between(0, 5) == 0) {
    desc.in.w = desc.kernel.w = 1, desc.pad.left = desc.pad.right = 0;
  } else if (random.Between(0, 1) == 0) {  // as most layers are
    desc.kernel.h = desc.kernel.w, desc.stride.h = desc.stride.w, desc.dilation.h = desc.dilation.w;
    desc.in.h = desc.in.w, desc.pad.top = desc.pad.left, desc.pad.bottom = desc.pad.right;
  }
  desc.src.layout = desc.dst.layout = OneOf(random, kLayouts);
  if (random.Between(0, 7) == 0) desc.dst.layout = OneOf(random, kLayouts);
  desc.bias = random.Between(0, 1) == 1;
  const int64_t post_ops = Skewed(random, 0, 2);
  for (int64_t i = 0; i < post_ops; ++i)
    desc.post_ops.push_back(RandomPostOp(random, desc.oc, exact));
  AddSlices(random, desc);
  return desc;
}

// Teams cost nothing while it lives, so that tiny problems are shared too.
class FreeTeams {
 public:
  FreeTeams() {
    MachineModel model = original_;
    model.fork_join_us = 0;
    SetMachineModel(model);
  }
  ~FreeTeams() { SetMachineModel(original_); }

 private:
  const MachineModel original_ = CurrentMachineModel();
};

void Sweep(DataKind data, bool exact_post_ops, int64_t cases) {
  const FreeTeams free_teams;
  const int64_t seed = FromEnvironment("RAFTER_SWEEP_SEED", 1);
  ForEachIsa([&](Isa) {
    Random random(static_cast<uint64_t>(seed));
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", cases); ++i) {
      const ConvDesc desc = Draw(random, exact_post_ops);
      ASSERT_TRUE(ConvTester(desc)
                      .Algorithm("depthwise")
                      .Data(data)
                      .Seed(static_cast<uint64_t>(seed + i))
                      .Threads(1 + static_cast<int>(i % 5))
                      .Run())
          << "case " << i;
    }
  });
}

ConvDesc Layer(int64_t channels, Size2 in, int64_t kernel, int64_t stride, int64_t dilation,
               Layout layout) {
  ConvDesc desc;
  desc.groups = desc.ic = desc.oc = channels, desc.in = in;
  desc.kernel = {kernel, kernel}, desc.stride = {stride, stride},
  desc.dilation = {dilation, dilation};
  const int64_t pad = kernel / 2 * dilation;
  desc.pad = {pad, pad, pad, pad};
  desc.src.layout = desc.dst.layout = layout;
  return desc;
}

// Tiles, strips and staging differ; the bits do not.
TEST(Depthwise, SameBitsForAnyThreadCount) {
  const FreeTeams free_teams;
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      for (const ConvDesc& desc :
           {Layer(40, {14, 15}, 3, 1, 1, layout), Layer(24, {15, 30}, 5, 2, 1, layout),
            Layer(20, {33, 33}, 3, 1, 12, layout), Layer(512, {7, 7}, 3, 1, 1, layout),
            Layer(512, {9, 7}, 7, 1, 1, layout)}) {
        ConvTester one(desc);
        ASSERT_TRUE(one.Algorithm("depthwise").Data(DataKind::kReal).Run());
        for (const int threads : {2, 3, 7}) {
          ConvTester many(desc);
          ASSERT_TRUE(many.Algorithm("depthwise").Data(DataKind::kReal).Threads(threads).Run());
          ASSERT_TRUE(SameBits(one.output(), many.output())) << threads << " threads";
        }
      }
    }
  });
}

// Pixels 512 bytes and rows 4096 bytes apart: how many rows roll as one block, and whether in pairs of vectors, depends
// on kernel and stride.
TEST(Depthwise, RowsThatShareSets) {
  const FreeTeams free_teams;
  ForEachIsa([](Isa) {
    for (const int64_t kernel : {2, 3, 4, 5}) {
      for (const int64_t stride : {1, 2, 3}) {
        for (const int64_t height : {1, 5, 21}) {
          const ConvDesc desc = Layer(128, {height, 8}, kernel, stride, 1, Layout::kNhwc);
          ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Threads(2).Run()) << kernel << " / " << stride;
        }
      }
    }
  });
}

// Fewer channels than lanes, which make up a pixel: all but the last outputs of a row are stored with what lies behind
// them. Pixels further apart, and residuals, are not.
TEST(Depthwise, FewChannels) {
  const FreeTeams free_teams;
  ForEachIsa([](Isa) {
    for (int64_t channels = 1; channels < 16; ++channels) {
      for (const auto& [kernel, stride, dilation] : {std::array{3, 1, 1}, {5, 2, 1}, {2, 1, 2}, {9, 1, 1}, {4, 3, 1}}) {
        for (const int64_t width : {1, 2, 9, 40}) {
          ConvDesc desc = Layer(channels, {7, width}, kernel, stride, dilation, Layout::kNhwc);
          desc.n = 2;
          const auto where = [&] { return std::to_string(channels) + " channels, kernel " + std::to_string(kernel); };
          ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Threads(3).Run()) << where();
          desc.dst.strides = DenseStrides(Layout::kNhwc, channels + 3, 16, width + 16);
          ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run()) << where();
        }
      }
    }
  });
}

TEST(Depthwise, HostileShapes) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      ConvDesc desc = Layer(17, {4, 4}, 3, 1, 1, layout);
      desc.pad = {9, 9, 9, 9};  // outputs without any tap
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run());
      desc = Layer(16, {10, 10}, 3, 1, 12, layout);  // the middle tap only
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run());
      desc = Layer(5, {3, 3}, 1, 7, 1, layout);  // stride beyond image and kernel
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run());
      desc = Layer(9, {1, 300}, 1, 1, 1, layout);  // a row of pieces
      desc.kernel = {1, 251}, desc.pad = {0, 125, 0, 125};
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run());
      std::swap(desc.in.h, desc.in.w), desc.kernel = {251, 1}, desc.pad = {125, 0, 125, 0};
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run());
      desc = Layer(33, {5, 5}, 5, 1, 1, layout);
      desc.oc = 33 * 3, desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
      ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").ResidualInPlace().Run());
    }
  });
}

// Kernels depend on tiles and on what the padding cuts off them, not on image sizes.
TEST(Depthwise, KernelCountReachesAPlateau) {
  ForEachIsa([](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      for (const int64_t kernel : {3, 5, 7}) {
        for (const int64_t stride : {1, 2}) {
          ClearKernelCache();
          Random random(3);
          const auto plan = [&](int64_t height, int64_t width) {
            ConvOptions options;
            options.algorithm = "depthwise";
            const auto conv =
                Conv::Create(Layer(40, {height, width}, kernel, stride, 1, layout), options);
            ASSERT_TRUE(conv.ok()) << conv.status().message();
          };
          for (int64_t size = 1; size <= 40; ++size) {
            for (const int64_t other : {1, 2, 3, 5, 8, 30}) plan(other, size), plan(size, other);
          }
          for (int64_t width = 1; width <= 100; ++width) plan(1, width), plan(30, width), plan(300, width);
          for (int i = 0; i < 2000; ++i) plan(random.Between(1, 300), random.Between(1, 300));
          // In NCHW small planes have kernels of their own by their rows: 142 have been seen, on another machine model.
          EXPECT_LE(jit::GetCodeCacheStats().kernels, kernel > 3 ? 192u : 160u) << kernel;
          const uint64_t before = jit::GetCodeCacheStats().misses;
          for (int i = 0; i < 300; ++i) plan(random.Between(1, 300), random.Between(1, 300));
          // How tiles are cut changes with the size of the image: a rare size may still need kernels of its own.
          EXPECT_LE(jit::GetCodeCacheStats().misses - before, 6u) << kernel;
        }
      }
    }
  });
}

// A machine whose caches hold nothing: images of any size are walked through as large ones are.
TEST(Depthwise, LargeImages) {
  const MachineModel original = CurrentMachineModel();
  MachineModel tiny = original;
  tiny.l2_bytes = tiny.l3_bytes = 1024;
  SetMachineModel(tiny);
  Sweep(DataKind::kInteger, true, 500);
  Sweep(DataKind::kSpecials, true, 300);
  ForEachIsa([](Isa) {  // pixels that share sets, 2048 and 4096 bytes apart
    for (const int64_t channels : {512, 1024}) {
      for (const int64_t stride : {1, 2}) {
        const ConvDesc desc = Layer(channels, {13, 6}, 3, stride, 1, Layout::kNhwc);
        ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Threads(3).Run()) << channels << " / " << stride;
      }
    }
  });
  SetMachineModel(original);
}

// Caches that hold part of an image: whole lines of rolling tiles go past them, kernels of one column along the rows.
TEST(Depthwise, ImagesLargerThanTheCaches) {
  const MachineModel original = CurrentMachineModel();
  MachineModel small = original;
  for (const int64_t l3 : {12 << 10, 48 << 10, 512 << 10}) {
    small.l2_bytes = l3 / 4, small.l3_bytes = l3;
    SetMachineModel(small);
    Sweep(DataKind::kInteger, true, 300);
    Sweep(DataKind::kSpecials, true, 200);
    ForEachIsa([](Isa) {
      for (const Layout layout : {Layout::kNhwc, Layout::kNchw8c, Layout::kNchw16c}) {
        for (const Size2 kernel : {Size2{3, 3}, Size2{3, 1}, Size2{9, 1}, Size2{1, 7}, Size2{40, 1}}) {
          for (const int64_t channels : {16, 40, 64, 256}) {
            ConvDesc desc = Layer(channels, {41, 19}, 3, 1, 1, layout);
            desc.kernel = kernel, desc.pad = {kernel.h / 2, kernel.w / 2, kernel.h / 2, kernel.w / 2};
            ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Threads(3).Run()) << channels << " / " << kernel.h;
            desc.post_ops.push_back(PostOp::ResidualAdd());
            ASSERT_TRUE(ConvTester(desc).Algorithm("depthwise").Run()) << channels << " / " << kernel.h;
          }
        }
      }
    });
  }
  SetMachineModel(original);
}

TEST(Depthwise, IntegersAreExact) { Sweep(DataKind::kInteger, true, 1500); }
TEST(Depthwise, RealsWithinTheBoundOfTheirSum) { Sweep(DataKind::kReal, false, 800); }
TEST(Depthwise, NanInfinityAndDenormalsReachTheirOutputsOnly) {
  Sweep(DataKind::kSpecials, true, 800);
}

}  // namespace
}  // namespace rafter::testing
