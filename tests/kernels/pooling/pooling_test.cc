// Pooling against the oracle: kind x window x layout x tail x slice x threads, between guard pages, on every
// instruction set; cases from bug reports about other libraries with their numbers; calls that must be refused.
#include "rafter/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/pooling/problem.h"
#include "kernels/pooling/reference.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/inline_threads.h"
#include "tests/support/random_desc.h"
#include "tests/support/random_tensor.h"
#include "tests/support/scoped_machine.h"

namespace rafter {
namespace {

using testing::DataKind;
using testing::Guard;
using testing::GuardedBuffer;
using testing::TensorView;

constexpr Layout kLayouts[] = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

PoolingDesc Window(PoolingKind kind, Size2 in, Size2 kernel, Size2 stride, Padding pad = {}, bool ceil_mode = false,
                   bool count_include_pad = false) {
  PoolingDesc desc{.kind = kind, .c = 1, .in = in, .kernel = kernel, .stride = stride, .pad = pad};
  desc.ceil_mode = ceil_mode, desc.count_include_pad = count_include_pad;
  return desc;
}

std::string Name(const PoolingDesc& d) {
  return std::string(PoolingName(d.kind)) + " " + LayoutName(d.src.layout) + " c" + std::to_string(d.c) + " in" +
         std::to_string(d.in.h) + "x" + std::to_string(d.in.w) + " k" + std::to_string(d.kernel.h) + "x" +
         std::to_string(d.kernel.w) + " s" + std::to_string(d.stride.h) + "x" + std::to_string(d.stride.w) + " d" +
         std::to_string(d.dilation.h) + "x" + std::to_string(d.dilation.w) + " p" + std::to_string(d.pad.left) +
         (d.ceil_mode ? " ceil" : "") + (d.count_include_pad ? " include" : "");
}

TensorView ViewOf(const PoolingProblem& problem, const Strides& strides, const TensorShape& s) {
  return {problem.layout(), strides, s.n, s.c, s.h, s.w};
}

// Integers are added exactly, and then one division rounds.
void Check(const PoolingDesc& desc, Guard guard = Guard::kAtEnd, ParallelFor* threads = nullptr, int count = 1,
           DataKind data = DataKind::kInteger) {
  const Result<PoolingProblem> problem = Validate(desc);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const TensorView src_view = ViewOf(*problem, problem->src, problem->src_shape());
  const TensorView dst_view = ViewOf(*problem, problem->dst, problem->dst_shape());
  GuardedBuffer src(static_cast<size_t>(src_view.Span()), guard), dst(static_cast<size_t>(dst_view.Span()), guard);
  FillTensor(src_view, src.data(), data, 1);
  src.MakeReadOnly();
  std::vector<float> want(dst.size(), testing::Poison());
  reference::RunPooling(*problem, src.data(), want.data(), {0, desc.n * problem->h.out});
  const Result<Pooling> pooling = Pooling::Create(desc, {.threads = count});
  ASSERT_TRUE(pooling.ok()) << pooling.status().message();
  SCOPED_TRACE(Name(desc) + " " + pooling->kernel_name());
  const Status status = pooling->Run(src.data(), dst.data(), {.threads = threads});
  ASSERT_TRUE(status.ok()) << status.message();
  size_t wrong = 0;
  for (size_t i = 0; i < want.size() && wrong < 5; ++i) {
    const float got = dst.data()[i];
    const bool right = testing::IsPoison(want[i]) ? testing::IsPoison(got)
                       : std::isnan(want[i])      ? std::isnan(got)
                                                  : got == want[i];
    if (right) continue;
    ADD_FAILURE() << "element " << i << ": " << got << " instead of " << want[i];
    ++wrong;
  }
  EXPECT_TRUE(dst.SlackIntact());
}

std::vector<PoolingDesc> Windows() {
  std::vector<PoolingDesc> windows;
  for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
    const auto add = [&](PoolingDesc desc) {
      for (const bool include : {false, true}) {
        desc.count_include_pad = include;
        windows.push_back(desc);
        if (kind == PoolingKind::kMax) break;
      }
    };
    add(Window(kind, {9, 11}, {3, 3}, {2, 2}, {1, 1, 1, 1}));
    add(Window(kind, {9, 40}, {3, 3}, {2, 2}, {1, 1, 1, 1}, true));
    add(Window(kind, {8, 37}, {2, 2}, {2, 2}));
    add(Window(kind, {8, 45}, {3, 3}, {1, 1}, {1, 1, 1, 1}));
    add(Window(kind, {7, 9}, {2, 5}, {3, 1}, {0, 2, 1, 3}));         // asymmetric
    add(Window(kind, {6, 35}, {5, 3}, {1, 3}, {2, 1, 0, 0}));        // gathers
    add(Window(kind, {5, 60}, {1, 9}, {1, 2}, {0, 4, 0, 4}));        // loop of columns
    add(Window(kind, {12, 6}, {9, 2}, {1, 1}, {4, 0, 4, 1}));        // loop of rows
    add(Window(kind, {3, 4}, {2, 2}, {1, 1}, {3, 3, 3, 3}));         // windows without a tap
    add(Window(kind, {7, 7}, {7, 7}, {1, 1}));                       // global
    add(Window(kind, {13, 29}, {13, 29}, {1, 1}));
    add(Window(kind, {1, 33}, {1, 3}, {1, 1}, {0, 1, 0, 1}));        // 1-D
    add(Window(kind, {6, 30}, {3, 3}, {4, 4}, {}, true));            // ceil, stride beyond the kernel
    PoolingDesc dilated = Window(kind, {14, 41}, {3, 3}, {2, 2}, {2, 2, 2, 2});
    dilated.dilation = {2, 3};
    add(dilated);
    dilated.stride = {1, 5};
    add(dilated);
  }
  return windows;
}

TEST(Pooling, EveryWindowInEveryLayout) {
  testing::ForEachIsa([&](Isa) {
    for (PoolingDesc desc : Windows()) {
      for (const Layout layout : kLayouts) {
        for (const int64_t c : {1, 3, 8, 16, 21, 32, 70}) {
          desc.n = 2, desc.c = c;
          desc.src.layout = desc.dst.layout = layout;
          Check(desc, c % 2 == 0 ? Guard::kAtEnd : Guard::kAtStart);
        }
      }
    }
  });
}

TEST(Pooling, Slices) {
  testing::ForEachIsa([&](Isa) {
    for (PoolingDesc desc : Windows()) {
      for (const Layout layout : kLayouts) {
        desc.n = 2, desc.c = 19;
        const int64_t block = ChannelBlock(layout), wide = (19 + block - 1) / block * block + block;
        desc.src = {layout, DenseStrides(layout, wide, desc.in.h + 1, desc.in.w + 3)};
        desc.dst = {layout, DenseStrides(layout, wide + block, desc.in.h + 8, desc.in.w + 9)};
        Check(desc);
      }
    }
  });
}

void CheckInEveryLayout(PoolingDesc desc, Guard guard) {
  for (const Layout layout : kLayouts) {
    desc.src.layout = desc.dst.layout = layout;
    Check(desc, guard);
  }
}

// Dilated windows along the row, along the column and both ways, many of which hold one column or row of taps: those of
// a kernel of 1, and those that padding cuts to it.
void CheckDilated(PoolingKind kind, int64_t extent, int64_t in, int64_t stride, int64_t dilation) {
  for (int64_t pad = 0; pad <= 4; ++pad) {
    if (dilation * (extent - 1) >= in + 2 * pad) continue;
    for (PoolingDesc desc : {Window(kind, {5, in}, {2, extent}, {1, stride}, {1, pad, 1, pad}),
                             Window(kind, {in, 5}, {extent, 2}, {stride, 1}, {pad, 1, pad, 1}),
                             Window(kind, {in, in}, {extent, extent}, {stride, stride}, {pad, pad, pad, pad})}) {
      desc.dilation = {dilation, dilation}, desc.c = 11;
      CheckInEveryLayout(desc, pad % 2 == 0 ? Guard::kAtEnd : Guard::kAtStart);
    }
  }
}

TEST(Pooling, DilatedWindowsOfOneColumnOrRow) {
  testing::ForEachIsa([&](Isa) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (const int64_t extent : {1, 2, 3, 4}) {
        for (const int64_t in : {1, 2, 3, 9}) {
          for (const int64_t stride : {1, 2}) {
            for (const int64_t dilation : {2, 3}) CheckDilated(kind, extent, in, stride, dilation);
          }
        }
      }
    }
  });
}

