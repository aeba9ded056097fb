// Kernels depend on tiles and tails, not on image sizes: over many sizes of one layer their number stays small.
#include <gtest/gtest.h>

#include <cstdint>

#include "jit/code_cache.h"
#include "jit/isa.h"
#include "rafter/conv.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/random_tensor.h"

namespace rafter::testing {
namespace {

void CheckPlateau(ConvDesc desc, const char* algorithm = "", size_t most = 64,
                  int64_t narrow = 40) {
  ClearKernelCache();
  Random random(3);
  const auto plan = [&](int64_t height, int64_t width) {
    desc.in = {height, width};
    const Accuracy accuracy = *algorithm == '\0' ? Accuracy::kStrict : Accuracy::kDefault;
    const Result<Conv> conv = Conv::Create(desc, {.accuracy = accuracy, .algorithm = algorithm});
    if (conv.ok()) return;
    ASSERT_EQ(conv.status().code(), StatusCode::kInvalidArgument) << conv.status().message();
  };
  for (int64_t width = 1; width <= narrow; ++width) {  // rare among the random ones
    plan(1, width);
    plan(30, width);
  }
  for (int i = 0; i < 1000; ++i) plan(random.Between(1, 300), random.Between(1, 300));
  // With 32 registers tiles come in more sizes: up to 154 kernels for 3x3 where 16 registers need fewer than 64.
  const size_t more = jit::GetIsaInfo(EffectiveIsa()).num_vecs >= 32 ? 3 : 1;
  EXPECT_LE(jit::GetCodeCacheStats().kernels, more * most);
  const uint64_t before = jit::GetCodeCacheStats().misses;
  for (int i = 0; i < 300; ++i) plan(random.Between(1, 300), random.Between(1, 300));
  EXPECT_EQ(jit::GetCodeCacheStats().misses, before) << "sizes like those seen compile nothing";
}

TEST(KernelCount, ReachesAPlateau) {
  ForEachIsa([](Isa) {
    ConvDesc desc;
    desc.ic = 64, desc.oc = 72, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
    CheckPlateau(desc);
    desc.stride = {2, 2};
    CheckPlateau(desc);
    desc.stride = {1, 1}, desc.dilation = {12, 12}, desc.pad = {12, 12, 12, 12};
    CheckPlateau(desc);
    desc.ic = 3, desc.kernel = {7, 7}, desc.dilation = {1, 1}, desc.stride = {2, 2}, desc.pad = {3, 3, 3, 3};
    CheckPlateau(desc);
    desc.ic = 100, desc.kernel = {1, 1}, desc.stride = {1, 1}, desc.pad = {};
    CheckPlateau(desc);
    desc.dst.layout = Layout::kNchw16c;
    CheckPlateau(desc);
  });
}

TEST(KernelCount, OfWidthwiseReachesAPlateau) {
  ForEachIsa([](Isa) {
    ConvDesc desc;
    desc.src.layout = desc.dst.layout = Layout::kNchw;
    for (const int64_t oc : {1, 3, 8}) {
      for (const int64_t stride : {1, 2, 4}) {
        desc.ic = 4, desc.oc = oc, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1}, desc.stride = {stride, stride};
        CheckPlateau(desc, "widthwise", 160, 300);
      }
      desc.kernel = {1, 1}, desc.pad = {}, desc.stride = {1, 1};
      CheckPlateau(desc, "widthwise", 160, 300);
      desc.ic = 100;
      CheckPlateau(desc, "widthwise", 160, 300);
      desc.ic = 3, desc.kernel = {7, 7}, desc.pad = {3, 3, 3, 3};
      CheckPlateau(desc, "widthwise", 160, 300);
    }
  });
}

// Planes of few short rows have kernels of their own; over all sizes there are no more than so many.
TEST(KernelCount, OfDepthwiseInNchwIsBounded) {
  struct Layer {
    Size2 kernel;
    int64_t stride;
    size_t most;
  };
  ForEachIsa([](Isa) {
    for (const Layer& layer : {Layer{{3, 3}, 1, 132}, Layer{{3, 3}, 2, 184}, Layer{{5, 5}, 1, 100},
                               Layer{{5, 5}, 2, 120}, Layer{{1, 7}, 1, 168}, Layer{{7, 1}, 1, 112}}) {
      ClearKernelCache();
      Random random(3);
      ConvDesc desc;
      desc.groups = desc.ic = desc.oc = 64, desc.kernel = layer.kernel, desc.stride = {layer.stride, layer.stride};
      desc.pad = {layer.kernel.h / 2, layer.kernel.w / 2, layer.kernel.h / 2, layer.kernel.w / 2};
      desc.src.layout = desc.dst.layout = Layout::kNchw;
      const auto plan = [&](int64_t height, int64_t width) {
        desc.in = {height, width};
        EXPECT_TRUE(Conv::Create(desc, {.algorithm = "depthwise"}).ok()) << height << "x" << width;
      };
      for (int64_t height = 1; height <= 24; ++height)
        for (int64_t width = 1; width <= 24; ++width) plan(height, width);
      for (int64_t width = 25; width <= 300; ++width) plan(30, width);
      for (int i = 0; i < 500; ++i) plan(random.Between(1, 300), random.Between(1, 300));
      const size_t more = jit::GetIsaInfo(EffectiveIsa()).num_vecs >= 32 ? 3 : 1;
      EXPECT_LE(jit::GetCodeCacheStats().kernels, more * layer.most) << layer.kernel.h << "x" << layer.kernel.w;
    }
  });
}

TEST(KernelCount, OfWinogradReachesAPlateau) {
  ForEachIsa([](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      ConvDesc desc;
      desc.ic = 64, desc.oc = 72, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
      desc.src.layout = desc.dst.layout = layout;
      CheckPlateau(desc, "winograd_f4", 96, 300);
    }
  });
}

TEST(KernelCount, OfGemmReachesAPlateau) {
  ForEachIsa([](Isa) {
    ConvDesc desc;
    desc.src.layout = desc.dst.layout = Layout::kNchw;
    desc.ic = 500, desc.oc = 75;
    CheckPlateau(desc, "gemm", 64, 300);
    desc.ic = 20, desc.kernel = {3, 3}, desc.pad = {1, 1, 1, 1};
    CheckPlateau(desc, "gemm", 64, 300);
  });
}

}  // namespace
}  // namespace rafter::testing
