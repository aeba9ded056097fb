// tests/jit/executable_arenas_test.cc: the choice of the method under systems that refuse things,
// reuse of memory, and what is mapped when.
#include "jit/executable_arenas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "tests/jit/mapped_pages.h"

namespace rafter::jit {
namespace {

using Method = ExecutableArenas::Method;

// The real system, with refusals: each member is the errno value of its call, 0 to let it pass.
class FussyPages : public PageSource {
 public:
  int Map(size_t bytes, int protection, int file, void** address) noexcept override {
    EXPECT_NE(protection, PROT_READ | PROT_WRITE | PROT_EXEC);
    const bool executable = (protection & PROT_EXEC) != 0;
    if (const int error = executable ? map_executable_error : map_error) return error;
    const int error = PageSource::Map(bytes, protection, file, address);
    if (error == 0) ++mappings;
    return error;
  }
  int Unmap(void* address, size_t bytes) noexcept override {
    --mappings;
    return PageSource::Unmap(address, bytes);
  }
  int Protect(void* address, size_t bytes, int protection) noexcept override {
    EXPECT_NE(protection, PROT_READ | PROT_WRITE | PROT_EXEC);
    ++protect_calls;
    const bool executable = (protection & PROT_EXEC) != 0;
    if (const int error = executable ? protect_executable_error : protect_writable_error)
      return error;
    return PageSource::Protect(address, bytes, protection);
  }
  int OpenFile(size_t bytes, int* file) noexcept override {
    if (const int error = file_error) return error;
    const int error = PageSource::OpenFile(bytes, file);
    if (error == 0) ++open_files;
    return error;
  }
  void CloseFile(int file) noexcept override {
    --open_files;
    PageSource::CloseFile(file);
  }

  std::atomic<int> map_error{0}, map_executable_error{0}, file_error{0};
  std::atomic<int> protect_executable_error{0}, protect_writable_error{0};
  std::atomic<int> mappings{0}, open_files{0}, protect_calls{0};
};

// Runs every test of its suite with the first and with the second method.
class ExecutableArenasBothMethods : public testing::TestWithParam<Method> {
 protected:
  void SetUp() override {
    if (GetParam() == Method::kDualMapping) pages_.protect_executable_error = EACCES;
  }
  void TearDown() override {
    EXPECT_EQ(pages_.open_files, 0);
    EXPECT_EQ(WritableAndExecutableMappings(), "");
  }
  size_t granule() const {
    return GetParam() == Method::kMprotect ? ExecutableArenas::kPageBytes
                                           : ExecutableArenas::kCodeAlignment;
  }
  FussyPages pages_;
};

INSTANTIATE_TEST_SUITE_P(Methods, ExecutableArenasBothMethods,
                         testing::Values(Method::kMprotect, Method::kDualMapping),
                         [](const auto& param_info) {
                           return param_info.param == Method::kMprotect ? "Mprotect"
                                                                        : "DualMapping";
                         });

TEST_P(ExecutableArenasBothMethods, PublishedCodeRunsAndIsNotWritable) {
  ExecutableArenas arenas(pages_, true);
  EXPECT_TRUE(arenas.Allowed());
  EXPECT_EQ(arenas.method(), GetParam());
  std::vector<const uint8_t*> published;
  for (uint32_t i = 0; i < 300; ++i) {
    const std::vector<uint8_t> code = CodeReturning(i, 6 + 50 * i);
    const auto address = arenas.Publish(code);
    ASSERT_TRUE(address.ok()) << address.status().message();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address.value()) % ExecutableArenas::kCodeAlignment, 0u);
    EXPECT_EQ(PermissionsOf(address.value()).substr(0, 3), "r-x");
    published.push_back(address.value());
  }
  EXPECT_EQ(WritableAndExecutableMappings(), "");
  for (uint32_t i = 0; i < published.size(); ++i) EXPECT_EQ(CallCode(published[i]), i);
  for (uint32_t i = 0; i < published.size(); ++i) arenas.Free(published[i], 6 + 50 * i);
  EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);  // the spare one
}

TEST_P(ExecutableArenasBothMethods, FreedMemoryIsReused) {
  ExecutableArenas arenas(pages_, true);
  const size_t bytes = 3 * granule();
  const auto first = arenas.Publish(CodeReturning(1, bytes));
  const auto second = arenas.Publish(CodeReturning(2, bytes));
  const auto third = arenas.Publish(CodeReturning(3, bytes));
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  arenas.Free(first.value(), bytes);
  arenas.Free(second.value(), bytes);
  EXPECT_EQ(CallCode(third.value()), 3u);
  const auto merged = arenas.Publish(CodeReturning(4, 2 * bytes));  // fits only where both were
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged.value(), first.value());
  EXPECT_EQ(CallCode(merged.value()), 4u);
  EXPECT_EQ(CallCode(third.value()), 3u);
}

