// Addresses of items at a run-time distance: each count, before and after advancing.
#include "jit/strided_pointers.h"

#include <gtest/gtest.h>

#include <vector>

#include "jit/compile.h"
#include "tests/support/for_each_isa.h"

namespace rafter::jit {
namespace {

struct Args {
  int64_t first, stride, step;
  int64_t* out;
};

TEST(StridedPointers, ReachEveryItem) {
  for (const Isa isa : testing::TestedIsas()) {
    for (int count = 1; count <= 28; ++count) {
      const Result<KernelPtr> kernel =
          Compile("strided_pointers", GetIsaInfo(isa), [&](Assembler& a) {
            RegPool pool;
            StridedPointers items(count, pool);
            const Reg64 out = pool.Take(), address = pool.Take();
            a.EnterKernel();
            a.mov(out, a.qword[a.rdi + offsetof(Args, out)]);
            items.EmitStride(a, a.qword[a.rdi + offsetof(Args, stride)]);
            items.EmitBases(a, a.qword[a.rdi + offsetof(Args, first)]);
            items.EmitAdvance(a, 12);
            items.EmitAdvance(a, a.qword[a.rdi + offsetof(Args, step)]);
            for (int i = 0; i < count; ++i) {
              a.lea(address, a.ptr[items.at(i)]);
              a.mov(a.qword[out + i * 8], address);
            }
            a.LeaveKernel();
          });
      ASSERT_TRUE(kernel.ok()) << kernel.status().message();
      std::vector<int64_t> out(count);
      Args args{1000, 4096 + 64, -100, out.data()};
      (*kernel)->entry<void(Args*)>()(&args);
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(out[i], 1000 + 12 - 100 + i * (4096 + 64)) << i << " of " << count;
      }
    }
  }
}

TEST(StridedPointers, FewRegisters) {
  const auto used = [](int count) {
    RegPool pool;
    const size_t before = pool.available();
    const StridedPointers items(count, pool);
    return before - pool.available();
  };
  EXPECT_EQ(used(1), 1u);
  EXPECT_EQ(used(3), 2u);
  EXPECT_EQ(used(6), 3u);
  EXPECT_EQ(used(14), 5u);
  EXPECT_EQ(used(28), 8u);
}

TEST(RegPool, RunningOutIsAnErrorOfTheCompilation) {
  if (testing::TestedIsas().empty()) GTEST_SKIP() << "needs AVX2";
  const Result<KernelPtr> kernel = Compile("too_many", GetIsaInfo(Isa::kAvx2), [](Assembler& a) {
    RegPool pool;
    for (int i = 0; i < 15; ++i) (void)pool.Take();
    a.ret();
  });
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace rafter::jit
