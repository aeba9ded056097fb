// Every tail: output channels, input channels, row widths, in every pair of layouts, on every instruction set.
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"

namespace rafter::testing {
namespace {

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};

ConvDesc Desc(int64_t ic, int64_t oc, Size2 in, int64_t kernel, Layout src, Layout dst) {
  ConvDesc desc;
  desc.ic = ic, desc.oc = oc, desc.in = in, desc.kernel = {kernel, kernel};
  const int64_t pad = kernel / 2;
  desc.pad = {pad, pad, pad, pad};
  desc.src.layout = src, desc.dst.layout = dst;
  return desc;
}

TEST(Tails, OutputChannels) {
  ForEachIsa([](Isa) {
    for (const Layout src : kLayouts) {
      for (const Layout dst : kLayouts) {
        for (int64_t oc = 1; oc <= 50; ++oc) {
          ConvDesc desc = Desc(17, oc, {3, 5}, 3, src, dst);
          if (oc % 2 == 0) {
            desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu(),
                             PostOp::ChannelScale(std::vector<float>(static_cast<size_t>(oc), 2.0f))};
          }
          ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Threads(1 + static_cast<int>(oc % 3)).Run());
        }
      }
    }
  });
}

TEST(Tails, InputChannels) {
  ForEachIsa([](Isa) {
    for (const Layout src : kLayouts) {
      for (int64_t ic = 1; ic <= 37; ++ic) {
        for (int64_t kernel : {1, 3}) {
          const ConvDesc desc = Desc(ic, 20, {4, 6}, kernel, src, Layout::kNhwc);
          ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Run()) << "ic " << ic;
          if (kernel != 1) continue;
          ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise").Run()) << "ic " << ic;
        }
      }
    }
  });
}

TEST(Tails, RowWidths) {
  ForEachIsa([](Isa) {
    for (const Layout dst : {Layout::kNhwc, Layout::kNchw16c}) {
      for (int64_t width = 1; width <= 40; ++width) {
        for (int64_t oc : {8, 16, 24, 40, 64}) {
          ConvDesc desc = Desc(6, oc, {2, width}, 3, Layout::kNhwc, dst);
          ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Run()) << "width " << width;
          desc.stride = {1, 2};
          ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Run()) << "width " << width;
        }
      }
    }
  });
}

TEST(Tails, MatrixProductsOfEverySize) {
  ForEachIsa([](Isa) {
    for (int64_t width = 1; width <= 60; ++width) {
      const ConvDesc desc = Desc(19, 40, {1, width}, 1, Layout::kNhwc, Layout::kNhwc);
      ASSERT_TRUE(ConvTester(desc).Algorithm("pointwise").Run()) << "width " << width;
    }
  });
}

TEST(Tails, Widthwise) {
  ForEachIsa([](Isa) {
    for (int64_t width = 1; width <= 120; width += width < 60 ? 1 : 7) {
      for (const int64_t oc : {1, 2, 4, 7}) {
        for (const int64_t kernel : {1, 3, 5}) {
          ConvDesc desc = Desc(5, oc, {5, width}, kernel, Layout::kNchw, Layout::kNchw);
          ASSERT_TRUE(ConvTester(desc).Algorithm("widthwise").Run()) << "width " << width << " oc " << oc;
          desc.stride = {1, 2};
          ASSERT_TRUE(ConvTester(desc).Algorithm("widthwise").Run()) << "stride 2, width " << width << " oc " << oc;
        }
      }
    }
  });
}

// Channels of many groups: none, one or several vectors each.
TEST(Tails, Groups) {
  ForEachIsa([](Isa) {
    for (const Layout layout : kLayouts) {
      for (int64_t groups : {2, 3, 8}) {
        for (int64_t ic_g : {1, 4, 16, 20}) {
          for (int64_t oc_g : {1, 4, 8, 16, 17}) {
            ConvDesc desc = Desc(groups * ic_g, groups * oc_g, {4, 5}, 3, layout, layout);
            desc.groups = groups;
            ASSERT_TRUE(ConvTester(desc).Algorithm("direct").Run())
                << "groups " << groups << " of " << ic_g << " to " << oc_g;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace rafter::testing
