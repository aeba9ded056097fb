// Element-wise chains against the oracle: operation x layout x tail x slice x broadcast x in place x threads x stores,
// between guard pages, on every instruction set; calls that must be refused.
#include "rafter/eltwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "kernels/eltwise/problem.h"
#include "kernels/eltwise/reference.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/inline_threads.h"
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

// One call with everything that it needs.
class Tester {
 public:
  explicit Tester(const EltwiseDesc& desc, Guard guard = Guard::kAtEnd, DataKind data = DataKind::kInteger)
      : problem_(Validate(desc).value()) {
    const auto view = [&](const Strides& s, const TensorShape& shape) {
      return TensorView{problem_.layout(), s, shape.n, shape.c, shape.h, shape.w};
    };
    src_view_ = view(problem_.src, problem_.shape());
    dst_view_ = view(problem_.dst, problem_.shape());
    src_ = GuardedBuffer(static_cast<size_t>(src_view_.Span()), guard);
    dst_ = GuardedBuffer(static_cast<size_t>(dst_view_.Span()), guard);
    FillTensor(src_view_, src_.data(), data, 1);
    uint64_t seed = 2;
    for (const EltwiseProblem::Operand& operand : problem_.operands) {
      const TensorView own = view(operand.strides, operand.shape);
      buffers_.emplace_back(static_cast<size_t>(own.Span()), guard);
      FillTensor(own, buffers_.back().data(), data, seed++);
      operands_.push_back(buffers_.back().data());
    }
    want_.resize(static_cast<size_t>(dst_view_.Span()), testing::Poison());
    reference::RunEltwise(problem_, src_.data(), operands_.data(), want_.data(), {0, desc.n * desc.h});
  }

  GuardedBuffer& src() { return src_; }
  std::vector<const float*>& operands() { return operands_; }

  // `tolerance`: of values of about 1, for what is not exact.
  void Check(double tolerance, bool in_place = false, ParallelFor* threads = nullptr, int count = 1) {
    const Result<Eltwise> eltwise = Eltwise::Create(problem_.desc, {.threads = count});
    ASSERT_TRUE(eltwise.ok()) << eltwise.status().message();
    SCOPED_TRACE(eltwise->kernel_name());
    float* dst = in_place ? src_.data() : dst_.data();
    const Status status = eltwise->Run(src_.data(), dst, {.operands = operands_, .threads = threads});
    ASSERT_TRUE(status.ok()) << status.message();
    size_t wrong = 0;
    for (size_t i = 0; i < want_.size() && wrong < 5; ++i) {
      if (testing::IsPoison(want_[i]) ? testing::IsPoison(dst[i]) : Near(want_[i], dst[i], tolerance)) continue;
      ADD_FAILURE() << "element " << i << ": " << dst[i] << " instead of " << want_[i];
      ++wrong;
    }
    EXPECT_TRUE(src_.SlackIntact());
    EXPECT_TRUE(dst_.SlackIntact());
  }

 private:
  static bool Near(float want, float got, double tolerance) {
    if (std::isnan(want)) return std::isnan(got);
    if (std::isinf(want)) return got == want;
    return std::fabs(static_cast<double>(got) - want) <= tolerance * std::max(1.0, std::fabs(double{want}));
  }

  EltwiseProblem problem_;
  TensorView src_view_, dst_view_;
  GuardedBuffer src_, dst_;
  std::vector<GuardedBuffer> buffers_;
  std::vector<const float*> operands_;
  std::vector<float> want_;
};

EltwiseDesc DescOf(Layout layout, int64_t n, int64_t c, int64_t h, int64_t w, EltwiseOps ops) {
  EltwiseDesc desc{.n = n, .c = c, .h = h, .w = w, .ops = std::move(ops)};
  desc.src.layout = desc.dst.layout = layout;
  return desc;
}

std::vector<float> Values(int64_t count, float first) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i % 5));
  return values;
}

std::string Name(const EltwiseDesc& d) {
  return std::string(LayoutName(d.src.layout)) + " n" + std::to_string(d.n) + " c" + std::to_string(d.c) + " h" +
         std::to_string(d.h) + " w" + std::to_string(d.w);
}

// A slice of a tensor with more channels, and rows of a wider image where that is another dimension.
TensorFormat SliceOf(Layout layout, int64_t c, int64_t h, int64_t w) {
  const int64_t block = ChannelBlock(layout), blocks = (c + block - 1) / block;
  TensorFormat format{layout, DenseStrides(layout, (blocks + 1) * block + (block == 1 ? 2 : 0), h + 1, w + 2)};
  return format;
}