PoolingDesc RandomWindow(testing::Random& random) {
  const auto flip = [&] { return random.Between(0, 1) == 1; };
  const auto pair = [&](int64_t low, int64_t high) {
    const int64_t h = testing::Skewed(random, low, high);
    return Size2{h, testing::Skewed(random, low, high)};
  };
  PoolingDesc desc{.kind = flip() ? PoolingKind::kMax : PoolingKind::kAverage};
  desc.n = random.Between(1, 2), desc.c = testing::Skewed(random, 1, 70);
  desc.in = pair(1, 24), desc.kernel = pair(1, 5), desc.stride = pair(1, 3), desc.dilation = pair(1, 3);
  const Size2 before = pair(0, 4), after = pair(0, 4);
  desc.pad = {before.h, before.w, after.h, after.w};
  desc.ceil_mode = flip();
  desc.count_include_pad = desc.kind == PoolingKind::kAverage && flip();
  desc.src.layout = desc.dst.layout = kLayouts[random.Between(0, 3)];
  if (flip()) desc.src.strides = testing::RandomSlice(random, desc.src.layout, desc.c, desc.in.h, desc.in.w);
  return desc;
}

TEST(Pooling, RandomWindows) {
  testing::ForEachIsa([&](Isa) {
    testing::Random random(20);
    for (int i = 0; i < 4000; ++i) {
      const PoolingDesc desc = RandomWindow(random);
      if (!Validate(desc).ok()) continue;  // windows beyond the padded image
      Check(desc, i % 2 == 0 ? Guard::kAtEnd : Guard::kAtStart);
    }
  });
}

