// Segments of outputs in closed form against one output after the other.
#include "kernels/pooling/segments.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "kernels/pooling/plan.h"
#include "rafter/pool.h"

namespace rafter::pooling {
namespace {

std::vector<Segment> OneByOne(const PoolingDesc& desc, const PoolAxis& axis) {
  std::vector<Segment> segments;
  for (int64_t o = 0; o < axis.out; ++o) {
    const Segment segment{o, 1, axis.Taps(o), DivisorTaps(desc, axis, o)};
    if (segments.empty() || segments.back().taps != segment.taps || segments.back().divisor != segment.divisor) {
      segments.push_back(segment);
    } else {
      ++segments.back().count;
    }
  }
  return segments;
}

TEST(PoolingSegments, AreThoseOfEachOutput) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  int checked = 0;
  for (int i = 0; i < 20000; ++i) {
    PoolingDesc desc;
    desc.kind = i % 2 == 0 ? PoolingKind::kAverage : PoolingKind::kMax;
    desc.n = 1, desc.c = 1;
    desc.in = {draw(1, 20), draw(1, 20)};
    desc.kernel = {draw(1, 9), draw(1, 9)};
    desc.stride = {draw(1, 7), draw(1, 7)};
    desc.dilation = {draw(1, 5), draw(1, 5)};
    desc.pad = {draw(0, 12), draw(0, 12), draw(0, 12), draw(0, 12)};
    desc.ceil_mode = draw(0, 1) == 1;
    desc.count_include_pad = draw(0, 1) == 1;
    const Result<PoolingProblem> problem = Validate(desc);
    if (!problem.ok()) continue;
    for (const PoolAxis& axis : {problem->h, problem->w}) {
      const Result<std::vector<Segment>> segments = SegmentsOf(desc, axis);
      ASSERT_TRUE(segments.ok());
      ASSERT_EQ(*segments, OneByOne(desc, axis)) << "in " << axis.in << " kernel " << axis.kernel << " stride "
                                                 << axis.stride << " dilation " << axis.dilation << " padding "
                                                 << axis.pad_begin << ", " << axis.pad_end;
    }
    ++checked;
  }
  EXPECT_GT(checked, 10000);
}

// The time of planning depends on the window only.
TEST(PoolingSegments, OfBillionsOfOutputsAreFoundAtOnce) {
  constexpr int64_t kBillion = 1'000'000'000;
  const auto begin = std::chrono::steady_clock::now();
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw8c}) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (const Size2 in : {Size2{1000 * kBillion, 3}, Size2{3, 1000 * kBillion}}) {
        PoolingDesc desc;
        desc.kind = kind;
        desc.n = 1, desc.c = 8;
        desc.in = in, desc.kernel = {3, 3}, desc.stride = {1, 1}, desc.pad = {1, 1, 1, 1};
        desc.src.layout = desc.dst.layout = layout;
        EXPECT_EQ(Pooling::Create(desc, {.threads = 1}).status().message(), "");
        (in.h > in.w ? desc.pad.top : desc.pad.left) = 5 * kBillion;
        (in.h > in.w ? desc.pad.bottom : desc.pad.right) = 5 * kBillion;
        EXPECT_EQ(Pooling::Create(desc, {.threads = 1}).status().message(), "");
        desc.kernel = {in.h, in.w};  // every window another one: plain loops
        EXPECT_EQ(Pooling::Create(desc, {.threads = 1}).status().message(), "");
      }
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

}  // namespace
}  // namespace rafter::pooling