constexpr int64_t kChannels[] = {1, 3, 8, 16, 20, 33};

TEST(Eltwise, EveryOperationInEveryLayout) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      for (const int64_t c : kChannels) {
        const EltwiseOps ops = {EltwiseOp::Relu(), EltwiseOp::LeakyRelu(0.5f), EltwiseOp::Prelu(Values(c, -1)),
                                EltwiseOp::Clip(-1, 1.5f), EltwiseOp::Abs(), EltwiseOp::Neg(), EltwiseOp::Exp(),
                                EltwiseOp::Log(), EltwiseOp::Sqrt(), EltwiseOp::Sigmoid(), EltwiseOp::Tanh(),
                                EltwiseOp::Gelu(), EltwiseOp::GeluTanh(), EltwiseOp::Silu(), EltwiseOp::Swish(1.7f),
                                EltwiseOp::Elu(0.75f), EltwiseOp::HardSwish(), EltwiseOp::HardSigmoid(),
                                EltwiseOp::Linear(3, -2), EltwiseOp::ChannelLinear(Values(c, 1), Values(c, -3)),
                                EltwiseOp::Add(), EltwiseOp::Sub(), EltwiseOp::Mul(), EltwiseOp::Div(),
                                EltwiseOp::Min(), EltwiseOp::Max()};
        for (const EltwiseOp& op : ops) {
          for (const bool slice : {false, true}) {
            EltwiseDesc desc = DescOf(layout, 2, c, 3, 5, {op});
            if (slice) desc.src = SliceOf(layout, c, 3, 5), desc.dst = SliceOf(layout, c, 3, 6);
            SCOPED_TRACE(Name(desc) + " " + EltwiseName(op.kind) + (slice ? " slice" : ""));
            Tester(desc, slice ? Guard::kAtStart : Guard::kAtEnd).Check(4e-7);
          }
        }
      }
    }
  });
}

TEST(Eltwise, EveryTailInPlaceAndNot) {
  testing::ForEachIsa([&](Isa) {
    for (int64_t w = 1; w <= 150; w += w < 40 ? 1 : 7) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        for (const bool in_place : {false, true}) {
          const EltwiseDesc desc =
              DescOf(layout, 1, layout == Layout::kNchw ? 3 : w, 2, layout == Layout::kNchw ? w : 3,
                     {EltwiseOp::ChannelLinear(Values(layout == Layout::kNchw ? 3 : w, 1),
                                               Values(layout == Layout::kNchw ? 3 : w, 2)),
                      EltwiseOp::Add(), EltwiseOp::Relu()});
          SCOPED_TRACE(Name(desc));
          Tester(desc).Check(0, in_place);
        }
      }
    }
  });
}

TEST(Eltwise, EveryBroadcast) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      for (const int64_t c : {1, 5, 16, 24, 33}) {
        for (int mask = 0; mask < 16; ++mask) {
          const EltwiseOperand operand{.one_n = (mask & 1) != 0, .one_c = (mask & 2) != 0, .one_h = (mask & 4) != 0,
                                       .one_w = (mask & 8) != 0};
          for (const EltwiseKind kind : {EltwiseKind::kMul, EltwiseKind::kMax}) {
            const EltwiseDesc desc = DescOf(layout, 2, c, 3, 4, {EltwiseOp::Binary(kind, operand), EltwiseOp::Add()});
            SCOPED_TRACE(Name(desc) + " broadcast " + std::to_string(mask));
            Tester(desc).Check(0);
          }
        }
      }
    }
  });
}

TEST(Eltwise, SumOfManyAndLongChains) {
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      for (const int64_t c : {3, 16, 40}) {
        Tester(DescOf(layout, 2, c, 3, 7, EltwiseSum(9))).Check(0);
        const EltwiseOps chain = {EltwiseOp::ChannelLinear(Values(c, 1), Values(c, 0)), EltwiseOp::Add(),
                                  EltwiseOp::Prelu(Values(c, -2)),  EltwiseOp::Mul({.one_h = true, .one_w = true}),
                                  EltwiseOp::Clip(-50, 60),         EltwiseOp::Min({.one_c = true}),
                                  EltwiseOp::Linear(2, 1),          EltwiseOp::Tanh()};
        Tester(DescOf(layout, 2, c, 3, 7, chain)).Check(4e-7);
      }
    }
  });
}