TEST(Pooling, Threads) {
  testing::ForEachIsa([&](Isa) {
    testing::InlineThreads pool(3);
    for (const Layout layout : kLayouts) {
      for (PoolingDesc desc : {Window(PoolingKind::kMax, {56, 56}, {3, 3}, {2, 2}, {1, 1, 1, 1}),
                               PoolingDesc::Global(PoolingKind::kAverage, 1, 1, {28, 28})}) {
        desc.n = 2, desc.c = 200;
        desc.src.layout = desc.dst.layout = layout;
        Check(desc, Guard::kAtEnd, &pool, 3);
      }
    }
    EXPECT_GT(pool.runs(), 0);
  });
}

// On a machine without a last-level cache.
TEST(Pooling, StoresPastTheCaches) {
  const testing::ScopedCaches caches({.l3 = 0});
  testing::ForEachIsa([&](Isa) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (PoolingDesc desc : {Window(kind, {9, 32}, {3, 3}, {2, 2}, {1, 1, 1, 1}),
                               Window(kind, {8, 36}, {2, 2}, {2, 2}), Window(kind, {7, 7}, {7, 7}, {1, 1}),
                               Window(kind, {7, 8}, {3, 3}, {1, 1}, {1, 1, 1, 1}),
                               Window(kind, {9, 21}, {3, 3}, {2, 2}, {1, 1, 1, 1})}) {
        for (const Layout layout : kLayouts) {
          for (const int64_t channels : {8, 16, 24, 64, 80, 83}) {
            desc.c = channels, desc.n = 2, desc.src.layout = desc.dst.layout = layout;
            for (const Guard guard : {Guard::kAtStart, Guard::kAtEnd}) Check(desc, guard);
            if (kind == PoolingKind::kMax) Check(desc, Guard::kAtStart, nullptr, 1, DataKind::kSpecials);
          }
        }
      }
    }
  });
}

