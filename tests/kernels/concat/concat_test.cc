// Concatenations along every axis against the reference: layouts mixed, tails inside blocks, slices, free inputs.
#include "rafter/concat.h"

#include <gtest/gtest.h>

#include <memory>

#include "kernels/concat/problem.h"
#include "kernels/concat/reference.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_tensor.h"
#include "tests/support/inline_threads.h"

namespace rafter {
namespace {

using testing::Guard;
using testing::GuardedTensor;
using testing::Slack;

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};

struct Case {
  Axis axis = Axis::kC;
  TensorShape shared{1, 16, 5, 7};
  std::vector<int64_t> sizes{};
  std::vector<Layout> layouts{};  // one per input, or one for all
  Layout dst = Layout::kNhwc;
  Slack slack{};                  // of the result and of every other input
  int threads = 1;
};

void Check(const Case& c) {
  SCOPED_TRACE(std::string(LayoutName(c.layouts[0])) + " to " + LayoutName(c.dst) + " axis " +
               std::to_string(static_cast<int>(c.axis)) + " sizes " + std::to_string(c.sizes[0]) + ", …");
  ConcatDesc desc;
  desc.axis = c.axis, desc.n = c.shared.n, desc.c = c.shared.c, desc.h = c.shared.h, desc.w = c.shared.w;
  const auto with = [&](int64_t size) {
    TensorShape shape = c.shared;
    (c.axis == Axis::kN ? shape.n : c.axis == Axis::kC ? shape.c : c.axis == Axis::kH ? shape.h : shape.w) = size;
    return shape;
  };
  std::vector<std::unique_ptr<GuardedTensor>> inputs;
  std::vector<const float*> pointers;
  int64_t total = 0;
  for (size_t i = 0; i < c.sizes.size(); ++i) {
    const Layout layout = c.layouts[i % c.layouts.size()];
    inputs.push_back(std::make_unique<GuardedTensor>(layout, with(c.sizes[i]), i % 2 == 1 ? c.slack : Slack{},
                                                     i % 3 == 2 ? Guard::kAtStart : Guard::kAtEnd));
    inputs.back()->Fill(testing::DataKind::kSpecials, i + 1);
    inputs.back()->MakeReadOnly();
    pointers.push_back(inputs.back()->data());
    desc.inputs.push_back({c.sizes[i], inputs.back()->format()});
    total += c.sizes[i];
  }
  GuardedTensor dst(c.dst, with(total), c.slack, Guard::kAtEnd), wanted(c.dst, with(total), c.slack, Guard::kAtEnd);
  desc.dst = dst.format();
  const Result<Concat> concat = Concat::Create(desc, {c.threads});
  ASSERT_TRUE(concat.ok()) << concat.status().message();
  EXPECT_EQ(concat->output_size(), total);
  testing::InlineThreads pool(c.threads);
  const Status status = concat->Run(pointers, dst.data(), {&pool, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  reference::RunConcat(*Validate(desc), pointers, wanted.data());
  dst.ExpectSame(wanted);
}

TEST(Concat, AlongChannels) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const std::vector<int64_t>& sizes :
             {std::vector<int64_t>{16}, {16, 32}, {64, 64, 192}, {8, 24}, {3, 5}, {1, 1, 1}, {17, 31, 16},
              {20, 12, 40}}) {
          for (const int threads : {1, 3}) Check({Axis::kC, {2, 0, 5, 7}, sizes, {from}, to, {}, threads});
          Check({Axis::kC, {1, 0, 12, 12}, sizes, {from}, to, {1, 2, 1}, 2});
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Concat, MixedLayouts) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout to : kLayouts) {
      // 8 channels in NCHW16c and a plain second input.
      Check({Axis::kC, {1, 0, 6, 6}, {8, 8}, {Layout::kNchw16c, Layout::kNchw}, to, {}, 1});
      Check({Axis::kC, {2, 0, 6, 7}, {24, 16, 9, 35}, {Layout::kNchw16c, Layout::kNchw, Layout::kNhwc, Layout::kNchw8c},
             to, {}, 2});
      Check({Axis::kC, {1, 0, 20, 21}, {5, 16, 3, 64}, {Layout::kNhwc, Layout::kNchw, Layout::kNchw8c, Layout::kNhwc},
             to, {2, 1, 0}, 2});
    }
  });
}