TEST(Eltwise, ThreadsAndLargeTensors) {
  testing::ForEachIsa([&](Isa) {
    for (const int threads : {2, 5}) {
      testing::InlineThreads pool(threads);
      for (const Layout layout : kLayouts) {
        for (const int64_t c : {3, 64}) {
          const EltwiseDesc desc =
              DescOf(layout, 2, c, 60, 61, {EltwiseOp::ChannelLinear(Values(c, 1), Values(c, 2)), EltwiseOp::Add()});
          SCOPED_TRACE(Name(desc));
          Tester(desc).Check(0, false, &pool, threads);
          Tester(desc).Check(0, true, &pool, threads);
        }
        Tester(DescOf(layout, 1, 5, 300, 301, {EltwiseOp::Relu()})).Check(0, false, &pool, threads);
      }
      EXPECT_GT(pool.runs(), 0);
    }
  });
}

TEST(Eltwise, StoresPastTheCaches) {
  const testing::ScopedCaches caches({.l3 = 1000});
  testing::ForEachIsa([&](Isa) {
    for (const Layout layout : kLayouts) {
      for (const int64_t c : {5, 16, 32, 48}) {
        const EltwiseDesc desc = DescOf(layout, 3, c, 16, 16, {EltwiseOp::Add(), EltwiseOp::Relu()});
        SCOPED_TRACE(Name(desc));
        Tester(desc).Check(0);
        Tester(desc, Guard::kAtStart).Check(0);  // on a line: that is where they are used
        Tester(desc, Guard::kAtStart).Check(0, true);
      }
    }
  });
}

TEST(Eltwise, NanAndInfinityInEveryLane) {
  testing::ForEachIsa([&](Isa) {
    for (const int64_t w : {8, 16, 29, 72}) {
      for (int kind = 1; kind <= static_cast<int>(EltwiseKind::kMax); ++kind) {
        EltwiseOp op = EltwiseOp::Of(static_cast<EltwiseKind>(kind), 0.25f, 0.5f);
        if (op.kind == EltwiseKind::kPrelu || op.kind == EltwiseKind::kChannelLinear) op.scale = {0.5f};
        if (op.kind == EltwiseKind::kChannelLinear) op.shift = {1.0f};
        for (const float special : {kNan, kInf, -kInf}) {
          Tester tester(DescOf(Layout::kNchw, 1, 1, 1, w, {op}), Guard::kAtEnd, DataKind::kReal);
          SCOPED_TRACE(std::string(EltwiseName(op.kind)) + " of " + std::to_string(special));
          for (int64_t i = 0; i < w; ++i) {
            std::vector<float> in(static_cast<size_t>(w), 0.75f), out(in.size()), other(in.size(), 0.5f);
            in[static_cast<size_t>(i)] = special;
            const Result<Eltwise> eltwise = Eltwise::Create(DescOf(Layout::kNchw, 1, 1, 1, w, {op}));
            ASSERT_TRUE(eltwise.ok()) << eltwise.status().message();
            const float* operand = other.data();
            const size_t operands = IsBinary(op.kind) ? 1 : 0;
            ASSERT_TRUE(eltwise->Run(in.data(), out.data(), {.operands = {&operand, operands}}).ok());
            for (size_t k = 0; k < out.size(); ++k) {
              const double want = reference::ApplyEltwise(op, in[k], 0, other[k]);
              if (std::isnan(want) || std::isinf(want)) {
                EXPECT_EQ(std::isnan(want), std::isnan(out[k])) << k;
                if (std::isinf(want)) EXPECT_EQ(out[k], static_cast<float>(want)) << k;
              } else {
                EXPECT_NEAR(out[k], want, 1e-6) << k;
              }
            }
            if (operands == 0 || special == special) continue;
            // NaN in the operand instead
            in.assign(in.size(), 0.75f), other[static_cast<size_t>(i)] = special;
            ASSERT_TRUE(eltwise->Run(in.data(), out.data(), {.operands = {&operand, operands}}).ok());
            for (size_t k = 0; k < out.size(); ++k) EXPECT_EQ(std::isnan(out[k]), k == static_cast<size_t>(i));
          }
        }
      }
    }
  });
}