TEST(Pooling, LongRowsAreCutIntoLines) {
  testing::ForEachIsa([&](Isa) {
    for (const int64_t stride : {1, 2, 3}) {
      PoolingDesc desc = Window(PoolingKind::kMax, {3, 9001}, {3, 3}, {1, stride}, {1, 1, 1, 1});
      desc.src.layout = desc.dst.layout = Layout::kNchw;
      Check(desc);
    }
    PoolingDesc wide = Window(PoolingKind::kAverage, {2, 6000}, {2, 5000}, {1, 1});  // wider than any line
    wide.src.layout = wide.dst.layout = Layout::kNchw;
    Check(wide);
  });
}

TEST(Pooling, NanReachesTheWindowsThatHoldIt) {
  testing::ForEachIsa([&](Isa) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (const Layout layout : kLayouts) {
        for (const int64_t stride : {1, 2, 3}) {
          PoolingDesc desc = Window(kind, {7, 23}, {3, 3}, {stride, stride}, {1, 1, 1, 1});
          desc.c = 13;
          desc.src.layout = desc.dst.layout = layout;
          Check(desc, Guard::kAtEnd, nullptr, 1, kind == PoolingKind::kMax ? DataKind::kSpecials : DataKind::kInteger);
        }
      }
    }
  });
}

// The same values in every channel give the same result in every lane and tail.
TEST(Pooling, NanInEveryTapAndChannel) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw}) {
      for (int64_t c = 1; c <= 20; ++c) {
        for (int64_t tap = 0; tap < 10; ++tap) {  // 9: all of them
          PoolingDesc desc = Window(PoolingKind::kMax, {3, 3}, {3, 3}, {1, 1});
          desc.c = c;
          desc.src.layout = desc.dst.layout = layout;
          std::vector<float> src(static_cast<size_t>(9 * c)), dst(static_cast<size_t>(c));
          for (int64_t i = 0; i < 9; ++i) {
            for (int64_t k = 0; k < c; ++k) {
              const int64_t at = layout == Layout::kNhwc ? i * c + k : k * 9 + i;
              src[static_cast<size_t>(at)] = tap == 9 || i == tap ? kNan : static_cast<float>(i);
            }
          }
          const Result<Pooling> pooling = Pooling::Create(desc);
          ASSERT_TRUE(pooling.ok());
          ASSERT_TRUE(pooling->Run(src.data(), dst.data()).ok());
          for (const float value : dst) EXPECT_TRUE(std::isnan(value)) << c << " channels, tap " << tap;
        }
      }
    }
  });
}

// One image in NCHW and NHWC.
std::vector<float> Pooled(PoolingDesc desc, const std::vector<float>& src, Layout layout) {
  desc.src.layout = desc.dst.layout = layout;
  const Result<Pooling> pooling = Pooling::Create(desc);
  EXPECT_TRUE(pooling.ok()) << pooling.status().message();
  const Size2 out = pooling->output_size();
  std::vector<float> dst(static_cast<size_t>(desc.n * desc.c * out.h * out.w));
  EXPECT_TRUE(pooling->Run(src.data(), dst.data()).ok());
  return dst;
}

void ExpectNear(const std::vector<float>& got, const std::vector<float>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << i;
}