TEST(Concat, AlongTheOtherAxes) {
  testing::ForEachIsa([&](Isa) {
    for (const Axis axis : {Axis::kN, Axis::kH, Axis::kW}) {
      for (const Layout from : kLayouts) {
        for (const Layout to : kLayouts) {
          for (const int64_t c : {3, 16, 21}) {
            Check({axis, {2, c, 4, 5}, {1, 3, 2}, {from}, to, {}, 1});
            Check({axis, {2, c, 4, 5}, {2, 7}, {from}, to, {1, 1, 1}, 2});
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(Concat, WithoutGeneratedCode) {
  const testing::ScopedMaxIsa none(Isa::kNone);
  for (const Layout to : kLayouts) {
    Check({Axis::kC, {2, 0, 6, 7}, {24, 16, 9}, {Layout::kNchw16c, Layout::kNchw, Layout::kNhwc}, to, {}, 2});
    Check({Axis::kH, {2, 19, 6, 7}, {2, 3}, {Layout::kNchw, Layout::kNhwc}, to, {}, 1});
  }
}

// Producers that write into slices: nothing is left to copy, and nothing is written.
TEST(Concat, InputsInTheirPlaceAreNotTouched) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      const Strides whole = DenseStrides(layout, 64, 5, 7);
      ConcatDesc desc;
      desc.h = 5, desc.w = 7, desc.dst = {layout};
      desc.inputs = {{16, {layout, whole}}, {32, {layout}}, {16, {layout, whole}}};
      const Result<Concat> concat = Concat::Create(desc, {1});
      ASSERT_TRUE(concat.ok());
      GuardedTensor dst(layout, {1, 64, 5, 7}, {}, Guard::kAtEnd), second(layout, {1, 32, 5, 7}, {}, Guard::kAtEnd);
      dst.Fill(testing::DataKind::kReal, 1);
      second.Fill(testing::DataKind::kReal, 2);
      GuardedTensor wanted(layout, {1, 64, 5, 7}, {}, Guard::kAtEnd);
      wanted.Fill(testing::DataKind::kReal, 1);
      float* const d = dst.data();
      const float* inputs[] = {d, second.data(), d + concat->InputOffset(2)};
      ASSERT_TRUE(concat->Run(inputs, d).ok());
      testing::ForEachElement(second.view(), [&](int64_t n, int64_t c, int64_t h, int64_t w, int64_t offset) {
        wanted.data()[Offset(wanted.view().strides, layout, n, c + 16, h, w)] = second.data()[offset];
      });
      dst.ExpectSame(wanted);
      // All in place: works on memory that cannot be written.
      desc.inputs[1].format.strides = whole;
      const Result<Concat> free = Concat::Create(desc, {1});
      ASSERT_TRUE(free.ok());
      dst.MakeReadOnly();
      const float* places[] = {d, d + free->InputOffset(1), d + free->InputOffset(2)};
      EXPECT_TRUE(free->Run(places, d).ok());
      // The place of another input, or a part of one.
      const float* exchanged[] = {d, d + free->InputOffset(2), d + free->InputOffset(2)};
      EXPECT_EQ(free->Run(exchanged, d).code(), StatusCode::kInvalidArgument);
      const float* shifted[] = {d, d + free->InputOffset(1) + 1, d + free->InputOffset(2)};
      EXPECT_EQ(free->Run(shifted, d).code(), StatusCode::kInvalidArgument);
    }
  });
}

TEST(Concat, BadInput) {
  const auto message = [](const ConcatDesc& desc) {
    const auto concat = Concat::Create(desc);
    EXPECT_FALSE(concat.ok());
    EXPECT_EQ(concat.status().code(), StatusCode::kInvalidArgument);
    return std::string(concat.status().message());
  };
  ConcatDesc desc;
  desc.h = desc.w = 4;
  EXPECT_NE(message(desc).find("inputs: 0"), std::string::npos);
  desc.inputs = {{16}, {0}};
  EXPECT_NE(message(desc).find("inputs[1].size: 0"), std::string::npos);
  desc.inputs[1].size = int64_t{1} << 62;
  desc.inputs.push_back({int64_t{1} << 62});
  EXPECT_NE(message(desc).find("inputs: "), std::string::npos);
  desc.inputs = {{16}, {16, {static_cast<Layout>(7)}}};
  EXPECT_NE(message(desc).find("inputs[1].format.layout"), std::string::npos);
  desc.inputs = {{16}, {16}};
  desc.axis = static_cast<Axis>(9);
  EXPECT_NE(message(desc).find("axis: 9"), std::string::npos);
  desc.axis = Axis::kC;
  const auto concat = Concat::Create(desc);
  ASSERT_TRUE(concat.ok());
  std::vector<float> a(4096), dst(4096);
  const float* const* none = nullptr;
  EXPECT_EQ(concat->Run({none, 2}, dst.data()).code(), StatusCode::kInvalidArgument);
  const float* one[] = {a.data()};
  EXPECT_EQ(concat->Run(one, dst.data()).code(), StatusCode::kInvalidArgument);
  const float* null[] = {a.data(), nullptr};
  EXPECT_EQ(concat->Run(null, dst.data()).code(), StatusCode::kInvalidArgument);
  const float* two[] = {a.data(), a.data()};  // twice the same tensor is fine
  EXPECT_TRUE(concat->Run(two, dst.data()).ok());
  EXPECT_EQ(concat->Run(two, nullptr).code(), StatusCode::kInvalidArgument);
  desc.n = 0;
  EXPECT_TRUE(Concat::Create(desc)->Run({}, nullptr).ok());
}

}  // namespace
}  // namespace rafter
