// tests/kernels/conv/conv_test.cc: the public face: creation, checks of a call, scratch, threads,
// listings. Values are the business of the tests of each algorithm.
#include "rafter/conv.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "kernels/conv/plan.h"
#include "rafter/memory_pool.h"
#include "rafter/wisdom.h"
#include "tests/support/conv_tester.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/inline_threads.h"

namespace rafter {
namespace {

using testing::ConvTester;
using testing::DataKind;
using testing::InlineThreads;

const ConvDesc kSmall{
    .n = 2, .ic = 3, .oc = 5, .in = {6, 7}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}};

// A convolution with its tensors, ready to run.
struct Ready {
  explicit Ready(const ConvDesc& desc, const ConvOptions& options = {.threads = 1})
      : conv(*Conv::Create(desc, options)),
        weights(
            static_cast<size_t>(desc.oc * desc.ic / desc.groups * desc.kernel.h * desc.kernel.w),
            1),
        packed(*conv.PackWeights(weights.data(), nullptr)),
        src(static_cast<size_t>(desc.n * desc.ic * desc.in.h * desc.in.w), 1),
        dst(static_cast<size_t>(desc.n * desc.oc * conv.output_size().h * conv.output_size().w),
            -1) {}
  Status Run(const RunOptions& options = {}) {
    return conv.Run(src.data(), packed, dst.data(), options);
  }

  Conv conv;
  std::vector<float> weights;
  PackedWeights packed;
  std::vector<float> src, dst;
};

void ExpectBad(const Status& status, const char* words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
}

TEST(ConvCreate, Accessors) {
  const auto conv = Conv::Create(kSmall, {.threads = 3});
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  EXPECT_EQ(conv->desc().ic, 3);
  EXPECT_EQ(conv->output_size(), (Size2{6, 7}));
  EXPECT_GE(conv->threads(), 1);
  EXPECT_LE(conv->threads(), 3);
  EXPECT_FALSE(conv->kernel_name().empty());
  EXPECT_LE(conv->isa(), DetectedIsa());
}

TEST(ConvCreate, RefusesBadRequests) {
  ConvDesc desc = kSmall;
  desc.groups = 2;
  ExpectBad(Conv::Create(desc).status(), "ic: 3 is not divisible by groups = 2");
  ExpectBad(Conv::Create(kSmall, {.threads = -1}).status(),
            "threads: -1 is out of range, allowed: 0");
  ExpectBad(Conv::Create(kSmall, {.threads = 1025}).status(), "threads: 1025");
  ExpectBad(Conv::Create(kSmall, {.accuracy = static_cast<Accuracy>(7)}).status(), "accuracy: 7");
  ExpectBad(Conv::Create(kSmall, {.plan = static_cast<Planning>(2)}).status(),
            "plan: 2 is unknown, allowed: 0 (model), 1 (measure)");
  ExpectBad(Conv::Create(kSmall, {.algorithm = "fft"}).status(), "\"fft\" is unknown, allowed:");
  ExpectBad(Explain(desc).status(), "ic: 3");
}

TEST(ConvCreate, WithoutVectorUnitsTheReferenceRuns) {
  const testing::ScopedMaxIsa cap(Isa::kNone);
  const auto conv = Conv::Create(kSmall);
  ASSERT_TRUE(conv.ok());
  EXPECT_STREQ(conv->algorithm(), "reference");
  EXPECT_EQ(conv->isa(), Isa::kNone);
}

TEST(ConvRun, Succeeds) {
  Ready ready(kSmall);
  ASSERT_TRUE(ready.Run().ok());
  EXPECT_EQ(ready.dst[0], 12);            // a corner sees 2x2 taps of 3 channels
  EXPECT_EQ(ready.dst[(7 + 1) * 5], 27);  // an inner pixel all nine
}

TEST(ConvRun, NoImagesIsSuccessWithoutWork) {
  ConvDesc desc = kSmall;
  desc.n = 0;
  const auto conv = Conv::Create(desc);
  ASSERT_TRUE(conv.ok()) << conv.status().message();
  // Empty tensors may well be null.
  EXPECT_TRUE(conv->Run(nullptr, PackedWeights(), nullptr).ok());
}

TEST(ConvRun, RefusesPointers) {
  Ready ready(kSmall);
  const auto run = [&](const float* src, float* dst) {
    return ready.conv.Run(src, ready.packed, dst);
  };
  ExpectBad(run(nullptr, ready.dst.data()), "src: is null");
  ExpectBad(run(ready.src.data(), nullptr), "dst: is null");
  const auto odd = reinterpret_cast<uintptr_t>(ready.src.data()) + 2;
  ExpectBad(run(reinterpret_cast<const float*>(odd), ready.dst.data()), "src: is not aligned");
  ExpectBad(run(ready.src.data(), reinterpret_cast<float*>(odd)), "dst: is not aligned");
  ExpectBad(run(ready.src.data(), ready.src.data()), "dst: overlaps src");
  for (const float value : ready.dst) ASSERT_EQ(value, -1);
}

TEST(ConvRun, RefusesForeignWeights) {
  Ready ready(kSmall);
  ExpectBad(ready.conv.Run(ready.src.data(), PackedWeights(), ready.dst.data()),
            "weights: are empty");
  ConvDesc other = kSmall;
  other.oc = 6;
  const Ready wider(other);
  ExpectBad(ready.conv.Run(ready.src.data(), wider.packed, ready.dst.data()),
            "weights: were packed for another layer");
  // The same number of weights in another shape.
  other = kSmall;
  other.kernel = {1, 9};
  other.pad = {0, 4, 0, 4};
  const Ready flat(other);
  ExpectBad(ready.conv.Run(ready.src.data(), flat.packed, ready.dst.data()),
            "weights: were packed");
}

TEST(ConvRun, WeightsServeOtherImagesBatchesAndThreads) {
  const Ready small(kSmall);
  ConvDesc desc = kSmall;
  desc.n = 5;
  desc.in = {20, 31};
  Ready big(desc, {.threads = 4});
  EXPECT_TRUE(big.conv.Run(big.src.data(), small.packed, big.dst.data()).ok());
}

TEST(ConvRun, RefusesResiduals) {
  ConvDesc desc = kSmall;
  desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu(), PostOp::ResidualAdd()};
  Ready ready(desc);
  const std::vector<float> residual(ready.dst.size(), 1);
  const float* pointers[] = {residual.data(), residual.data(), residual.data()};
  ExpectBad(ready.Run(), "residuals: wrong number");
  ExpectBad(ready.Run({.residuals = {pointers, 1}}), "residuals: wrong number");
  ExpectBad(ready.Run({.residuals = {pointers, 3}}), "residuals: wrong number");
  EXPECT_TRUE(ready.Run({.residuals = {pointers, 2}}).ok());
  pointers[1] = nullptr;
  ExpectBad(ready.Run({.residuals = {pointers, 2}}), "residuals: one is null");
  pointers[1] = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(residual.data()) + 1);
  ExpectBad(ready.Run({.residuals = {pointers, 2}}), "residuals: one is not aligned");
}