TEST(Pooling, ReportedCases) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
      const auto average = [](Size2 in, Size2 kernel, Size2 stride, Padding pad, bool include) {
        return Window(PoolingKind::kAverage, in, kernel, stride, pad, true, include);
      };
      // The last window hangs over: it is divided by 6, not 7.
      ExpectNear(Pooled(average({1, 9}, {1, 7}, {1, 3}, {0, 3, 0, 3}, true),
                     {2.0903f, 4.6493f, 1.6320f, -3.2051f, 4.6975f, 4.7296f, 3.3653f, -1.5815f, -2.3832f}, layout),
                 {0.7381f, 2.5656f, 0.8032f, -0.0999f}, 5e-5);
      ExpectNear(Pooled(average({1, 5}, {1, 2}, {1, 2}, {}, true), {1, 2, 3, 4, 5}, layout), {1.5f, 3.5f, 5.0f}, 0);
      std::vector<float> ramp;
      for (int i = 1; i <= 16; ++i) ramp.push_back(static_cast<float>(i));
      ExpectNear(Pooled(average({4, 4}, {3, 3}, {2, 2}, {}, false), ramp, layout), {6, 7.5f, 12, 13.5f}, 0);
      // Ones: the result is taps over divisor. Edges of the last row and column divide by 6, the corner by 4.
      const std::vector<float> edges = Pooled(average({6, 6}, {3, 3}, {2, 2}, {1, 1, 1, 1}, true),
                                           std::vector<float>(36, 1.0f), layout);
      ASSERT_EQ(edges.size(), 16u);
      EXPECT_EQ(edges[5], 1.0f);
      EXPECT_FLOAT_EQ(edges[7], 3.0f / 6);   // one column of taps inside, two of inside and padding
      EXPECT_FLOAT_EQ(edges[15], 1.0f / 4);
      EXPECT_FLOAT_EQ(edges[0], 4.0f / 9);
      // Padding is -infinity, never 0.
      ExpectNear(Pooled(Window(PoolingKind::kMax, {2, 2}, {2, 2}, {2, 2}, {1, 1, 1, 1}), {-1, -2, -3, -4}, layout),
                 {-1, -2, -3, -4}, 0);
      // Padding as wide as the kernel: some windows have no tap.
      const std::vector<float> empty =
          Pooled(Window(PoolingKind::kMax, {2, 2}, {2, 2}, {2, 2}, {2, 2, 2, 2}), {-1, -2, -3, -4}, layout);
      ASSERT_EQ(empty.size(), 9u);
      EXPECT_EQ(empty[0], -kInf);
      EXPECT_EQ(empty[4], -1.0f);
    }
  });
}

// Sizes whose vectors are all written out, with every tail, and larger ones.
TEST(Pooling, EveryWidthInNchw) {
  testing::ForEachIsa([&](Isa) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (const int64_t stride : {1, 2}) {
        for (int64_t w = 1; w <= 140; w = w < 40 ? w + 1 : w + 7) {
          PoolingDesc desc = Window(kind, {9, w}, {3, 3}, {stride, stride}, {1, 1, 1, 1});
          desc.c = 2;
          desc.src.layout = desc.dst.layout = Layout::kNchw;
          Check(desc);
          desc.kernel = {2, 2}, desc.pad = {};
          if (w > 1) Check(desc, Guard::kAtStart);
        }
      }
    }
  });
}

TEST(Pooling, GlobalOfEverySize) {
  testing::ForEachIsa([&](Isa) {
    for (const PoolingKind kind : {PoolingKind::kMax, PoolingKind::kAverage}) {
      for (const Layout layout : kLayouts) {
        for (int64_t w = 1; w <= 140; w += w < 36 ? 1 : 13) {
          PoolingDesc desc = PoolingDesc::Global(kind, 2, 19, {1, w});
          desc.src.layout = desc.dst.layout = layout;
          Check(desc, w % 2 == 0 ? Guard::kAtEnd : Guard::kAtStart);
          if (kind == PoolingKind::kMax && w < 36) Check(desc, Guard::kAtEnd, nullptr, 1, DataKind::kSpecials);
        }
      }
    }
  });
}