TEST(Eltwise, OverlapInPartIsRefused) {
  std::vector<float> data(400);
  const EltwiseDesc desc = DescOf(Layout::kNhwc, 1, 8, 4, 4, {EltwiseOp::Add()});
  const Result<Eltwise> eltwise = Eltwise::Create(desc);
  ASSERT_TRUE(eltwise.ok());
  std::vector<float> other(128);
  const float* operand = other.data();
  const auto run = [&](const float* src, float* dst, const float* with) {
    operand = with;
    return eltwise->Run(src, dst, {.operands = {&operand, 1}});
  };
  EXPECT_TRUE(run(data.data(), data.data(), other.data()).ok());
  EXPECT_TRUE(run(other.data(), data.data(), data.data()).ok());
  EXPECT_TRUE(run(data.data(), data.data() + 128, other.data()).ok());
  for (const int64_t shift : {1, 8, 127}) {
    EXPECT_EQ(run(data.data(), data.data() + shift, other.data()).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(run(data.data() + shift, data.data(), other.data()).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(run(other.data(), data.data() + shift, data.data()).code(), StatusCode::kInvalidArgument);
  }
}

TEST(Eltwise, BadCallsAreRefused) {
  const Result<Eltwise> eltwise = Eltwise::Create(DescOf(Layout::kNhwc, 1, 8, 1, 1, {EltwiseOp::Relu()}));
  ASSERT_TRUE(eltwise.ok());
  std::vector<float> data(20);
  auto* odd = reinterpret_cast<float*>(reinterpret_cast<char*>(data.data()) + 2);
  const float* one = data.data();
  for (const Status& status :
       {eltwise->Run(nullptr, data.data()), eltwise->Run(data.data(), nullptr), eltwise->Run(odd, data.data() + 10),
        eltwise->Run(data.data(), odd), eltwise->Run(data.data(), data.data(), {.operands = {&one, 1}}),
        eltwise->Run(data.data(), data.data(), {.max_threads = -1})}) {
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message(), "");
  }
  const Result<Eltwise> sum = Eltwise::Create(DescOf(Layout::kNhwc, 1, 8, 1, 1, {EltwiseOp::Add()}));
  ASSERT_TRUE(sum.ok());
  const float* const* none = nullptr;
  EXPECT_EQ(sum->Run(data.data(), data.data(), {.operands = {none, 1}}).code(), StatusCode::kInvalidArgument);
  const Result<Eltwise> empty = Eltwise::Create(DescOf(Layout::kNhwc, 0, 8, 1, 1, {EltwiseOp::Relu()}));
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->Run(nullptr, nullptr).ok());
}

TEST(Eltwise, BadDescriptionsNameTheField) {
  const auto message = [](const EltwiseDesc& desc) {
    const Result<Eltwise> eltwise = Eltwise::Create(desc);
    return eltwise.ok() ? std::string() : std::string(eltwise.status().message());
  };
  const auto desc = [](EltwiseOps ops) { return DescOf(Layout::kNhwc, 1, 8, 4, 4, std::move(ops)); };
  EXPECT_EQ(message(desc({})), "ops: 0 operations, allowed: 1 to 8");
  EXPECT_EQ(message(desc(EltwiseOps(9, EltwiseOp::Relu()))), "ops: 9 operations, allowed: 1 to 8");
  EXPECT_EQ(message(desc({EltwiseOp::Prelu({1, 2})})), "ops[0].scale: 2 values, allowed: one per channel, 8");
  EXPECT_EQ(message(desc({EltwiseOp::Of(static_cast<EltwiseKind>(77))})),
            "ops[0].kind: 77 is unknown, allowed: 1 to 25");
  EXPECT_NE(message(desc({EltwiseOp::Clip(2, 1)})).find("ops[0].alpha: 2.0"), std::string::npos);
  EXPECT_NE(message(desc({EltwiseOp::Elu(kNan)})).find("ops[0].alpha"), std::string::npos);
  EXPECT_NE(message(desc({EltwiseOp::Add({.strides = Strides{128, 2, 32, 8}})})).find("ops[0].operand.strides.c: 2"),
            std::string::npos);
  EltwiseDesc mixed = desc({EltwiseOp::Relu()});
  mixed.dst.layout = Layout::kNchw;
  EXPECT_EQ(message(mixed), "dst.layout: 1 differs from the source's, allowed: NHWC");
  EltwiseDesc negative = desc({EltwiseOp::Relu()});
  negative.h = 0;
  EXPECT_EQ(message(negative), "h: 0 is too small, allowed: 1 and above");
  EXPECT_EQ(Eltwise::Create(desc({EltwiseOp::Relu()}), {.threads = -1}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace rafter
