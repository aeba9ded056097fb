// tests/jit/executable_memory_test.cc: the executable memory of this process: blocks, no page that
// is writable and executable at any time, forks, and real refusals by a seccomp filter in a child.
#include "jit/executable_memory.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/jit/child_process.h"
#include "tests/jit/mapped_pages.h"

namespace rafter::jit {
namespace {

TEST(ExecutableBlock, MovesAndFrees) {
  Result<ExecutableBlock> published = Publish(CodeReturning(42));
  ASSERT_TRUE(published.ok()) << published.status().message();
  ExecutableBlock block = std::move(published).value();
  EXPECT_EQ(CallCode(block.data()), 42u);
  EXPECT_EQ(block.size(), 6u);
  const uint8_t* address = block.data();
  ExecutableBlock moved = std::move(block);
  EXPECT_EQ(moved.data(), address);
  EXPECT_EQ(CallCode(moved.data()), 42u);
  moved = ExecutableBlock();
  EXPECT_EQ(moved.data(), nullptr);
  ExecutableBlock next = Publish(CodeReturning(43)).value();
  EXPECT_EQ(next.data(), address);  // was freed
}

TEST(ExecutableMemory, NoPageIsEverWritableAndExecutable) {
  ASSERT_TRUE(ExecutableMemoryAllowed());
  std::atomic<bool> stop{false};
  std::thread publisher([&stop] {
    std::vector<ExecutableBlock> blocks;
    for (uint32_t i = 0; !stop; ++i) {
      Result<ExecutableBlock> block = Publish(CodeReturning(i, 10 + i % 10000));
      ASSERT_TRUE(block.ok());
      ASSERT_EQ(CallCode(block->data()), i);
      blocks.push_back(std::move(block).value());
      if (blocks.size() == 50) blocks.erase(blocks.begin(), blocks.begin() + 25);
    }
  });
  for (int i = 0; i < 200; ++i) EXPECT_EQ(WritableAndExecutableMappings(), "");
  stop = true;
  publisher.join();
  EXPECT_EQ(WritableAndExecutableMappings(), "");
}

TEST(ExecutableMemory, MemoryReachesAPlateau) {
  { const Result<ExecutableBlock> warm_up = Publish(CodeReturning(1)); }
  const size_t mapped = ExecutableBytesMapped();
  for (uint32_t i = 0; i < 5000; ++i) ASSERT_TRUE(Publish(CodeReturning(i, 1 + i % 9000)).ok());
  EXPECT_EQ(ExecutableBytesMapped(), mapped);
}

// A child may use what exists, make new kernels and free both; the parent does not notice.
void CheckThatForkedChildWorks() {
  ExecutableBlock inherited = Publish(CodeReturning(7)).value();
  const pid_t pid = fork();
  if (pid == 0) {
    bool right = CallCode(inherited.data()) == 7;
    Result<ExecutableBlock> fresh = Publish(CodeReturning(8));
    right = right && fresh.ok() && CallCode(fresh->data()) == 8 && CallCode(inherited.data()) == 7;
    inherited = ExecutableBlock();
    fresh = Publish(CodeReturning(9, 5000));
    right = right && fresh.ok() && CallCode(fresh->data()) == 9;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(CallCode(inherited.data()), 7u);
}

TEST(ExecutableMemory, ForkedChildWorks) {
  std::atomic<bool> stop{false};
  std::thread publisher([&stop] {  // the lock is likely to be held at some of the forks
    while (!stop) ASSERT_TRUE(Publish(CodeReturning(1)).ok());
  });
  for (int i = 0; i < 20; ++i) CheckThatForkedChildWorks();
  stop = true;
  publisher.join();
}

TEST(EnvironmentChild, DISABLED_NoJit) {
  EXPECT_FALSE(ExecutableMemoryAllowed());
  const Result<ExecutableBlock> block = Publish(CodeReturning(1));
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(ExecutableBytesMapped(), 0u);
}

TEST(EnvironmentChild, DISABLED_JitWorks) { EXPECT_TRUE(ExecutableMemoryAllowed()); }

TEST(ExecutableMemory, EnvironmentSwitchesItOff) {
  ChildResult child = RunInChild("EnvironmentChild.DISABLED_NoJit", {{"RAFTER_NO_JIT", "1"}});
  EXPECT_TRUE(child.passed) << child.output;
  for (const char* value : {"0", ""}) {
    child = RunInChild("EnvironmentChild.DISABLED_JitWorks", {{"RAFTER_NO_JIT", value}});
    EXPECT_TRUE(child.passed) << child.output;
  }
}

// Makes the system refuse mprotect, and mmap if `mmap_too`, with PROT_EXEC from now on (EPERM), as
// systemd's MemoryDenyWriteExecute does. False when seccomp is not available.
bool RefuseExecutableMemory(bool mmap_too) {
  constexpr unsigned kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch);
  constexpr unsigned kThirdArgument = offsetof(seccomp_data, args) + 2 * sizeof(uint64_t);
  const auto second_call = static_cast<unsigned>(mmap_too ? SYS_mmap : SYS_pkey_mprotect);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArch),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 6),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, second_call, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kThirdArgument),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {.len = static_cast<unsigned short>(std::size(filter)),
                              .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(SeccompChild, DISABLED_EverythingRefused) {
  if (!RefuseExecutableMemory(true)) GTEST_SKIP() << "no seccomp";
  EXPECT_FALSE(ExecutableMemoryAllowed());
  const Result<ExecutableBlock> block = Publish(CodeReturning(1));
  ASSERT_FALSE(block.ok());
  EXPECT_EQ(block.status().code(), StatusCode::kUnsupported);
  EXPECT_EQ(ExecutableBytesMapped(), 0u);
}

TEST(SeccompChild, DISABLED_OnlyMprotectRefused) {
  if (!RefuseExecutableMemory(false)) GTEST_SKIP() << "no seccomp";
  EXPECT_TRUE(ExecutableMemoryAllowed());
  Result<ExecutableBlock> block = Publish(CodeReturning(11));
  ASSERT_TRUE(block.ok()) << block.status().message();
  EXPECT_EQ(CallCode(block->data()), 11u);
  EXPECT_EQ(PermissionsOf(block->data()), "r-xs");  // the second mapping of a file in memory
  EXPECT_EQ(WritableAndExecutableMappings(), "");
  CheckThatForkedChildWorks();
}

TEST(ExecutableMemory, RealRefusals) {
  for (const char* test :
       {"SeccompChild.DISABLED_EverythingRefused", "SeccompChild.DISABLED_OnlyMprotectRefused"}) {
    const ChildResult child = RunInChild(test);
    if (child.skipped) GTEST_SKIP() << "seccomp filters are not available here";
    EXPECT_TRUE(child.passed) << child.output;
  }
}

}  // namespace
}  // namespace rafter::jit