// Planes are averaged in groups of eight, the rest of a thread's share one by one.
TEST(Pooling, GlobalAveragesHaveTheSameBitsForAnyThreads) {
  testing::ForEachIsa([&](Isa) {
    PoolingDesc desc = PoolingDesc::Global(PoolingKind::kAverage, 3, 37, {5, 5}, Layout::kNchw);
    std::vector<float> src(static_cast<size_t>(3 * 37 * 25)), want(3 * 37), got(3 * 37);
    testing::Random random(8);
    for (float& value : src) value = random.Value(DataKind::kReal);
    for (int threads = 1; threads <= 8; ++threads) {
      testing::InlineThreads pool(threads);
      const Result<Pooling> pooling = Pooling::Create(desc, {.threads = threads});
      ASSERT_TRUE(pooling.ok());
      std::fill(got.begin(), got.end(), -1.0f);
      ASSERT_TRUE(pooling->Run(src.data(), got.data(), {.threads = &pool}).ok());
      if (threads == 1) want = got;
      EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << threads;
    }
  });
}

// No infinity is NaN: the sum of all taps is, so that the fast kernel's result is dropped.
TEST(Pooling, InfinitiesOfBothSigns) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      PoolingDesc desc = Window(PoolingKind::kMax, {1, 6}, {1, 3}, {1, 1});
      desc.src.layout = desc.dst.layout = layout;
      const int64_t block = layout == Layout::kNchw ? 1 : ChannelBlock(layout);
      std::vector<float> src(static_cast<size_t>(6 * block)), dst(static_cast<size_t>(4 * block));
      const float values[] = {kInf, -kInf, -kInf, -kInf, 1, 2};
      for (int64_t i = 0; i < 6; ++i) src[static_cast<size_t>(i * block)] = values[i];
      const Result<Pooling> pooling = Pooling::Create(desc);
      ASSERT_TRUE(pooling.ok());
      ASSERT_TRUE(pooling->Run(src.data(), dst.data()).ok());
      const float want[] = {kInf, -kInf, 1, 2};
      for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(dst[static_cast<size_t>(i * block)], want[i]) << i;
    }
  });
}

TEST(Pooling, BadDescriptionsNameTheField) {
  const auto message = [](const PoolingDesc& desc) {
    const Result<Pooling> pooling = Pooling::Create(desc);
    return pooling.ok() ? std::string() : std::string(pooling.status().message());
  };
  EXPECT_EQ(message(Window(PoolingKind::kMax, {3, 3}, {5, 1}, {1, 1})),
            "kernel.h: 5 with dilation.h = 1 covers 5, more than the padded input of 3");
  EXPECT_EQ(message(Window(PoolingKind::kMax, {3, 3}, {1, 1}, {1, 0})),
            "stride.w: 0 is too small, allowed: 1 and above");
  EXPECT_EQ(message(Window(PoolingKind::kMax, {3, 3}, {1, 1}, {1, 1}, {0, -1, 0, 0})),
            "pad.left: -1 is negative, allowed: 0 and above");
  EXPECT_EQ(message(Window(static_cast<PoolingKind>(7), {3, 3}, {1, 1}, {1, 1})),
            "kind: 7 is unknown, allowed: 1 (max), 2 (average)");
  PoolingDesc mixed = Window(PoolingKind::kMax, {3, 3}, {1, 1}, {1, 1});
  mixed.dst.layout = Layout::kNchw;
  EXPECT_EQ(message(mixed), "dst.layout: 1 differs from the source's, allowed: NHWC");
  PoolingDesc huge = Window(PoolingKind::kMax, {3, 3}, {2, 2}, {1, 1});
  huge.dilation.w = std::numeric_limits<int64_t>::max();
  EXPECT_NE(message(huge).find("kernel.w"), std::string::npos);
}

TEST(Pooling, BadCallsAreRefused) {
  const Result<Pooling> pooling = Pooling::Create(Window(PoolingKind::kMax, {4, 4}, {2, 2}, {2, 2}));
  ASSERT_TRUE(pooling.ok());
  std::vector<float> data(20);
  for (const Status& status : {pooling->Run(nullptr, data.data()), pooling->Run(data.data(), nullptr),
                               pooling->Run(data.data(), data.data()), pooling->Run(data.data(), data.data() + 15),
                               pooling->Run(data.data(), data.data() + 16, {.max_threads = -1})}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  }
  EXPECT_TRUE(pooling->Run(data.data(), data.data() + 16).ok());
}

}  // namespace
}  // namespace rafter
