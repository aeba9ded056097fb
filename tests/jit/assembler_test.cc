// Macro-instructions: what each instruction set makes of them must be the same.
#include "jit/assembler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "jit/compile.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::jit {
namespace {

struct Args {
  const float* src;
  float* dst;
  const int32_t* mask;
};

KernelPtr CompileBody(Isa isa, const std::function<void(Assembler&)>& body) {
  Result<KernelPtr> kernel = Compile("assembler_test", GetIsaInfo(isa), [&](Assembler& a) {
    a.EnterKernel();
    a.mov(a.rsi, a.ptr[a.rdi + offsetof(Args, src)]);
    a.mov(a.rdx, a.ptr[a.rdi + offsetof(Args, dst)]);
    a.mov(a.rcx, a.ptr[a.rdi + offsetof(Args, mask)]);
    body(a);
    a.LeaveKernel();
    a.EmitConstants();
  });
  EXPECT_TRUE(kernel.ok()) << kernel.status().message();
  return kernel.ok() ? *kernel : nullptr;
}

// Copies the first lanes only: neither side may touch memory behind them.
TEST(Assembler, TailsTouchTheirLanesOnly) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const KernelPtr kernel = CompileBody(isa, [](Assembler& a) {
      a.LoadTailMask(a.ptr[a.rcx], a.vec(15));
      a.LoadTail(a.vec(3), a.ptr[a.rsi], a.vec(15));
      a.StoreTail(a.ptr[a.rdx], a.vec(3), a.vec(15));
    });
    ASSERT_NE(kernel, nullptr);
    for (int used = 0; used <= lanes; ++used) {
      for (const testing::Guard guard : {testing::Guard::kAtEnd, testing::Guard::kAtStart}) {
        testing::GuardedBuffer src(used, guard), dst(used, guard);
        std::vector<int32_t> mask(16, 0);
        for (int i = 0; i < used; ++i) src[i] = static_cast<float>(i + 1), mask[i] = -1;
        Args args{src.data(), dst.data(), mask.data()};
        kernel->entry<void(Args*)>()(&args);
        for (int i = 0; i < used; ++i) EXPECT_EQ(dst[i], static_cast<float>(i + 1));
        EXPECT_TRUE(dst.SlackIntact());
      }
    }
  }
}

TEST(Assembler, LanesBehindTheTailBecomeZeroEvenIfNan) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const KernelPtr kernel = CompileBody(isa, [](Assembler& a) {
      a.vmovups(a.vec(2), a.ptr[a.rsi]);
      a.LoadTailMask(a.ptr[a.rcx], a.vec(15));
      a.ZeroBehindTail(a.vec(2), a.vec(15));
      a.vmovups(a.ptr[a.rdx], a.vec(2));
    });
    ASSERT_NE(kernel, nullptr);
    for (int used = 0; used <= lanes; ++used) {
      std::vector<float> src(16, NAN), dst(16, 5.0f);
      std::vector<int32_t> mask(16, 0);
      for (int i = 0; i < used; ++i) src[i] = 3.0f, mask[i] = -1;
      Args args{src.data(), dst.data(), mask.data()};
      kernel->entry<void(Args*)>()(&args);
      for (int i = 0; i < lanes; ++i) EXPECT_EQ(dst[i], i < used ? 3.0f : 0.0f);
    }
  }
}

TEST(Assembler, ConstantsZeroAndBroadcastFma) {
  for (const Isa isa : testing::TestedIsas()) {
    const IsaInfo& info = GetIsaInfo(isa);
    const int last = info.num_vecs - 1;
    const KernelPtr kernel = CompileBody(isa, [&](Assembler& a) {
      a.Zero(a.vec(last));
      a.vmovups(a.vec(0), a.constant(3.0f));
      a.FmaBroadcast(a.vec(last), a.vec(0), a.rsi + 4, a.vec(1));
      a.vaddps(a.vec(last), a.vec(last), a.constant(0.5f));
      a.vaddps(a.vec(last), a.vec(last), a.constant_bits(0x3f000000));  // 0.5 again: the same constant
      a.vmovups(a.ptr[a.rdx], a.vec(last));
    });
    ASSERT_NE(kernel, nullptr);
    const float src[2] = {100.0f, 7.0f};
    std::vector<float> dst(16, 0.0f);
    Args args{src, dst.data(), nullptr};
    kernel->entry<void(Args*)>()(&args);
    for (int i = 0; i < info.vec_lanes(); ++i) EXPECT_EQ(dst[i], 22.0f);
  }
}

TEST(Assembler, HalvesOfA512BitRegister) {
  if (DetectedIsa() < Isa::kAvx512) GTEST_SKIP() << "needs AVX-512";
  const KernelPtr kernel = CompileBody(Isa::kAvx512, [](Assembler& a) {
    a.LoadLowHalf(a.vec(1), a.ptr[a.rsi]);
    a.LoadHighHalf(a.vec(2), a.ptr[a.rsi + 32]);
    a.vaddps(a.vec(3), a.vec(1), a.vec(2));
    a.StoreHighHalf(a.ptr[a.rdx], a.vec(3));
    a.StoreLowHalf(a.ptr[a.rdx + 32], a.vec(3));
  });
  ASSERT_NE(kernel, nullptr);
  std::vector<float> src(16), dst(16, 0.0f);
  for (int i = 0; i < 16; ++i) src[i] = static_cast<float>(i);
  Args args{src.data(), dst.data(), nullptr};
  kernel->entry<void(Args*)>()(&args);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(dst[i], static_cast<float>((i + 8) % 16));
}

}  // namespace
}  // namespace rafter::jit
