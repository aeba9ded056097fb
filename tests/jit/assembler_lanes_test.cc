// Macro-instructions on parts of registers: permutes, stores of some lanes, sums of lanes.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "jit/assembler.h"
#include "jit/compile.h"
#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::jit {
namespace {

struct Args {
  const float* src;
  float* dst;
};

// `body` finds src in rsi and dst in rdx.
void Execute(Isa isa, const float* src, float* dst, const std::function<void(Assembler&)>& body) {
  Result<KernelPtr> kernel = Compile("assembler_lanes_test", GetIsaInfo(isa), [&](Assembler& a) {
    a.EnterKernel();
    a.mov(a.rsi, a.ptr[a.rdi + offsetof(Args, src)]);
    a.mov(a.rdx, a.ptr[a.rdi + offsetof(Args, dst)]);
    body(a);
    a.LeaveKernel();
    a.EmitConstants();
  });
  ASSERT_TRUE(kernel.ok()) << kernel.status().message();
  Args args{src, dst};
  (*kernel)->entry<void(Args*)>()(&args);
}

std::vector<float> Numbers(int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(static_cast<float>(1 + i * i));
  return numbers;
}

TEST(AssemblerLanes, StoresTheLanesAskedForAndNothingElse) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(lanes);
    for (int first = 0; first < lanes; ++first) {
      for (int count = 1; first + count <= lanes; ++count) {
        testing::GuardedBuffer dst(static_cast<size_t>(count));
        Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
          a.vmovups(a.vec(3), a.ptr[a.rsi]);
          a.StoreLanes(a.rdx, a.vec(3), first, count, a.vec(4));
        });
        for (int i = 0; i < count; ++i) ASSERT_EQ(dst[i], src[first + i]) << first << " " << count;
        ASSERT_TRUE(dst.SlackIntact()) << first << " " << count;
      }
    }
  }
}

TEST(AssemblerLanes, PermutesByTable) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(lanes);
    std::vector<float> dst(static_cast<size_t>(lanes));
    std::vector<uint32_t> index;
    for (int i = 0; i < lanes; ++i) index.push_back(static_cast<uint32_t>((5 * i + 3) % lanes));
    Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
      a.vmovups(a.vec(1), a.constant_lanes(index));
      a.PermuteLanes(a.vec(2), a.vec(1), a.ptr[a.rsi]);
      a.vmovups(a.ptr[a.rdx], a.vec(2));
    });
    for (int i = 0; i < lanes; ++i) EXPECT_EQ(dst[i], src[index[i]]);
  }
}

TEST(AssemblerLanes, BroadcastsIntoSomeLanes) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(3);
    std::vector<float> dst(static_cast<size_t>(lanes));
    Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
      a.PrepareLanes(0, 2, 3, a.rax);
      a.PrepareLanes(1, 5, 2, a.rax);
      a.vbroadcastss(a.vec(0), a.dword[a.rsi]);
      a.BroadcastIntoLanes(a.vec(0), Xbyak::RegExp(a.rsi) + 4, 0, 2, 3, a.vec(1));
      a.BroadcastIntoLanes(a.vec(0), Xbyak::RegExp(a.rsi) + 8, 1, 5, 2, a.vec(1));
      a.vmovups(a.ptr[a.rdx], a.vec(0));
    });
    for (int i = 0; i < lanes; ++i) {
      EXPECT_EQ(dst[i], i >= 2 && i < 5 ? src[1] : i >= 5 && i < 7 ? src[2] : src[0]);
    }
  }
}

TEST(AssemblerLanes, BroadcastsPairs) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(2);
    std::vector<float> dst(static_cast<size_t>(lanes));
    Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
      a.BroadcastPairs(a.vec(0), a.qword[a.rsi]);
      a.vmovups(a.ptr[a.rdx], a.vec(0));
    });
    for (int i = 0; i < lanes; ++i) EXPECT_EQ(dst[i], src[i % 2]);
  }
}

// Eight registers become one that holds the sum of each.
TEST(AssemblerLanes, SumsOfEightRegisters) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(8 * lanes);
    std::vector<float> dst(static_cast<size_t>(lanes));
    Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
      for (int i = 0; i < 8; ++i) {
        a.vmovups(a.vec(i), a.ptr[a.rsi + i * lanes * 4]);
        a.FoldToEightLanes(a.vec(i), a.vec(9));
      }
      for (int i = 0; i < 8; i += 2) a.AddQuartersOfTwo(a.vec(i), a.vec(i + 1), a.vec(9));
      for (int i = 0; i < 8; i += 4) a.AddPairsOfTwo(a.vec(i), a.vec(i + 2), a.vec(9));
      a.AddHalvesOfTwo(a.vec(0), a.vec(4), a.vec(9));
      a.vmovups(a.ptr[a.rdx], a.vec(0));
    });
    for (int i = 0; i < 8; ++i) {
      float sum = 0;
      for (int lane = 0; lane < lanes; ++lane) sum += src[i * lanes + lane];
      EXPECT_EQ(dst[i], sum);
    }
  }
}

TEST(AssemblerLanes, SumsOfNeighbours) {
  for (const Isa isa : testing::TestedIsas()) {
    const int lanes = GetIsaInfo(isa).vec_lanes();
    const std::vector<float> src = Numbers(16);
    std::vector<float> dst(static_cast<size_t>(lanes));
    Execute(isa, src.data(), dst.data(), [&](Assembler& a) {
      a.vmovups(a.vec(0), a.ptr[a.rsi]);
      if (lanes == 8) a.vmovups(a.vec(1), a.ptr[a.rsi + 32]);
      a.AddNeighbours(a.vec(0), a.vec(1), a.vec(2));
      a.vmovups(a.ptr[a.rdx], a.vec(0));
    });
    for (int i = 0; i < 8; ++i) EXPECT_EQ(dst[i], src[2 * i] + src[2 * i + 1]);
  }
}

}  // namespace
}  // namespace rafter::jit
