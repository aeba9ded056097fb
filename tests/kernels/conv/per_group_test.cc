// Grouped convolutions in NCHW, group by group: images, strides, residuals, threads, and who is left out.
#include "kernels/conv/per_group.h"

#include <gtest/gtest.h>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::testing {
namespace {

ConvDesc Desc(int64_t groups, int64_t ic_g, int64_t oc_g, int64_t kernel) {
  ConvDesc desc;
  desc.groups = groups, desc.ic = groups * ic_g, desc.oc = groups * oc_g, desc.n = 2;
  desc.in = {9, 11}, desc.kernel = {kernel, kernel}, desc.stride = {2, 2};
  desc.pad = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  return desc;
}

TEST(PerGroup, EveryGroupOfEveryImage) {
  ForEachIsa([](Isa) {
    for (const int64_t groups : {4, 7}) {
      for (const int64_t channels : {16, 21, 40}) {
        for (const int64_t kernel : {1, 3}) {
          ConvDesc desc = Desc(groups, channels, channels + 3, kernel);
          ASSERT_TRUE(per_group::Applies(*Validate(desc)));
          const char* algorithm = kernel == 1 ? "pointwise+reorder" : "direct+reorder";
          for (const int threads : {1, 3}) {
            ASSERT_TRUE(ConvTester(desc).Algorithm(algorithm).Threads(threads).Run()) << groups << " x " << channels;
            ASSERT_TRUE(ConvTester(desc).Algorithm(algorithm).Threads(threads).Bias(false).Run());
          }
          desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
          ASSERT_TRUE(ConvTester(desc).Algorithm(algorithm).ResidualInPlace().Run()) << groups << " x " << channels;
          ASSERT_TRUE(ConvTester(desc).Algorithm(algorithm).Threads(2).Run()) << groups << " x " << channels;
        }
      }
    }
  });
}

TEST(PerGroup, BitsOfOneGroupAlone) {
  ForEachIsa([](Isa) {
    const ConvDesc desc = Desc(4, 32, 32, 3);
    ConvTester one(desc), three(desc);
    ASSERT_TRUE(one.Algorithm("direct+reorder").Run());
    ASSERT_TRUE(three.Algorithm("direct+reorder").Threads(3).Run());
    EXPECT_EQ(one.output(), three.output());
  });
}

TEST(PerGroup, FewGroupsFewChannelsAndScalesStayWhole) {
  EXPECT_FALSE(per_group::Applies(*Validate(Desc(2, 32, 32, 3))));
  EXPECT_FALSE(per_group::Applies(*Validate(Desc(8, 8, 32, 3))));
  EXPECT_FALSE(per_group::Applies(*Validate(Desc(8, 32, 8, 3))));
  ConvDesc desc = Desc(4, 16, 16, 3);
  desc.src.layout = Layout::kNhwc;
  EXPECT_FALSE(per_group::Applies(*Validate(desc)));
  desc = Desc(4, 16, 16, 3);
  desc.post_ops = {PostOp::ChannelScale(std::vector<float>(64, 2.0F))};
  EXPECT_FALSE(per_group::Applies(*Validate(desc)));
  EXPECT_TRUE(ConvTester(desc).Algorithm("direct+reorder").Run());
}

}  // namespace
}  // namespace rafter::testing
