// Reorders between all layouts against the reference, between guard pages: every tail, slices, alignments, threads.
#include "rafter/reorder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/reorder/copier.h"
#include "kernels/reorder/problem.h"
#include "kernels/reorder/reference.h"
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
  TensorShape shape;
  Slack src_slack{}, dst_slack{};
  Guard guard = Guard::kAtEnd;
  int64_t misaligned = 0;
  int threads = 1;
};

void Check(Layout from, Layout to, const Case& c) {
  SCOPED_TRACE(std::string(LayoutName(from)) + " to " + LayoutName(to) + " n" + std::to_string(c.shape.n) + " c" +
               std::to_string(c.shape.c) + " h" + std::to_string(c.shape.h) + " w" + std::to_string(c.shape.w));
  GuardedTensor src(from, c.shape, c.src_slack, c.guard), dst(to, c.shape, c.dst_slack, c.guard, c.misaligned);
  GuardedTensor wanted(to, c.shape, c.dst_slack, c.guard, c.misaligned);
  src.Fill(testing::DataKind::kSpecials, 5);
  src.MakeReadOnly();
  ReorderDesc desc{c.shape.n, c.shape.c, c.shape.h, c.shape.w, src.format(), dst.format()};
  const Result<Reorder> reorder = Reorder::Create(desc, {c.threads});
  ASSERT_TRUE(reorder.ok()) << reorder.status().message();
  testing::InlineThreads pool(c.threads);
  const Status status = reorder->Run(src.data(), dst.data(), {&pool, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  const Result<ReorderProblem> problem = Validate(desc);
  ASSERT_TRUE(problem.ok());
  reference::RunReorder(*problem, src.data(), wanted.data());
  dst.ExpectSame(wanted);
}

TEST(Reorder, EveryTail) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const int64_t c : {1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 24, 31, 33, 40, 64, 67}) {
          for (const int64_t w : {1, 2, 3, 4, 5, 8, 13, 15, 16, 17}) Check(from, to, {{2, c, 3, w}});
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Reorder, SeveralPieces) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const TensorShape& shape :
             {TensorShape{1, 133, 20, 30}, TensorShape{1, 64, 1, 65}, TensorShape{1, 3, 130, 131},
              TensorShape{3, 16, 1, 67}, TensorShape{1, 5000, 1, 2}, TensorShape{1, 1, 100, 100},
              TensorShape{1, 16, 1, 8195}}) {
          for (const int threads : {1, 3}) {
            Case c{shape};
            c.threads = threads;
            c.guard = threads == 1 ? Guard::kAtStart : Guard::kAtEnd;
            Check(from, to, c);
          }
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Reorder, SlicesAndAlignments) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const Slack& slack : {Slack{1, 0, 0}, Slack{0, 2, 0}, Slack{3, 1, 2}}) {
          for (const int64_t misaligned : {0, 1, 8}) {
            for (const int64_t channels : {5, 16, 35}) {
              Case c{{2, channels, 5, 19}, slack, {}};
              c.misaligned = misaligned, c.guard = Guard::kAtStart;
              Check(from, to, c);
              c.src_slack = {}, c.dst_slack = slack;
              Check(from, to, c);
              c.src_slack = slack;
              Check(from, to, c);
            }
          }
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

// The choice by size leaves small tensors to plain stores: the engine is asked directly.
TEST(Reorder, NonTemporalStores) {
  testing::ForEachIsa([&](Isa isa) {
    for (const Layout from : kLayouts) {
      for (const Layout to : kLayouts) {
        for (const TensorShape& shape : {TensorShape{2, 16, 4, 16}, TensorShape{1, 64, 8, 24}, TensorShape{1, 48, 5, 7},
                                         TensorShape{1, 19, 30, 30}, TensorShape{2, 400, 1, 9},
                                         TensorShape{1, 70, 20, 36}, TensorShape{2, 5, 4, 36},
                                         TensorShape{1, 3, 16, 16}, TensorShape{2, 64, 8, 38},
                                         TensorShape{1, 128, 16, 25}, TensorShape{3, 32, 1, 112},
                                         TensorShape{1, 256, 4, 36}, TensorShape{1, 520, 4, 20},
                                         TensorShape{1, 71, 4, 68}, TensorShape{3, 67, 7, 7},
                                         TensorShape{2, 85, 14, 14}, TensorShape{2, 22, 4, 5},
                                         TensorShape{2, 130, 15, 17}, TensorShape{1, 2, 7, 7},
                                         TensorShape{2, 17, 2, 8}}) {
          for (const int64_t misaligned : {0, 3}) {
            SCOPED_TRACE(std::string(LayoutName(from)) + " to " + LayoutName(to) + " c" + std::to_string(shape.c));
            GuardedTensor src(from, shape, {}, Guard::kAtStart), dst(to, shape, {}, Guard::kAtStart, misaligned);
            GuardedTensor wanted(to, shape, {}, Guard::kAtStart, misaligned);
            src.Fill(testing::DataKind::kReal, 9);
            const auto copier = reorder::Copier::Make(shape, {from, src.view().strides}, {to, dst.view().strides}, isa,
                                                      true, true);
            ASSERT_TRUE(copier.ok()) << copier.status().message();
            copier->Run(src.data(), dst.data(), {0, copier->units()});
            const Result<ReorderProblem> problem =
                Validate(ReorderDesc{shape.n, shape.c, shape.h, shape.w, src.format(), dst.format()});
            reference::RunReorder(*problem, src.data(), wanted.data());
            dst.ExpectSame(wanted);
          }
        }
        if (HasFatalFailure()) return;
      }
    }
  });
}

TEST(Reorder, WithoutGeneratedCode) {
  const testing::ScopedMaxIsa none(Isa::kNone);
  for (const Layout from : kLayouts) {
    for (const Layout to : kLayouts) {
      Check(from, to, {{2, 19, 3, 5}});
      Check(from, to, {{1, 133, 20, 30}, {1, 1, 1}, {2, 0, 1}});
    }
  }
}

TEST(Reorder, SameTensorIsNoWorkAndOverlapIsRefused) {
  const Strides of64{4 * 64, 1, 2 * 64, 64};
  std::vector<float> data(4096, 1.0f);
  ReorderDesc desc{1, 16, 2, 2, {Layout::kNhwc, of64}, {Layout::kNhwc, of64}};
  const auto slices = Reorder::Create(desc);
  ASSERT_TRUE(slices.ok());
  EXPECT_TRUE(slices->Run(data.data(), data.data()).ok());
  EXPECT_TRUE(slices->Run(data.data(), data.data() + 16).ok());  // the next channels of the same tensor
  EXPECT_EQ(slices->Run(data.data(), data.data() + 8).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(slices->Run(data.data(), data.data() + 64).code(), StatusCode::kInvalidArgument);
  const auto other = Reorder::Create(ReorderDesc{1, 16, 2, 2, {Layout::kNhwc}, {Layout::kNchw}});
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->Run(data.data(), data.data()).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(other->Run(data.data(), data.data() + 63).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(other->Run(data.data(), data.data() + 64).ok());
}

TEST(Reorder, BadInput) {
  const auto message = [](const ReorderDesc& desc) {
    const auto reorder = Reorder::Create(desc);
    EXPECT_FALSE(reorder.ok());
    EXPECT_EQ(reorder.status().code(), StatusCode::kInvalidArgument);
    return std::string(reorder.status().message());
  };
  EXPECT_NE(message({1, 0, 2, 2}).find("c: 0"), std::string::npos);
  EXPECT_NE(message({-1, 1, 2, 2}).find("n: -1"), std::string::npos);
  EXPECT_NE(message({1, 1, 0, 2}).find("h: 0"), std::string::npos);
  EXPECT_NE(message({1, 4, 2, 2, {static_cast<Layout>(9)}}).find("src.layout"), std::string::npos);
  EXPECT_NE(message({1, 4, 2, 2, {}, {Layout::kNhwc, Strides{16, 1, 8, 3}}}).find("dst.strides"), std::string::npos);
  EXPECT_NE(message({1, int64_t{1} << 40, int64_t{1} << 20, int64_t{1} << 20}).find("64-bit"), std::string::npos);
  EXPECT_EQ(Reorder::Create({1, 4, 2, 2}, {-1}).status().code(), StatusCode::kInvalidArgument);
  const auto reorder = Reorder::Create({1, 4, 2, 2});
  ASSERT_TRUE(reorder.ok());
  float data[64] = {};
  EXPECT_EQ(reorder->Run(nullptr, data).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reorder->Run(data, nullptr).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(reorder->Run(data, reinterpret_cast<float*>(reinterpret_cast<char*>(data) + 129)).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(reorder->Run(data, data + 32, {nullptr, -1}).code(), StatusCode::kInvalidArgument);
  const auto empty = Reorder::Create({0, 4, 2, 2});
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->Run(nullptr, nullptr).ok());
}

}  // namespace
}  // namespace rafter
