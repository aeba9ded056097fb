// tests/jit/compile_test.cc: emitters that work, and every way in which one can fail.
#include "jit/compile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/jit/child_process.h"
#include "tests/jit/mapped_pages.h"

namespace rafter::jit {
namespace {

using IntFunction = int();

void EmitReturn(Assembler& a, int value) {
  a.mov(a.eax, value);
  a.ret();
}

void ExpectInternal(const Result<KernelPtr>& result, const std::string& part_of_message) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
  const std::string message(result.status().message());
  EXPECT_NE(message.find(part_of_message), std::string::npos) << message;
  EXPECT_NE(message.find("broken"), std::string::npos) << "no kernel name: " << message;
}

TEST(Compile, KernelRuns) {
  const auto kernel =
      Compile("answer", GetIsaInfo(DetectedIsa()), [](Assembler& a) { EmitReturn(a, 42); });
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ((*kernel)->name(), "answer");
  EXPECT_EQ((*kernel)->code_bytes(), 6u);
  EXPECT_EQ((*kernel)->entry<IntFunction>()(), 42);
  EXPECT_EQ(PermissionsOf((*kernel)->code()).substr(0, 3), "r-x");
  EXPECT_EQ(WritableAndExecutableMappings(), "");
}

// Jumps and data relative to the instruction survive the copy; alignment is that of the buffer.
TEST(Compile, LabelsAndAlignmentSurviveTheMove) {
  const auto kernel = Compile("sum", GetIsaInfo(DetectedIsa()), [](Assembler& a) {
    Label loop, data;
    a.mov(a.eax, a.ptr[a.rip + data]);
    a.mov(a.ecx, 10);
    a.align(64);
    EXPECT_EQ(a.getSize() % 64, 0u);
    a.L(loop);
    a.add(a.eax, a.ecx);
    a.dec(a.ecx);
    a.jnz(loop);
    a.ret();
    a.align(64);
    a.L(data);
    a.dd(1000);
  });
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ((*kernel)->entry<IntFunction>()(), 1055);
  EXPECT_EQ(reinterpret_cast<uintptr_t>((*kernel)->code()) % 64, 0u);
}

TEST(Compile, DefectsOfEmittersAreInternalErrors) {
  const IsaInfo& isa = GetIsaInfo(DetectedIsa());
  ExpectInternal(Compile("broken", isa,
                         [](Assembler& a) {
                           while (true) a.nop();
                         }),
                 "too big");
  ExpectInternal(Compile("broken", isa, [](Assembler&) {}), "nothing");
  ExpectInternal(Compile("broken", isa,
                         [](Assembler& a) {
                           Label nowhere;
                           a.jmp(nowhere, Xbyak::CodeGenerator::T_NEAR);
                           a.ret();
                         }),
                 "label");
  ExpectInternal(Compile("broken", isa,
                         [](Assembler& a) {
                           Label twice;
                           a.L(twice);
                           a.L(twice);
                         }),
                 "label");
  ExpectInternal(
      Compile("broken", isa, [](Assembler& a) { a.mov(a.eax, a.ptr[a.rax + a.rsp * 2]); }),
      "index");
  ExpectInternal(Compile("broken", isa, [](Assembler&) { throw std::runtime_error("tired"); }),
                 "tired");
  ExpectInternal(Compile("broken", isa, [](Assembler&) { throw 7; }), "unknown");
  ExpectInternal(Compile("broken", isa, nullptr), "");
}

TEST(Compile, OutOfMemoryInAnEmitter) {
  const auto result =
      Compile("broken", GetIsaInfo(DetectedIsa()), [](Assembler&) { throw std::bad_alloc(); });
  EXPECT_EQ(result.status().code(), StatusCode::kOutOfMemory);
}

TEST(Compile, WorksAfterAFailure) {
  const IsaInfo& isa = GetIsaInfo(DetectedIsa());
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Compile("broken", isa, [](Assembler& a) {
                   while (true) a.nop();
                 }).ok());
    const auto kernel = Compile("fine", isa, [i](Assembler& a) { EmitReturn(a, i); });
    ASSERT_TRUE(kernel.ok());
    EXPECT_EQ((*kernel)->entry<IntFunction>()(), i);
  }
}

TEST(Compile, AlmostFullBufferIsFine) {
  const auto kernel = Compile("big", GetIsaInfo(DetectedIsa()), [](Assembler& a) {
    EmitReturn(a, 3);
    while (a.getSize() < (256u << 10)) a.db(0x90);
  });
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  EXPECT_EQ((*kernel)->code_bytes(), 256u << 10);
  EXPECT_EQ((*kernel)->entry<IntFunction>()(), 3);
}

TEST(Compile, EmitterMayCompileAnotherKernel) {
  const IsaInfo& isa = GetIsaInfo(DetectedIsa());
  KernelPtr inner;
  const auto outer = Compile("outer", isa, [&](Assembler& a) {
    a.mov(a.eax, 1);
    inner = Compile("inner", isa, [](Assembler& b) { EmitReturn(b, 2); }).value();
    a.ret();
  });
  ASSERT_TRUE(outer.ok());
  EXPECT_EQ((*outer)->entry<IntFunction>()(), 1);
  EXPECT_EQ(inner->entry<IntFunction>()(), 2);
}

TEST(Compile, ManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) {
        const int value = 1000 * t + i;
        const auto kernel = Compile("parallel", GetIsaInfo(DetectedIsa()),
                                    [value](Assembler& a) { EmitReturn(a, value); });
        ASSERT_TRUE(kernel.ok());
        ASSERT_EQ((*kernel)->entry<IntFunction>()(), value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(EnvironmentChild, DISABLED_CompileWithoutJit) {
  const auto result =
      Compile("answer", GetIsaInfo(DetectedIsa()), [](Assembler& a) { EmitReturn(a, 1); });
  EXPECT_EQ(result.status().code(), StatusCode::kUnsupported);
}

TEST(Compile, UnsupportedWhereExecutableMemoryIsRefused) {
  const ChildResult child =
      RunInChild("EnvironmentChild.DISABLED_CompileWithoutJit", {{"RAFTER_NO_JIT", "1"}});
  EXPECT_TRUE(child.passed) << child.output;
}

}  // namespace
}  // namespace rafter::jit