TEST(ConvRun, RefusesScratch) {
  Ready ready(kSmall);
  alignas(64) std::byte scratch[128];
  ExpectBad(ready.Run({.scratch = {scratch + 1, 127}}), "scratch: is not aligned to 64 bytes");
  EXPECT_TRUE(ready.conv.scratch_bytes() > 128 || ready.Run({.scratch = scratch}).ok());
}

TEST(ConvRun, ThreadLimits) {
  Ready ready({.n = 8, .ic = 16, .oc = 32, .in = {32, 32}, .kernel = {3, 3}},
              {.threads = 6, .algorithm = "reference"});
  ASSERT_EQ(ready.conv.threads(), 6);
  const auto tasks = [&](int pool_threads, int max_threads) {
    InlineThreads pool(pool_threads);
    EXPECT_TRUE(ready.Run({.threads = &pool, .max_threads = max_threads}).ok());
    return pool.most_tasks();
  };
  EXPECT_EQ(tasks(8, 0), 6);  // the plan's own
  EXPECT_EQ(tasks(4, 0), 4);  // the pool's
  EXPECT_EQ(tasks(8, 3), 3);  // the call's
  EXPECT_EQ(tasks(8, 1), 0);  // one thread is a plain call
  ExpectBad(ready.Run({.max_threads = -1}), "max_threads: is negative");
}

