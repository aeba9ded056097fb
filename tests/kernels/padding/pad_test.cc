// Paddings against the reference: modes, layouts, tails, slices, widths of the border, images that are in place.
#include "rafter/pad.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/padding/plan.h"
#include "kernels/padding/problem.h"
#include "kernels/padding/reference.h"
#include "kernels/padding/stream_kernel.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_tensor.h"
#include "tests/support/inline_threads.h"

namespace rafter {
namespace {

using testing::Guard;
using testing::GuardedTensor;
using testing::Slack;

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};
constexpr PadMode kModes[] = {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect};

struct Case {
  PadMode mode = PadMode::kConstant;
  Layout layout = Layout::kNhwc;
  TensorShape in{2, 16, 5, 7};
  Padding pad{1, 1, 1, 1};
  Slack src_slack{}, dst_slack{};
  Guard guard = Guard::kAtEnd;
  int threads = 1;
  float value = 1.5f;
};

void Check(const Case& c) {
  SCOPED_TRACE(std::string(PadModeName(c.mode)) + " " + LayoutName(c.layout) + " c" + std::to_string(c.in.c) + " h" +
               std::to_string(c.in.h) + " w" + std::to_string(c.in.w) + " left " + std::to_string(c.pad.left) +
               " right " + std::to_string(c.pad.right));
  const TensorShape out{c.in.n, c.in.c, c.in.h + c.pad.top + c.pad.bottom, c.in.w + c.pad.left + c.pad.right};
  GuardedTensor src(c.layout, c.in, c.src_slack, c.guard), dst(c.layout, out, c.dst_slack, c.guard);
  GuardedTensor wanted(c.layout, out, c.dst_slack, c.guard);
  src.Fill(testing::DataKind::kSpecials, 3);
  src.MakeReadOnly();
  const PadDesc desc{c.mode, c.value, c.in.n, c.in.c, {c.in.h, c.in.w}, c.pad, src.format(), dst.format()};
  const Result<Pad> pad = Pad::Create(desc, {c.threads});
  ASSERT_TRUE(pad.ok()) << pad.status().message();
  EXPECT_EQ(pad->output_size(), (Size2{out.h, out.w}));
  testing::InlineThreads pool(c.threads);
  const Status status = pad->Run(src.data(), dst.data(), {&pool, 0});
  ASSERT_TRUE(status.ok()) << status.message();
  const Result<PadProblem> problem = Validate(desc);
  reference::RunPad(*problem, src.data(), wanted.data());
  dst.ExpectSame(wanted);
  if (pad->isa() == Isa::kNone) return;
  // With stores past the caches, whatever the size, and with the image in its place.
  const auto streaming = padding::Plan::Make(*problem, pad->isa(), true);
  ASSERT_TRUE(streaming.ok());
  GuardedTensor streamed(c.layout, out, c.dst_slack, c.guard);
  streaming->Run(src.data(), streamed.data(), false, {0, streaming->units()});
  streamed.ExpectSame(wanted);
}

TEST(Pad, EveryModeLayoutAndTail) {
  testing::ForEachIsa([&](Isa) {
    for (const PadMode mode : kModes) {
      for (const Layout layout : kLayouts) {
        for (const int64_t channels : {1, 3, 8, 16, 17, 24, 40}) {
          for (const int64_t w : {3, 4, 7, 8, 9, 16, 31, 33, 130}) {
            Check({mode, layout, {2, channels, 4, w}, {1, 1, 1, 1}});
            Check({mode, layout, {1, channels, 3, w}, {2, 0, 1, 2}, {}, {}, Guard::kAtStart, 2});
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(Pad, WidthsOfTheBorder) {
  testing::ForEachIsa([&](Isa) {
    for (const PadMode mode : kModes) {
      for (const Layout layout : kLayouts) {
        for (int64_t left = 0; left <= 19; ++left) {
          Check({mode, layout, {1, 5, 3, 80}, {0, left, 2, 19 - left}});
          if (HasFatalFailure()) return;
        }
        Check({mode, layout, {1, 3, 2, 90}, {1, 70, 0, 89}});
        Check({mode, layout, {1, 300, 3, 9}, {1, 2, 1, 0}});
      }
    }
  });
}

TEST(Pad, StreamKernelsCanBeEmitted) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const int32_t border : {0, 1, padding::kMostStreamBorder}) {
      const auto kernel = padding::GetStreamKernel({static_cast<int32_t>(isa), border, border});
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
    }
  }
}

// Rows of NCHW that follow each other without gaps: streams, at every place within a line.
TEST(Pad, RowsWithoutGaps) {
  testing::ForEachIsa([&](Isa) {
    for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge}) {
      for (int64_t w = 30; w < 150; w += w < 70 ? 1 : 13) {
        for (const Padding& pad :
             {Padding{1, 1, 1, 1}, Padding{0, 0, 2, 3}, Padding{2, 16, 0, 16}, Padding{1, 0, 1, 0}}) {
          Check({.mode = mode, .layout = Layout::kNchw, .in = {1, 3, 7, w}, .pad = pad});
          Check({.mode = mode, .layout = Layout::kNchw, .in = {1, 2, 5, w}, .pad = pad, .guard = Guard::kAtStart});
        }
      }
      Check({.mode = mode, .layout = Layout::kNchw, .in = {2, 2, 310, 113}, .pad = {3, 2, 1, 1}});  // several pieces
    }
  });
}

TEST(Pad, Slices) {
  testing::ForEachIsa([&](Isa) {
    for (const PadMode mode : kModes) {
      for (const Layout layout : kLayouts) {
        for (const Slack& slack : {Slack{1, 0, 0}, Slack{0, 2, 0}, Slack{2, 1, 1}}) {
          for (const int64_t channels : {5, 16, 35}) {
            Check({mode, layout, {2, channels, 4, 11}, {1, 2, 1, 1}, slack, {}});
            Check({mode, layout, {2, channels, 4, 11}, {1, 2, 1, 1}, {}, slack});
            Check({mode, layout, {2, channels, 4, 11}, {2, 1, 0, 3}, slack, slack, Guard::kAtStart, 3});
          }
          if (HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(Pad, ConstantsOfEveryKind) {
  testing::ForEachIsa([&](Isa) {
    using Limits = std::numeric_limits<float>;
    for (const float value : {0.0f, -0.0f, Limits::quiet_NaN(), -Limits::infinity()}) {
      for (const Layout layout : kLayouts) {
        Case c{PadMode::kConstant, layout, {1, 20, 4, 9}};
        c.value = value;
        Check(c);
      }
    }
  });
}

TEST(Pad, WithoutGeneratedCode) {
  const testing::ScopedMaxIsa none(Isa::kNone);
  for (const PadMode mode : kModes) {
    for (const Layout layout : kLayouts) Check({mode, layout, {2, 19, 4, 9}, {1, 2, 3, 0}});
  }
}

TEST(Pad, ImagesInTheirPlace) {
  testing::ForEachIsa([&](Isa) {
    for (const PadMode mode : kModes) {
      for (const Layout layout : kLayouts) {
        for (const int64_t channels : {3, 16, 21}) {
          const TensorShape in{2, channels, 4, 9}, out{2, channels, 7, 12};
          GuardedTensor src(layout, in, {}, Guard::kAtEnd), dst(layout, out, {}, Guard::kAtEnd);
          GuardedTensor wanted(layout, out, {}, Guard::kAtEnd);
          src.Fill(testing::DataKind::kReal, 3);
          PadDesc desc{mode, 2.5f, 2, channels, {4, 9}, {1, 2, 2, 1}, src.format(), dst.format()};
          const Result<PadProblem> outside = Validate(desc);
          ASSERT_TRUE(outside.ok());
          reference::RunPad(*outside, src.data(), wanted.data());
          testing::ForEachElement(src.view(), [&](int64_t n, int64_t c, int64_t h, int64_t w, int64_t offset) {
            dst.data()[Offset(dst.view().strides, layout, n, c, h + 1, w + 2)] = src.data()[offset];
          });
          desc.src.strides = dst.view().strides;
          const Result<Pad> pad = Pad::Create(desc, {1});
          ASSERT_TRUE(pad.ok());
          ASSERT_TRUE(pad->Run(dst.data() + outside->inner_offset, dst.data()).ok());
          // Missing lanes of the image itself belong to its producer.
          for (int64_t n = 0; n < 2; ++n) {
            for (int64_t c = channels; c < BlocksOf(layout, channels) * ChannelBlock(layout); ++c) {
              for (int64_t h = 0; h < 4; ++h) {
                for (int64_t w = 0; w < 9; ++w) {
                  dst.data()[Offset(dst.view().strides, layout, n, c, h + 1, w + 2)] = 0.0f;
                }
              }
            }
          }
          dst.ExpectSame(wanted);
          EXPECT_EQ(pad->Run(dst.data() + outside->inner_offset + 1, dst.data()).code(), StatusCode::kInvalidArgument);
          EXPECT_EQ(pad->Run(dst.data(), dst.data()).code(), StatusCode::kInvalidArgument);
        }
      }
    }
  });
}

TEST(Pad, BadInput) {
  const auto message = [](const PadDesc& desc, StatusCode code = StatusCode::kInvalidArgument) {
    const auto pad = Pad::Create(desc);
    EXPECT_FALSE(pad.ok());
    EXPECT_EQ(pad.status().code(), code);
    return std::string(pad.status().message());
  };
  PadDesc desc{PadMode::kReflect, 0.0f, 1, 16, {4, 6}, {3, 5, 3, 5}};
  EXPECT_TRUE(Pad::Create(desc).ok());
  desc.pad.top = 4;
  EXPECT_EQ(message(desc), "pad.top: 4 reflects more than the image has, allowed: up to 3 (in.h - 1)");
  desc.pad = {0, 6, 0, 0};
  EXPECT_EQ(message(desc), "pad.left: 6 reflects more than the image has, allowed: up to 5 (in.w - 1)");
  desc.pad = {0, 0, 0, 100};
  EXPECT_NE(message(desc).find("up to 5"), std::string::npos);
  desc.mode = PadMode::kEdge;
  EXPECT_TRUE(Pad::Create(desc).ok());
  desc.pad = {-1, 0, 0, 0};
  EXPECT_NE(message(desc).find("pad.top: -1"), std::string::npos);
  desc.pad = {0, 0, 0, std::numeric_limits<int64_t>::max()};
  EXPECT_NE(message(desc).find("in.w"), std::string::npos);
  desc.pad = {1, 1, 1, 1};
  desc.dst.layout = Layout::kNchw;
  EXPECT_NE(message(desc, StatusCode::kUnsupported).find("reorder first"), std::string::npos);
  desc.dst.layout = Layout::kNhwc;
  desc.mode = static_cast<PadMode>(7);
  EXPECT_NE(message(desc).find("mode: 7"), std::string::npos);
  desc.mode = PadMode::kReflect;
  const auto pad = Pad::Create(desc);
  ASSERT_TRUE(pad.ok());
  float data[4096] = {};
  EXPECT_EQ(pad->Run(nullptr, data).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(pad->Run(data, nullptr).code(), StatusCode::kInvalidArgument);
  desc.n = 0;
  EXPECT_TRUE(Pad::Create(desc)->Run(nullptr, nullptr).ok());
}

}  // namespace
}  // namespace rafter
