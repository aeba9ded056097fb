// tests/jit/code_cache_test.cc: single flight, failures, the cap and its order, statistics, forks.
#include "jit/code_cache.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/jit/mapped_pages.h"

namespace rafter::jit {
namespace {

struct TestSpec {
  int32_t a = 0, b = 0;
};

Result<KernelPtr> MakeKernel(uint32_t value, size_t bytes = 6) {
  Result<ExecutableBlock> block = Publish(CodeReturning(value, bytes));
  if (!block.ok()) return block.status();
  return KernelPtr(std::make_shared<const CompiledKernel>("test", std::move(block).value()));
}

// Counts how often the cache had to compile.
class CodeCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    ClearCodeCache();
    ASSERT_EQ(GetCodeCacheStats().kernels, 0u);
  }
  void TearDown() override {
    SetCodeCacheLimit(size_t{64} << 20);
    ClearCodeCache();
  }
  Result<KernelPtr> Get(int32_t a, size_t bytes = 6, const char* family = "test") {
    return GetOrCompile(family, TestSpec{a, 1}, [&](const TestSpec& spec) {
      ++compilations_;
      return MakeKernel(static_cast<uint32_t>(spec.a), bytes);
    });
  }
  std::atomic<int> compilations_{0};
};

TEST_F(CodeCacheTest, SecondRequestGetsTheSameKernel) {
  const CodeCacheStats before = GetCodeCacheStats();
  const Result<KernelPtr> first = Get(1), second = Get(1);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first.value(), second.value());
  EXPECT_EQ(CallCode((*first)->code()), 1u);
  EXPECT_EQ(compilations_, 1);
  const CodeCacheStats after = GetCodeCacheStats();
  EXPECT_EQ(after.kernels, 1u);
  EXPECT_EQ(after.code_bytes, 6u);
  EXPECT_EQ(after.hits, before.hits + 1);
  EXPECT_EQ(after.misses, before.misses + 1);
}

