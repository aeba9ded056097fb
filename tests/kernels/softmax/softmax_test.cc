// Softmax against the oracle: layout x channels x pixels x slice x in place x threads, between guard pages, on every
// instruction set; NaN and infinities; calls that must be refused.
#include "rafter/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/softmax/problem.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/inline_threads.h"
#include "tests/support/random_tensor.h"

namespace rafter {
namespace {

using testing::DataKind;
using testing::Guard;
using testing::GuardedBuffer;
using testing::TensorView;

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};

SoftmaxDesc DescOf(Layout layout, int64_t n, int64_t c, int64_t h, int64_t w) {
  SoftmaxDesc desc{.n = n, .c = c, .h = h, .w = w};
  desc.src.layout = desc.dst.layout = layout;
  return desc;
}

void Check(const SoftmaxDesc& desc, bool in_place, ParallelFor* threads = nullptr, int count = 1, float scale = 8) {
  const Result<SoftmaxProblem> problem = Validate(desc);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const TensorView src_view{problem->layout(), problem->src, desc.n, desc.c, desc.h, desc.w};
  const TensorView dst_view{problem->layout(), problem->dst, desc.n, desc.c, desc.h, desc.w};
  GuardedBuffer src(static_cast<size_t>(src_view.Span())), other(static_cast<size_t>(dst_view.Span()));
  FillTensor(src_view, src.data(), DataKind::kReal, 1);
  ForEachElement(src_view, [&](int64_t, int64_t, int64_t, int64_t, int64_t at) { src[at] *= scale; });
  std::vector<float> want(other.size(), testing::Poison());
  reference::RunSoftmax(*problem, src.data(), want.data(), {0, desc.n * desc.h});
  const Result<Softmax> softmax = Softmax::Create(desc, {.threads = count});
  ASSERT_TRUE(softmax.ok()) << softmax.status().message();
  SCOPED_TRACE(std::string(LayoutName(desc.src.layout)) + " c" + std::to_string(desc.c) + " h" +
               std::to_string(desc.h) + " w" + std::to_string(desc.w) + " " + softmax->kernel_name());
  float* dst = in_place ? src.data() : other.data();
  ASSERT_TRUE(softmax->Run(src.data(), dst, {.threads = threads}).ok());
  size_t wrong = 0;
  for (size_t i = 0; i < want.size() && wrong < 5; ++i) {
    if (testing::IsPoison(want[i]) ? testing::IsPoison(dst[i])
                                   : std::fabs(dst[i] - want[i]) <= 1e-7f + 2e-6f * want[i]) {
      continue;
    }
    ADD_FAILURE() << "element " << i << ": " << dst[i] << " instead of " << want[i];
    ++wrong;
  }
  EXPECT_TRUE(src.SlackIntact() && other.SlackIntact());
}

TEST(Softmax, EveryLayoutAndTail) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      for (const int64_t c : {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 47, 64, 100, 1001}) {
        for (const bool in_place : {false, true}) Check(DescOf(layout, 2, c, 3, 5), in_place);
      }
      for (int64_t w = 1; w <= 40; ++w) Check(DescOf(layout, 1, 10, 2, w), w % 2 == 0);
    }
  });
}

TEST(Softmax, SlicesAndThreads) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      SoftmaxDesc desc = DescOf(layout, 2, 19, 5, 7);
      const int64_t wide = layout == Layout::kNchw16c ? 48 : 32;
      desc.src.strides = DenseStrides(layout, wide, 6, 9);
      desc.dst.strides = DenseStrides(layout, wide + 16, 7, 8);
      Check(desc, false);
      testing::InlineThreads pool(3);
      Check(DescOf(layout, 2, 300, 17, 19), false, &pool, 3);
      Check(DescOf(layout, 1, 300, 23, 19), true, &pool, 3);
      EXPECT_GT(pool.runs(), 0);
    }
  });
}

TEST(Softmax, LargeValuesDoNotOverflow) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      Check(DescOf(layout, 1, 21, 2, 9), false, nullptr, 1, 1e4f);
      Check(DescOf(layout, 1, 21, 2, 9), false, nullptr, 1, 1e38f);
    }
  });
}

TEST(Softmax, NanAndInfinity) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (const int64_t c : {1, 5, 8, 21, 40}) {
        for (int64_t at = 0; at < c; ++at) {
          for (const float special : {kNan, kInf, -kInf}) {
            std::vector<float> src(static_cast<size_t>(c), 1.0f), dst(src.size());
            src[static_cast<size_t>(at)] = special;
            const Result<Softmax> softmax = Softmax::Create(DescOf(layout, 1, c, 1, 1));
            ASSERT_TRUE(softmax.ok());
            ASSERT_TRUE(softmax->Run(src.data(), dst.data()).ok());
            for (int64_t i = 0; i < c; ++i) {
              const float got = dst[static_cast<size_t>(i)];
              if (special == -kInf && c > 1) {
                EXPECT_NEAR(got, i == at ? 0.0f : 1.0f / static_cast<float>(c - 1), 1e-6);
              } else {
                EXPECT_TRUE(std::isnan(got)) << c << " channels, " << special << " in " << at;
              }
            }
          }
        }
      }
    }
  });
}

TEST(Softmax, BadInputIsRefused) {
  EXPECT_EQ(Softmax::Create(DescOf(Layout::kNhwc, 1, 0, 1, 1)).status().message(),
            "c: 0 is too small, allowed: 1 and above");
  SoftmaxDesc mixed = DescOf(Layout::kNhwc, 1, 4, 1, 1);
  mixed.dst.layout = Layout::kNchw;
  EXPECT_EQ(Softmax::Create(mixed).status().message(), "dst.layout: 1 differs from the source's, allowed: NHWC");
  const Result<Softmax> softmax = Softmax::Create(DescOf(Layout::kNhwc, 1, 8, 1, 1));
  ASSERT_TRUE(softmax.ok());
  std::vector<float> data(20);
  for (const Status& status :
       {softmax->Run(nullptr, data.data()), softmax->Run(data.data(), nullptr), softmax->Run(data.data(), &data[3]),
        softmax->Run(data.data(), data.data(), {.max_threads = -1})}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace rafter
