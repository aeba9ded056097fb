// A warm Run allocates nothing and touches no fresh page: the allocator of this program counts its calls, the system
// counts the faults. For convolutions of every kind and for every operator, on one thread and on several.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "rafter/rafter.h"
#include "tests/support/random_tensor.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RAFTER_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RAFTER_SANITIZED 1
#endif
#endif

namespace {
std::atomic<int64_t> allocations{0};
}  // namespace

#if !defined(RAFTER_SANITIZED)
// glibc lets a program replace malloc; its own stays reachable under these names.
extern "C" {
void* __libc_malloc(size_t bytes);              // NOLINT
void* __libc_calloc(size_t count, size_t size);  // NOLINT
void* __libc_realloc(void* block, size_t bytes);  // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT

void* malloc(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, bytes);
}
int posix_memalign(void** block, size_t alignment, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *block = __libc_memalign(alignment, bytes);
  return *block != nullptr ? 0 : 12;
}
}
#endif

namespace rafter {
namespace {

int64_t Faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// Runs `call` until it is warm, then counts what a hundred more do.
template <typename Call>
void ExpectQuiet(const char* what, const Call& call) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(call().ok()) << what;
  // The system may map something behind our back (a thread's first deep call, a page taken away): the quietest of
  // several rounds counts.
  int64_t fewest_allocations = INT64_MAX, fewest_faults = INT64_MAX;
  for (int round = 0; round < 5; ++round) {
    const int64_t allocations_before = allocations, faults_before = Faults();
    for (int i = 0; i < 20; ++i) (void)call();
    fewest_faults = std::min(fewest_faults, Faults() - faults_before);
    fewest_allocations = std::min<int64_t>(fewest_allocations, allocations - allocations_before);
  }
  EXPECT_EQ(fewest_allocations, 0) << what;
  EXPECT_EQ(fewest_faults, 0) << what;
}

std::vector<float> Filled(int64_t floats) {
  std::vector<float> data(static_cast<size_t>(floats));
  testing::FillDense(data.data(), data.size(), testing::DataKind::kReal, 1);
  return data;
}

// The backends: OpenMP and own workers, which outlive a test.
std::vector<ParallelFor*> Backends() {
  static const auto workers = WorkerPool::Create({.threads = 2});
  return {OpenMpThreads(), workers.ok() ? workers->get() : OpenMpThreads()};
}

class WarmRun : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(RAFTER_SANITIZED)
    GTEST_SKIP() << "the sanitizers have an allocator of their own";
#endif
  }
};

TEST_F(WarmRun, TheCountersCount) {
  const int64_t before = allocations;
  const auto block = std::make_unique<std::vector<float>>(1000);
  EXPECT_GE(allocations - before, 2);
  EXPECT_EQ(block->size(), 1000u);
}

TEST_F(WarmRun, Convolutions) {
  const ConvDesc descs[] = {
      {.ic = 64, .oc = 64, .in = {14, 14}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.ic = 64, .oc = 128, .in = {14, 14}},
      {.groups = 32, .ic = 32, .oc = 32, .in = {14, 14}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.ic = 3, .oc = 16, .in = {32, 32}, .kernel = {7, 7}, .stride = {2, 2}, .pad = {3, 3, 3, 3}},
      {.groups = 4, .ic = 16, .oc = 16, .in = {14, 14}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}},
      {.ic = 64, .oc = 1, .in = {14, 14}, .kernel = {3, 3}, .pad = {1, 1, 1, 1}}};
  for (ConvDesc desc : descs) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      desc.src.layout = desc.dst.layout = layout;
      const Result<Conv> conv = Conv::Create(desc, {.threads = 2});
      ASSERT_TRUE(conv.ok());
      const std::vector<float> src = Filled(desc.in.h * desc.in.w * (desc.ic + 15) / 16 * 16);
      const std::vector<float> weights = Filled(desc.oc * desc.ic / desc.groups * desc.kernel.h * desc.kernel.w);
      std::vector<float> dst(static_cast<size_t>(conv->output_size().h * conv->output_size().w * (desc.oc + 15)));
      const Result<PackedWeights> packed = conv->PackWeights(weights.data(), nullptr);
      ASSERT_TRUE(packed.ok());
      for (ParallelFor* threads : Backends()) {
        ExpectQuiet(conv->kernel_name().c_str(),
                    [&] { return conv->Run(src.data(), *packed, dst.data(), {.threads = threads}); });
      }
    }
  }
}

TEST_F(WarmRun, Operators) {
  constexpr int64_t kC = 48, kH = 40, kW = 40, kFloats = kC * kH * kW;
  const std::vector<float> a = Filled(kFloats), b = Filled(kFloats);
  std::vector<float> dst(static_cast<size_t>(kC * 2 * (kH + 2) * (kW + 2)));
  for (ParallelFor* threads : Backends()) {
    for (const Layout layout : {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c}) {
      EltwiseDesc chain{.c = kC, .h = kH, .w = kW, .src = {layout}, .dst = {layout}};
      chain.ops = {EltwiseOp::Add(), EltwiseOp::Tanh()};
      const auto eltwise = Eltwise::Create(chain, {2});
      const float* const operands[] = {b.data()};
      ExpectQuiet("eltwise", [&] { return eltwise->Run(a.data(), dst.data(), {operands, threads, 0}); });
      PoolingDesc window{.c = kC, .in = {kH, kW}, .kernel = {3, 3}, .stride = {2, 2}, .src = {layout}, .dst = {layout}};
      const auto pooling = Pooling::Create(window, {2});
      ExpectQuiet("pooling", [&] { return pooling->Run(a.data(), dst.data(), {threads, 0}); });
      const auto softmax = Softmax::Create({1, kC, kH, kW, {layout}, {layout}}, {2});
      ExpectQuiet("softmax", [&] { return softmax->Run(a.data(), dst.data(), {threads, 0}); });
      ConcatDesc two{.h = kH, .w = kW, .inputs = {{kC, {layout}}, {kC, {layout}}}, .dst = {layout}};
      const auto concat = Concat::Create(two, {2});
      const float* const inputs[] = {a.data(), b.data()};
      ExpectQuiet("concat", [&] { return concat->Run(inputs, dst.data(), {threads, 0}); });
      const auto pad = Pad::Create({PadMode::kReflect, 0, 1, kC, {kH, kW}, {1, 1, 1, 1}, {layout}, {layout}}, {2});
      ExpectQuiet("pad", [&] { return pad->Run(a.data(), dst.data(), {threads, 0}); });
      const auto reorder = Reorder::Create({1, kC, kH, kW, {layout}, {Layout::kNchw8c}}, {2});
      ExpectQuiet("reorder", [&] { return reorder->Run(a.data(), dst.data(), {threads, 0}); });
    }
  }
}

}  // namespace
}  // namespace rafter
