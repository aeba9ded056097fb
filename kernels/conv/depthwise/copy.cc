// kernels/conv/depthwise/copy.cc
#include "kernels/conv/depthwise/copy.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"

namespace rafter::depthwise {

namespace {

struct CopySpec {
  Isa isa;
  uint8_t unused[7];
  int64_t bytes;
};

void EmitCopy(jit::Assembler& a, const CopySpec& spec) {
  jit::RegPool pool;
  const jit::Reg64 src = pool.Take(), dst = pool.Take(), src_step = pool.Take(),
                   dst_step = pool.Take(), left = pool.Take();
  const auto arg = [&](size_t offset) { return a.qword[a.rdi + static_cast<int>(offset)]; };
  const int vec_bytes = a.isa().vec_bytes, vecs = static_cast<int>(spec.bytes) / vec_bytes;
  jit::Label next;
  a.EnterKernel();
  a.mov(src, arg(offsetof(CopyArgs, src)));
  a.mov(dst, arg(offsetof(CopyArgs, dst)));
  a.mov(src_step, arg(offsetof(CopyArgs, src_step)));
  a.mov(dst_step, arg(offsetof(CopyArgs, dst_step)));
  a.mov(left, arg(offsetof(CopyArgs, pixels)));
  a.L(next);
  for (int first = 0; first < vecs; first += 8) {
    const int count = std::min(8, vecs - first);
    for (int i = 0; i < count; ++i) a.vmovups(a.vec(i), a.ptr[src + (first + i) * vec_bytes]);
    for (int i = 0; i < count; ++i) a.vmovups(a.ptr[dst + (first + i) * vec_bytes], a.vec(i));
  }
  a.add(src, src_step);
  a.add(dst, dst_step);
  a.dec(left);
  a.jnz(next, a.T_NEAR);
  a.LeaveKernel();
}

}  // namespace

Result<jit::KernelPtr> GetCopyKernel(Isa isa, int64_t bytes) {
  const CopySpec wanted{isa, {}, bytes};
  return jit::GetOrCompile("depthwise_copy", wanted, [](const CopySpec& spec) {
    const std::string name =
        std::string("dw_copy_") + IsaName(spec.isa) + "_" + std::to_string(spec.bytes);
    return jit::Compile(name, jit::GetIsaInfo(spec.isa),
                        [&](jit::Assembler& a) { EmitCopy(a, spec); });
  });
}

}  // namespace rafter::depthwise
