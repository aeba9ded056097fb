// Rows that inputs share, against the reference, between guard pages: stores past the caches by whole lines and by way
// of a buffer, which the choice by size would leave to tensors beyond the caches. Plain ones are in concat_test.cc.
#include "kernels/concat/join.h"

#include <gtest/gtest.h>

#include <memory>

#include "kernels/concat/reference.h"
#include "kernels/store_choice.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_tensor.h"

namespace rafter {
namespace {

using testing::Guard;
using testing::GuardedTensor;
using testing::Slack;

struct Case {
  Axis axis = Axis::kC;
  TensorShape shared{};
  std::vector<int64_t> sizes{};
  Slack dst_slack{};
  int64_t misaligned = 0;
};

void Check(Isa isa, const Case& c, bool past_caches) {
  SCOPED_TRACE("axis " + std::to_string(static_cast<int>(c.axis)) + " sizes " + std::to_string(c.sizes[0]) + ", …");
  const Layout layout = c.axis == Axis::kC ? Layout::kNhwc : Layout::kNchw;
  ConcatDesc desc;
  desc.axis = c.axis, desc.n = c.shared.n, desc.c = c.shared.c, desc.h = c.shared.h, desc.w = c.shared.w;
  const auto with = [&](int64_t size) {
    TensorShape shape = c.shared;
    (c.axis == Axis::kC ? shape.c : shape.w) = size;
    return shape;
  };
  std::vector<std::unique_ptr<GuardedTensor>> inputs;
  std::vector<const float*> pointers;
  int64_t total = 0;
  for (size_t i = 0; i < c.sizes.size(); ++i) {
    inputs.push_back(std::make_unique<GuardedTensor>(layout, with(c.sizes[i]), Slack{},
                                                     i % 2 == 1 ? Guard::kAtStart : Guard::kAtEnd));
    inputs.back()->Fill(testing::DataKind::kReal, i + 1);
    inputs.back()->MakeReadOnly();
    pointers.push_back(inputs.back()->data());
    desc.inputs.push_back({c.sizes[i], inputs.back()->format()});
    total += c.sizes[i];
  }
  GuardedTensor dst(layout, with(total), c.dst_slack, Guard::kAtStart, c.misaligned);
  GuardedTensor wanted(layout, with(total), c.dst_slack, Guard::kAtStart, c.misaligned);
  desc.dst = dst.format();
  const Result<ConcatProblem> problem = Validate(desc);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  ASSERT_TRUE(concat::Join::Takes(*problem));
  const Result<concat::Join> join = concat::Join::Make(*problem, isa, past_caches);
  ASSERT_TRUE(join.ok()) << join.status().message();
  // As two threads would share it.
  const int64_t half = join->units() / 2;
  join->Run(pointers, dst.data(), {half, join->units()});
  join->Run(pointers, dst.data(), {0, half});
  FinishStores();
  reference::RunConcat(*problem, pointers, wanted.data());
  dst.ExpectSame(wanted);
}

TEST(Join, PlainAndPastTheCaches) {
  testing::ForEachIsa([&](Isa isa) {
    for (const Axis axis : {Axis::kC, Axis::kW}) {
      const TensorShape shared = axis == Axis::kC ? TensorShape{2, 0, 19, 23} : TensorShape{2, 19, 23, 0};
      for (const std::vector<int64_t>& sizes : {std::vector<int64_t>{16, 32}, {64, 192, 256}, {56, 56}, {1, 1}, {7},
                                                {3, 17, 4}, {255, 254}, {8, 8, 8, 8, 8, 8, 8, 8}, {33, 130}}) {
        for (const int64_t misaligned : {0, 1, 8}) {
          for (const bool past_caches : {false, true}) {
            Check(isa, {axis, shared, sizes, {}, misaligned}, past_caches);
            Check(isa, {axis, shared, sizes, {1, 2, 1}, misaligned}, past_caches);
          }
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Join, LeavesTheRest) {
  const auto takes = [](Axis axis, const std::vector<ConcatInput>& inputs, Layout dst) {
    ConcatDesc desc;
    desc.axis = axis, desc.c = 4, desc.h = 5, desc.w = 6;
    desc.dst.layout = dst;
    for (const ConcatInput& input : inputs) desc.inputs.push_back(input);
    const Result<ConcatProblem> problem = Validate(desc);
    return problem.ok() && concat::Join::Takes(*problem);
  };
  const auto in = [](int64_t size, Layout layout) { return ConcatInput{size, {layout, {}}}; };
  const Layout nhwc = Layout::kNhwc, nchw = Layout::kNchw;
  EXPECT_TRUE(takes(Axis::kC, {in(256, nhwc), in(256, nhwc)}, nhwc));
  EXPECT_FALSE(takes(Axis::kC, {in(256, nhwc), in(257, nhwc)}, nhwc));  // long rows
  EXPECT_FALSE(takes(Axis::kC, {in(16, nhwc), in(16, nchw)}, nhwc));
  EXPECT_FALSE(takes(Axis::kC, {in(16, nchw), in(16, nchw)}, nchw));  // planes
  EXPECT_FALSE(takes(Axis::kW, {in(16, nhwc), in(16, nhwc)}, nhwc));
  EXPECT_TRUE(takes(Axis::kW, {in(16, nchw), in(16, nchw)}, nchw));
  EXPECT_FALSE(takes(Axis::kH, {in(16, nchw), in(16, nchw)}, nchw));
  EXPECT_FALSE(takes(Axis::kC, std::vector<ConcatInput>(9, in(1, nhwc)), nhwc));
}

}  // namespace
}  // namespace rafter
