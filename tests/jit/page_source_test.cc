// tests/jit/page_source_test.cc: the real system calls, and that errors come back as numbers.
#include "jit/page_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace rafter::jit {
namespace {

constexpr size_t kBytes = 8192;

TEST(PageSource, PrivateMemoryIsZeroAndChangesProtection) {
  PageSource pages;
  void* memory = nullptr;
  ASSERT_EQ(pages.Map(kBytes, PROT_READ | PROT_WRITE, -1, &memory), 0);
  EXPECT_EQ(static_cast<char*>(memory)[kBytes - 1], 0);
  static_cast<char*>(memory)[0] = 1;
  EXPECT_EQ(pages.Protect(memory, kBytes, PROT_READ), 0);
  EXPECT_EQ(static_cast<char*>(memory)[0], 1);
  EXPECT_EQ(pages.Unmap(memory, kBytes), 0);
}

TEST(PageSource, TwoMappingsOfAFileShowTheSameBytes) {
  PageSource pages;
  int file = -1;
  ASSERT_EQ(pages.OpenFile(kBytes, &file), 0);
  void* written = nullptr;
  void* read = nullptr;
  ASSERT_EQ(pages.Map(kBytes, PROT_READ | PROT_WRITE, file, &written), 0);
  ASSERT_EQ(pages.Map(kBytes, PROT_READ, file, &read), 0);
  pages.CloseFile(file);
  std::memset(written, 7, kBytes);
  EXPECT_EQ(static_cast<char*>(read)[kBytes - 1], 7);
  EXPECT_EQ(pages.Unmap(written, kBytes), 0);
  EXPECT_EQ(static_cast<char*>(read)[0], 7);
  EXPECT_EQ(pages.Unmap(read, kBytes), 0);
}

TEST(PageSource, ErrorsAreNumbers) {
  PageSource pages;
  void* memory = nullptr;
  EXPECT_EQ(pages.Map(size_t{1} << 60, PROT_READ, -1, &memory), ENOMEM);
  EXPECT_EQ(memory, nullptr);
  EXPECT_EQ(pages.Protect(reinterpret_cast<void*>(1), kBytes, PROT_READ), EINVAL);
  EXPECT_EQ(pages.Unmap(reinterpret_cast<void*>(1), kBytes), EINVAL);
}

}  // namespace
}  // namespace rafter::jit