TEST_F(CodeCacheTest, KeysAreFamilyAndEveryByteOfTheSpec) {
  const auto compile = [this] {
    ++compilations_;
    return MakeKernel(1);
  };
  using namespace std::string_view_literals;
  const std::vector<std::pair<std::string_view, std::string_view>> keys = {
      {"ab", "c"}, {"a", "bc"},    {"abc", ""},   {"", "abc"},
      {"a", "b"},  {"a", "b\0"sv}, {"a\0"sv, "b"}};
  std::vector<KernelPtr> kernels;
  for (const auto& [family, spec] : keys) {
    kernels.push_back(GetOrCompileBytes(family, spec, compile).value());
  }
  EXPECT_EQ(compilations_, static_cast<int>(keys.size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(GetOrCompileBytes(keys[i].first, keys[i].second, compile).value(), kernels[i]);
  }
  EXPECT_EQ(compilations_, static_cast<int>(keys.size()));
}

TEST_F(CodeCacheTest, EightThreadsCompileOnce) {
  for (int32_t round = 0; round < 20; ++round) {
    compilations_ = 0;
    std::vector<std::thread> threads;
    std::array<KernelPtr, 8> kernels;
    for (KernelPtr& kernel : kernels) {
      threads.emplace_back([&] {
        kernel = GetOrCompile("flight", TestSpec{round, 0}, [&](const TestSpec&) {
                   ++compilations_;
                   std::this_thread::sleep_for(std::chrono::milliseconds(2));
                   return MakeKernel(5);
                 }).value();
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(compilations_, 1);
    for (const KernelPtr& kernel : kernels) EXPECT_EQ(kernel, kernels[0]);
  }
}

TEST_F(CodeCacheTest, NoLockIsHeldWhileCompiling) {
  const Result<KernelPtr> outer = GetOrCompile("outer", TestSpec{1, 1}, [&](const TestSpec&) {
    EXPECT_TRUE(Get(2).ok());  // another kernel, from the same thread
    std::thread([&] { EXPECT_TRUE(Get(3).ok()); }).join();
    ClearCodeCache();
    EXPECT_EQ(GetCodeCacheStats().kernels, 0u);
    return MakeKernel(1);
  });
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ(GetCodeCacheStats().kernels, 1u);
}

TEST_F(CodeCacheTest, AskingForItselfIsAnError) {
  Result<KernelPtr> inner = Status::OutOfMemory();
  const Result<KernelPtr> outer = GetOrCompile("self", TestSpec{1, 1}, [&](const TestSpec& spec) {
    inner = GetOrCompile("self", spec, [](const TestSpec&) { return MakeKernel(2); });
    return MakeKernel(1);
  });
  EXPECT_TRUE(outer.ok());
  EXPECT_EQ(inner.status().code(), StatusCode::kInternal);
}

TEST_F(CodeCacheTest, FailureReachesAllWaitersAndIsNotKept) {
  std::vector<std::thread> threads;
  std::atomic<int> failures{0}, entered{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      ++entered;
      const Result<KernelPtr> result =
          GetOrCompile("failing", TestSpec{1, 1}, [&](const TestSpec&) -> Result<KernelPtr> {
            ++compilations_;
            while (entered < 8) std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            return Status::Internal("does not compile");
          });
      if (result.status().message() == "does not compile") ++failures;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 8);
  EXPECT_LT(compilations_, 8);  // 1 unless a thread slept for all of the 50 ms
  EXPECT_EQ(GetCodeCacheStats().kernels, 0u);
  const Result<KernelPtr> again =
      GetOrCompile("failing", TestSpec{1, 1}, [](const TestSpec&) { return MakeKernel(9); });
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(CallCode((*again)->code()), 9u);
}

TEST_F(CodeCacheTest, ExceptionsAndMissingKernelsBecomeErrors) {
  const auto code_of = [](const std::function<Result<KernelPtr>()>& compile) {
    return GetOrCompileBytes("bad", "spec", compile).status().code();
  };
  EXPECT_EQ(code_of([]() -> Result<KernelPtr> { throw std::bad_alloc(); }),
            StatusCode::kOutOfMemory);
  EXPECT_EQ(code_of([]() -> Result<KernelPtr> { throw std::runtime_error("x"); }),
            StatusCode::kInternal);
  EXPECT_EQ(code_of([] { return KernelPtr(); }), StatusCode::kInternal);
  EXPECT_EQ(GetCodeCacheStats().kernels, 0u);
}

TEST_F(CodeCacheTest, DropsTheLeastRecentlyUsedThatNobodyHolds) {
  SetCodeCacheLimit(4 * 4096);
  const KernelPtr held = Get(0).value();
  for (int32_t i = 1; i <= 3; ++i) ASSERT_TRUE(Get(i).ok());
  ASSERT_TRUE(Get(1).ok());  // now 2 is the oldest that nobody holds
  ASSERT_TRUE(Get(4).ok());
  EXPECT_EQ(GetCodeCacheStats().kernels, 4u);
  EXPECT_EQ(compilations_, 5);
  for (const int32_t kept : {0, 1, 3, 4}) ASSERT_TRUE(Get(kept).ok());
  EXPECT_EQ(compilations_, 5);
  ASSERT_TRUE(Get(2).ok());
  EXPECT_EQ(compilations_, 6);
  EXPECT_EQ(Get(0).value(), held);
  EXPECT_EQ(compilations_, 6);
}

TEST_F(CodeCacheTest, HeldKernelsMayExceedTheCap) {
  SetCodeCacheLimit(0);
  std::vector<KernelPtr> held;
  for (int32_t i = 0; i < 10; ++i) held.push_back(Get(i).value());
  EXPECT_EQ(GetCodeCacheStats().kernels, 10u);
  for (int32_t i = 0; i < 10; ++i) EXPECT_EQ(Get(i).value(), held[i]);
  held.clear();
  ASSERT_TRUE(Get(10).ok());
  EXPECT_LE(GetCodeCacheStats().kernels, 1u);
}

TEST_F(CodeCacheTest, LoweringTheCapDropsAtOnce) {
  for (int32_t i = 0; i < 10; ++i) ASSERT_TRUE(Get(i).ok());
  const uint64_t evictions = GetCodeCacheStats().evictions;
  SetCodeCacheLimit(3 * 4096);
  EXPECT_EQ(GetCodeCacheStats().kernels, 3u);
  EXPECT_EQ(GetCodeCacheStats().evictions, evictions + 7);
}

TEST_F(CodeCacheTest, ClearKeepsWhatIsHeld) {
  const KernelPtr held = Get(1, 100).value();
  ASSERT_TRUE(Get(2, 200).ok());
  ClearCodeCache();
  EXPECT_EQ(GetCodeCacheStats().kernels, 1u);
  EXPECT_EQ(GetCodeCacheStats().code_bytes, 100u);
  EXPECT_EQ(CallCode(held->code()), 1u);
  EXPECT_EQ(Get(1).value(), held);
}

TEST_F(CodeCacheTest, TenThousandSpecsReachAPlateau) {
  constexpr size_t kLimit = size_t{2} << 20;
  SetCodeCacheLimit(kLimit);
  size_t mapped_at_half = 0;
  for (int32_t i = 0; i < 10000; ++i) {
    const Result<KernelPtr> kernel = Get(i, 500 + i % 5000);
    ASSERT_TRUE(kernel.ok());
    ASSERT_EQ(CallCode((*kernel)->code()), static_cast<uint32_t>(i));
    ASSERT_LE(GetCodeCacheStats().code_bytes, kLimit);
    if (i == 5000) mapped_at_half = ExecutableBytesMapped();
  }
  EXPECT_EQ(compilations_, 10000);
  EXPECT_LE(mapped_at_half,
            kLimit + (size_t{3} << 20));  // fragments, the spare arena, one under way
  EXPECT_LE(ExecutableBytesMapped(), mapped_at_half + (size_t{1} << 20));
}

TEST_F(CodeCacheTest, ManyThreadsManySpecsSmallCap) {
  SetCodeCacheLimit(size_t{64} << 10);
  std::vector<std::thread> threads;
  for (int32_t t = 0; t < 8; ++t) {
    threads.emplace_back([this, t] {
      for (int32_t i = 0; i < 500; ++i) {
        const int32_t spec = (i * 7 + t) % 40;
        const Result<KernelPtr> kernel = Get(spec);
        ASSERT_TRUE(kernel.ok());
        ASSERT_EQ(CallCode((*kernel)->code()), static_cast<uint32_t>(spec));
        if (i % 100 == 0) ClearCodeCache();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Get(1000).ok());
  EXPECT_LE(GetCodeCacheStats().kernels, 17u);
}

// A forked child has the kernels, and compiles anew what another thread was compiling.
TEST_F(CodeCacheTest, ForkedChildDoesNotWaitForThreadsItLacks) {
  const KernelPtr finished = Get(1).value();
  std::atomic<bool> compiling{false}, release{false};
  std::thread compiler([&] {
    const Result<KernelPtr> kernel = GetOrCompile("slow", TestSpec{2, 1}, [&](const TestSpec&) {
      compiling = true;
      while (!release) std::this_thread::yield();
      return MakeKernel(2);
    });
    EXPECT_EQ(CallCode((*kernel)->code()), 2u);
  });
  while (!compiling) std::this_thread::yield();
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);
    const Result<KernelPtr> same = Get(1);
    const Result<KernelPtr> fresh =
        GetOrCompile("slow", TestSpec{2, 1}, [](const TestSpec&) { return MakeKernel(3); });
    const bool right =
        same.ok() && same.value() == finished && fresh.ok() && CallCode((*fresh)->code()) == 3;
    _exit(right ? 0 : 1);
  }
  release = true;
  compiler.join();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace rafter::jit
