// Every engine with caches so small that its blocking has several of everything: chunks of rows, passes over the input
// channels, segments of a row, blocks of output channels, outputs stored past the caches. On real caches only layers
// that are too large for a sweep get there. RAFTER_SWEEP_CASES and RAFTER_SWEEP_SEED as in random_test.cc.
#include <gtest/gtest.h>

#include <string>

#include "kernels/conv/dispatch.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/from_environment.h"
#include "tests/support/random_desc.h"
#include "tests/support/scoped_machine.h"

namespace rafter::testing {
namespace {

ScopedCaches::Sizes RandomSizes(Random& random) {
  ScopedCaches::Sizes sizes;
  sizes.l1d = int64_t{512} << random.Between(0, 6);
  sizes.l2 = sizes.l1d << random.Between(0, 5);
  sizes.l3 = sizes.l2 << random.Between(0, 8);
  return sizes;
}

ConvDesc RandomLayer(Random& random) {
  RandomDescLimits limits;
  limits.max_n = 2, limits.max_groups = 3, limits.max_post_ops = 2, limits.exact_post_ops = true;
  limits.max_channels_g = random.Between(0, 1) == 0 ? 40 : 150;
  limits.max_image = 26, limits.max_kernel = random.Between(0, 2) == 0 ? 7 : 3;
  limits.max_stride = 2, limits.max_dilation = 2;
  ConvDesc desc = RandomDesc(random, limits);
  if (random.Between(0, 2) == 0) desc.kernel = {1, 1}, desc.pad = {}, desc.dilation = {1, 1};
  if (random.Between(0, 1) == 0) desc.dst.layout = desc.src.layout, desc.dst.strides = {};
  if (random.Between(0, 3) == 0) desc.groups = desc.oc = desc.ic, desc.src.strides = desc.dst.strides = {};
  for (PostOp& op : desc.post_ops) {
    op.residual_strides.reset();
    if (op.kind == PostOpKind::kChannelScale) op.scale.assign(static_cast<size_t>(desc.oc), 2);
  }
  return desc;
}

// Whether `algorithm` takes the layer at all.
bool Takes(const ConvDesc& desc, const std::string& algorithm) {
  ConvOptions options;
  options.algorithm = algorithm;
  return Conv::Create(desc, options).ok();
}

TEST(SmallCaches, EveryEngine) {
  const int64_t seed = FromEnvironment("RAFTER_SWEEP_SEED", 1);
  ForEachIsa([&](Isa) {
    Random random(static_cast<uint64_t>(seed) + 77);
    for (int64_t i = 0; i < FromEnvironment("RAFTER_SWEEP_CASES", 300); ++i) {
      const ConvDesc desc = RandomLayer(random);
      const ScopedCaches caches(RandomSizes(random));
      for (const ConvAlgorithm& algorithm : ConvAlgorithms()) {
        const std::string name = algorithm.name;
        if (name == "reference" || !Takes(desc, name)) continue;
        const bool transforms = algorithm.order == SumOrder::kTiles;
        ConvTester tester(desc);
        if (transforms) tester.Transforms();
        tester.Algorithm(name).Data(transforms ? DataKind::kReal : DataKind::kInteger);
        ASSERT_TRUE(tester.Seed(static_cast<uint64_t>(i)).Threads(1 + static_cast<int>(i % 4)).Run())
            << "case " << i << ", " << name;
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