TEST_P(ExecutableArenasBothMethods, EmptyArenasBeyondOneAreUnmapped) {
  {
    ExecutableArenas arenas(pages_, true);
    const size_t bytes = ExecutableArenas::kArenaBytes / 2;
    std::vector<const uint8_t*> published;
    for (int i = 0; i < 10; ++i)
      published.push_back(arenas.Publish(CodeReturning(1, bytes)).value());
    EXPECT_EQ(arenas.bytes_mapped(), 5 * ExecutableArenas::kArenaBytes);
    for (const uint8_t* code : published) arenas.Free(code, bytes);
    EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
    const int mappings = pages_.mappings;
    for (int i = 0; i < 100; ++i) arenas.Free(arenas.Publish(CodeReturning(1)).value(), 6);
    EXPECT_EQ(pages_.mappings, mappings);  // the spare arena serves them
  }
  EXPECT_EQ(pages_.mappings, 0);
}

TEST_P(ExecutableArenasBothMethods, CodeBiggerThanAnArena) {
  ExecutableArenas arenas(pages_, true);
  const size_t bytes = 3 * ExecutableArenas::kArenaBytes + 1;
  const auto address = arenas.Publish(CodeReturning(5, bytes));
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(CallCode(address.value()), 5u);
  EXPECT_GE(arenas.bytes_mapped(), bytes);
  arenas.Free(address.value(), bytes);
  EXPECT_LE(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
}

TEST_P(ExecutableArenasBothMethods, OldCodeDoesNotSurviveBehindNewCode) {
  ExecutableArenas arenas(pages_, true);
  const size_t bytes = granule();
  const auto old_code = arenas.Publish(std::vector<uint8_t>(bytes, 0x90));
  arenas.Free(old_code.value(), bytes);
  const auto new_code = arenas.Publish(CodeReturning(6));
  ASSERT_EQ(new_code.value(), old_code.value());
  for (size_t i = 6; i < bytes; ++i) ASSERT_EQ(new_code.value()[i], 0xcc);
}

TEST_P(ExecutableArenasBothMethods, ShortageOfMemoryIsNotRefusal) {
  ExecutableArenas arenas(pages_, true);
  pages_.map_error = ENOMEM;
  EXPECT_FALSE(arenas.Allowed());
  EXPECT_EQ(arenas.Publish(CodeReturning(1)).status().code(), StatusCode::kOutOfMemory);
  pages_.map_error = 0;
  EXPECT_TRUE(arenas.Allowed());
  EXPECT_TRUE(arenas.Publish(CodeReturning(1)).ok());
}

TEST_P(ExecutableArenasBothMethods, ManyThreads) {
  ExecutableArenas arenas(pages_, true);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&arenas, t] {
      std::vector<const uint8_t*> mine;
      const size_t bytes = 100 + 700 * t;
      for (uint32_t i = 0; i < 200; ++i) {
        const auto address = arenas.Publish(CodeReturning(1000 * t + i, bytes));
        ASSERT_TRUE(address.ok());
        mine.push_back(address.value());
        if (i % 3 == 0) {
          EXPECT_EQ(CallCode(mine.back()), 1000 * t + i);
          arenas.Free(mine.back(), bytes);
          mine.pop_back();
        }
      }
      for (const uint8_t* code : mine) arenas.Free(code, bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
}

TEST(ExecutableArenas, PublishingCostsOneSystemCall) {
  FussyPages pages;
  ExecutableArenas arenas(pages, true);
  ASSERT_TRUE(arenas.Publish(CodeReturning(1)).ok());
  const int protect_calls = pages.protect_calls, mappings = pages.mappings;
  ASSERT_TRUE(arenas.Publish(CodeReturning(2)).ok());
  EXPECT_EQ(pages.protect_calls, protect_calls + 1);
  EXPECT_EQ(pages.mappings, mappings);
}

TEST(ExecutableArenas, EverythingRefusedIsUnsupportedAndUnmapped) {
  FussyPages pages;
  pages.protect_executable_error = EPERM;
  for (std::atomic<int>* second : {&pages.file_error, &pages.map_executable_error}) {
    *second = EACCES;
    ExecutableArenas arenas(pages, true);
    const auto address = arenas.Publish(CodeReturning(1));
    ASSERT_FALSE(address.ok());
    EXPECT_EQ(address.status().code(), StatusCode::kUnsupported);
    const std::string message(address.status().message());
    EXPECT_NE(message.find("Operation not permitted"), std::string::npos) << message;
    EXPECT_NE(message.find("Permission denied"), std::string::npos) << message;
    EXPECT_FALSE(arenas.Allowed());
    EXPECT_EQ(arenas.method(), Method::kRefused);
    EXPECT_EQ(arenas.bytes_mapped(), 0u);
    EXPECT_EQ(pages.mappings, 0);
    EXPECT_EQ(pages.open_files, 0);
    *second = 0;
  }
}

TEST(ExecutableArenas, ShortageOfDescriptorsIsNotRefusal) {
  FussyPages pages;
  pages.protect_executable_error = EPERM;
  pages.file_error = EMFILE;
  ExecutableArenas arenas(pages, true);
  EXPECT_EQ(arenas.Publish(CodeReturning(1)).status().code(), StatusCode::kOutOfMemory);
  pages.file_error = 0;
  EXPECT_TRUE(arenas.Publish(CodeReturning(1)).ok());
}

// As when a program enters a sandbox after its first kernels.
TEST(ExecutableArenas, RefusalThatComesLaterChangesTheMethod) {
  FussyPages pages;
  ExecutableArenas arenas(pages, true);
  const auto before = arenas.Publish(CodeReturning(1));
  ASSERT_TRUE(before.ok());
  pages.protect_executable_error = EPERM;
  const auto after = arenas.Publish(CodeReturning(2));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(arenas.method(), Method::kDualMapping);
  EXPECT_EQ(CallCode(before.value()), 1u);
  EXPECT_EQ(CallCode(after.value()), 2u);
  EXPECT_EQ(arenas.bytes_mapped(), 2 * ExecutableArenas::kArenaBytes);
  arenas.Free(before.value(), 6);  // an arena of the old method is not kept as the spare one
  EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
  arenas.Free(after.value(), 6);
  EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
}

TEST(ExecutableArenas, PagesThatCannotBecomeWritableAgainAreNotReused) {
  FussyPages pages;
  ExecutableArenas arenas(pages, true);
  const auto first = arenas.Publish(CodeReturning(1));
  const auto second = arenas.Publish(CodeReturning(2));
  pages.protect_writable_error = ENOMEM;
  arenas.Free(first.value(), 6);
  pages.protect_writable_error = 0;
  const auto third = arenas.Publish(CodeReturning(3));
  EXPECT_NE(third.value(), first.value());
  arenas.Free(second.value(), 6);
  arenas.Free(third.value(), 6);
  EXPECT_EQ(arenas.bytes_mapped(), 0u);  // not fit to be the spare one
}

TEST(ExecutableArenas, NotAllowedTouchesNothing) {
  FussyPages pages;
  ExecutableArenas arenas(pages, false);
  EXPECT_FALSE(arenas.Allowed());
  const auto address = arenas.Publish(CodeReturning(1));
  EXPECT_EQ(address.status().code(), StatusCode::kUnsupported);
  EXPECT_NE(address.status().message().find("RAFTER_NO_JIT"), std::string_view::npos);
  EXPECT_EQ(pages.mappings, 0);
}

TEST(ExecutableArenas, EmptyCodeIsAnInvalidArgument) {
  FussyPages pages;
  ExecutableArenas arenas(pages, true);
  EXPECT_EQ(arenas.Publish({}).status().code(), StatusCode::kInvalidArgument);
}

TEST(ExecutableArenas, SharedArenasTakeNoCodeAfterAFork) {
  FussyPages pages;
  pages.protect_executable_error = EPERM;
  ExecutableArenas arenas(pages, true);
  const auto before = arenas.Publish(CodeReturning(1));
  arenas.PrepareFork();
  arenas.FinishFork();
  const auto after = arenas.Publish(CodeReturning(2));
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(arenas.bytes_mapped(), 2 * ExecutableArenas::kArenaBytes);
  arenas.Free(before.value(), 6);
  EXPECT_EQ(arenas.bytes_mapped(), ExecutableArenas::kArenaBytes);
  EXPECT_EQ(CallCode(after.value()), 2u);
}

}  // namespace
}  // namespace rafter::jit