TEST(ConvRun, SeveralThreadsShareOnePlan) {
  Ready ready({.ic = 16, .oc = 16, .in = {12, 12}, .kernel = {3, 3}});
  ASSERT_TRUE(ready.Run().ok());
  std::vector<std::vector<float>> results(4, std::vector<float>(ready.dst.size()));
  {
    std::vector<std::jthread> threads;
    for (auto& result : results) {
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) {
          EXPECT_TRUE(ready.conv.Run(ready.src.data(), ready.packed, result.data()).ok());
        }
      });
    }
  }
  for (const auto& result : results) EXPECT_EQ(result, ready.dst);
}

TEST(ConvRun, WarmPoolIsNotMappedAgain) {
  ConvDesc desc = kSmall;
  desc.src.layout = Layout::kNchw;
  MemoryPool pool;
  Ready ready(desc);
  ASSERT_TRUE(ready.Run({.pool = &pool}).ok());
  const size_t calls = pool.stats().system_calls;
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(ready.Run({.pool = &pool}).ok());
  EXPECT_EQ(pool.stats().system_calls, calls);
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST(ConvRun, ExhaustedPoolIsOutOfMemory) {
  ConvDesc desc = kSmall;
  desc.src.layout = Layout::kNchw;
  Ready ready(desc);
  if (ready.conv.scratch_bytes() == 0) GTEST_SKIP() << "the plan needs no scratch";
  MemoryPool none({.limit_bytes = 0});
  for (int i = 0; i < 3; ++i) {  // and again: nothing is left behind
    EXPECT_EQ(ready.Run({.pool = &none}).code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(none.stats().in_use_bytes, 0u);
    EXPECT_EQ(none.stats().mapped_bytes, 0u);
  }
  // Somebody else holds all that the limit allows.
  MemoryPool full({.limit_bytes = size_t{4} << 20});
  std::vector<void*> taken;
  for (size_t bytes = size_t{1} << 20; bytes >= 64; bytes /= 2) {
    while (void* block = full.Allocate(bytes)) taken.push_back(block);
  }
  const size_t in_use = full.stats().in_use_bytes;
  EXPECT_EQ(ready.Run({.pool = &full}).code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(full.stats().in_use_bytes, in_use);
  EXPECT_EQ(ready.dst, std::vector<float>(ready.dst.size(), -1)) << "no element was written";
  for (void* block : taken) full.Free(block);
  EXPECT_TRUE(ready.Run({.pool = &full}).ok());
  EXPECT_EQ(full.stats().in_use_bytes, 0u);
}

TEST(ConvPack, RefusesPointers) {
  const auto conv = Conv::Create(kSmall);
  ASSERT_TRUE(conv.ok());
  const std::vector<float> weights(5 * 27);
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(weights.data()) + 1);
  ExpectBad(conv->PackWeights(nullptr, nullptr).status(), "oihw: is null");
  ExpectBad(conv->PackWeights(odd, nullptr).status(), "oihw: is not aligned");
  ExpectBad(conv->PackWeights(weights.data(), odd).status(), "bias: is not aligned");
}

TEST(ConvExplain, ListsEveryAlgorithm) {
  const auto text = Explain(kSmall, {.threads = 1});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(
      text->find("problem: 2 images of 6x7 with 3 channels to 6x7 with 5, kernel 3x3, stride 1x1, "
                 "padding top 1 left 1 bottom 1 right 1\n"),
      0u)
      << *text;
  EXPECT_NE(text->find("\nreference: "), std::string::npos);
  EXPECT_NE(text->find(": chosen, predicted "), std::string::npos);
  EXPECT_NE(text->find("\nkernel: "), std::string::npos);
  EXPECT_NE(text->find("\norder of the sum: "), std::string::npos);
  EXPECT_EQ(text->back(), '\n');
}

TEST(ConvExplain, SaysWhenExecutableMemoryIsRefused) {
  // A fresh process, since the answer is decided once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("RAFTER_NO_JIT", "1", 1);
        const auto text = Explain(kSmall);
        const bool said = text.ok() &&
                          text->find("executable memory: refused") != std::string::npos &&
                          text->find("reference: chosen") != std::string::npos;
        _exit(said ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

// A 1x1 layer has two candidates at least: as a matrix product, and as any kernel size.
const ConvDesc kPointwise{.ic = 32, .oc = 32, .in = {9, 9}};

class ConvMeasureTest : public ::testing::Test {
 protected:
  void SetUp() override { ForgetWisdom(); }
  void TearDown() override { ForgetWisdom(); }
};

TEST_F(ConvMeasureTest, ChoosesAndRemembersACandidate) {
  testing::ForEachIsa([](Isa) {
    ForgetWisdom();
    const auto measured = Explain(kPointwise, {.threads = 2, .plan = Planning::kMeasure});
    ASSERT_TRUE(measured.ok()) << measured.status().message();
    EXPECT_NE(measured->find(": chosen by measurement, "), std::string::npos) << *measured;
    EXPECT_NE(measured->find(": not chosen, measured "), std::string::npos) << *measured;
    const std::string wisdom = ExportWisdom();
    EXPECT_EQ(std::count(wisdom.begin(), wisdom.end(), '\n'), 2) << wisdom;
    for (const Planning plan : {Planning::kModel, Planning::kMeasure}) {
      const auto again = Explain(kPointwise, {.threads = 2, .plan = plan});
      ASSERT_TRUE(again.ok());
      EXPECT_NE(again->find(": chosen by wisdom, "), std::string::npos) << *again;
    }
    EXPECT_EQ(ExportWisdom(), wisdom);
    // Another thread count is another question.
    const auto other = Explain(kPointwise, {.threads = 1});
    EXPECT_NE(other->find(": chosen, predicted "), std::string::npos) << *other;
  });
}

TEST_F(ConvMeasureTest, GivesRightResults) {
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
    for (ConvDesc desc : {kPointwise, kSmall}) {
      desc.src.layout = desc.dst.layout = layout;
      desc.post_ops = {PostOp::ResidualAdd(), PostOp::Relu()};
      const auto conv = Conv::Create(desc, {.threads = 2, .plan = Planning::kMeasure});
      ASSERT_TRUE(conv.ok()) << conv.status().message();
      // The tester's plan finds the wisdom.
      ConvTester tester(desc);
      EXPECT_TRUE(tester.Transforms().Data(DataKind::kInteger).Threads(2).Run());
      EXPECT_EQ(tester.algorithm(), conv->algorithm());
    }
  }
}

TEST_F(ConvMeasureTest, EveryCandidateMayBeTheFastest) {
  testing::ForEachIsa([](Isa) {
    for (const char* algorithm : {"pointwise", "direct", "pointwise+reorder", "reference"}) {
      ForgetWisdom();
      ASSERT_TRUE(Conv::Create(kPointwise, {.threads = 1, .plan = Planning::kMeasure}).ok());
      std::string wisdom = ExportWisdom();
      wisdom.resize(wisdom.rfind(' '));
      wisdom.resize(wisdom.rfind(' ') + 1);
      ASSERT_TRUE(ImportWisdom(wisdom + algorithm + " 1.000\n").ok());
      ConvTester tester(kPointwise);
      EXPECT_TRUE(tester.Data(DataKind::kInteger).Run());
      const auto text = Explain(kPointwise, {.threads = 1});
      const bool refuses =
          text->find("\n" + std::string(algorithm) + ": refused") != std::string::npos;
      EXPECT_NE(refuses, text->find("\n" + std::string(algorithm) + ": chosen by wisdom, 1.00 us") !=
                             std::string::npos)
          << *text;
    }
  });
}

TEST_F(ConvMeasureTest, OutOfMemory) {
  if (DetectedIsa() == Isa::kNone) GTEST_SKIP() << "the reference is alone";
  MemoryPool none({.limit_bytes = 0});
  const auto conv = Conv::Create(kPointwise, {.plan = Planning::kMeasure, .pool = &none});
  EXPECT_EQ(conv.status().code(), StatusCode::kOutOfMemory);
  // More than an address space holds.
  ConvDesc huge = kPointwise;
  huge.n = int64_t{1} << 44;
  EXPECT_EQ(Conv::Create(huge, {.plan = Planning::kMeasure}).status().code(),
            StatusCode::kOutOfMemory);
  EXPECT_TRUE(Conv::Create(huge).ok());
  EXPECT_TRUE(Conv::Create(kPointwise, {.pool = &none}).ok()) << "the model needs no memory";
}

TEST_F(ConvMeasureTest, ReturnsTheMemoryOfAPool) {
  MemoryPool pool;
  ASSERT_TRUE(Conv::Create(kPointwise, {.plan = Planning::kMeasure, .pool = &pool}).ok());
  EXPECT_EQ(pool.stats().in_use_bytes, 0u);
}

TEST_F(ConvMeasureTest, NoImagesNothingToMeasure) {
  ConvDesc desc = kPointwise;
  desc.n = 0;
  ASSERT_TRUE(Conv::Create(desc, {.plan = Planning::kMeasure}).ok());
  EXPECT_EQ(ExportWisdom(), "rafter wisdom 1\n");
}

TEST_F(ConvMeasureTest, ThreadsMeasureOneAfterTheOther) {
  std::vector<std::string> chosen(4);
  {
    std::vector<std::jthread> threads;
    for (std::string& name : chosen) {
      threads.emplace_back([&name] {
        const auto conv = Conv::Create(kPointwise, {.threads = 1, .plan = Planning::kMeasure});
        ASSERT_TRUE(conv.ok());
        name = conv->algorithm();
      });
    }
  }
  for (const std::string& name : chosen) EXPECT_EQ(name, chosen[0]);
}

TEST(ClearKernelCache, LeavesPlansWorking) {
  Ready ready(kSmall);
  ClearKernelCache();
  EXPECT_TRUE(ready.Run().ok());
}

// Shapes of public bug reports about other libraries, by whatever algorithm is chosen: see the head
// of each line for the kind of fault.
TEST(ConvEdgeCases, AgreeWithTheReference) {
  const std::vector<ConvDesc> cases = {
      // Taps only in padding.
      {.n = 3,
       .ic = 64,
       .oc = 64,
       .in = {1, 1},
       .kernel = {125, 1},
       .stride = {2, 2},
       .pad = {63, 63, 63, 63}},
      // Left padding beyond a narrow image.
      {.ic = 16, .oc = 16, .in = {5, 3}, .kernel = {7, 7}, .pad = {3, 3, 3, 3}},
      {.ic = 16, .oc = 16, .in = {10, 10}, .kernel = {5, 5}, .pad = {7, 7, 7, 7}},
      // Input smaller than the stride.
      {.ic = 128, .oc = 256, .in = {1, 1}, .kernel = {3, 3}, .stride = {2, 2}, .pad = {1, 1, 1, 1}},
      // Different strides per axis, kernel nearly as large as the image.
      {.n = 2, .ic = 32, .oc = 32, .in = {41, 79}, .kernel = {10, 5}, .stride = {2, 1}},
      // Tails of every width.
      {.ic = 19, .oc = 13, .in = {13, 13}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.ic = 29, .oc = 65, .in = {13, 13}},
      {.ic = 72, .oc = 80, .in = {6, 6}},
      {.groups = 4, .ic = 20, .oc = 20, .in = {5, 5}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.groups = 4, .ic = 16, .oc = 16, .in = {13, 13}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.groups = 3, .ic = 6, .oc = 9, .in = {7, 7}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      // One row: a 1-D convolution written as 2-D, by groups of one channel.
      {.groups = 32, .ic = 32, .oc = 32, .in = {1, 32}, .kernel = {1, 3}, .pad = {0, 1, 0, 1}},
      // A long kernel over a group.
      {.groups = 16, .ic = 64, .oc = 64, .in = {1, 60}, .kernel = {1, 128}, .pad = {0, 64, 0, 64}},
      // Few channels.
      {.ic = 6, .oc = 8, .in = {9, 9}, .kernel = {3, 3}},
      {.ic = 16, .oc = 3, .in = {30, 30}, .kernel = {11, 11}, .stride = {4, 4}},
      // Right padding only; a kernel narrower than the stride.
      {.ic = 1, .oc = 1, .in = {32, 64}, .kernel = {2, 4}, .stride = {2, 1}, .pad = {0, 1, 0, 2}},
      {.ic = 8,
       .oc = 8,
       .in = {23, 12},
       .kernel = {2, 1},
       .stride = {2, 13},
       .pad = {1, 14, 1, 14}},
      // Padding as wide as the dilation, activations on outputs without taps.
      {.ic = 8,
       .oc = 8,
       .in = {20, 20},
       .kernel = {3, 3},
       .dilation = {16, 16},
       .pad = {16, 16, 16, 16},
       .post_ops = {PostOp::Relu(), PostOp::Tanh()}},
  };
  for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c}) {
    for (ConvDesc desc : cases) {
      desc.src.layout = desc.dst.layout = layout;
      EXPECT_TRUE(ConvTester(desc).Data(DataKind::kInteger).Threads(2).Run());
      EXPECT_TRUE(ConvTester(desc).Data(DataKind::kSpecials).Run());
    }
  }
}

}  // namespace
}  // namespace rafter
