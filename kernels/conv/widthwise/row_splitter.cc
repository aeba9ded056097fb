// kernels/conv/widthwise/row_splitter.cc
#include "kernels/conv/widthwise/row_splitter.h"

#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

namespace {

#define SPLIT_ARG(field) a.qword[a.rdi + static_cast<int>(offsetof(SplitArgs, field))]

struct SplitRegisters {
  jit::Reg64 src, even, odd;           // of the row
  jit::Reg64 from, to_even, to_odd;    // within the row
  jit::Reg64 left;
};

// One vector of pairs.
void EmitSplit(const SplitRegisters& r, jit::Assembler& a) {
  const jit::Xmm first = a.vec(0), even = a.vec(1), odd = a.vec(2);
  const jit::Address second = a.ptr[r.from + a.isa().vec_bytes];
  a.vmovups(first, a.ptr[r.from]);
  a.EvenLanes(even, first, second);
  a.OddLanes(odd, first, second);
  a.OrderEvenLanes(even);
  a.OrderEvenLanes(odd);
  a.vmovups(a.ptr[r.to_even], even);
  a.vmovups(a.ptr[r.to_odd], odd);
}

void EmitEnds(const SplitRegisters& r, jit::Assembler& a) {
  jit::Label no_tail, no_last;
  a.mov(r.from, SPLIT_ARG(tail_src));
  a.test(r.from, r.from);
  a.jz(no_tail, a.T_NEAR);
  a.mov(r.to_odd, SPLIT_ARG(tail_dst));
  a.add(r.from, r.src);
  a.lea(r.to_even, a.ptr[r.even + r.to_odd]);
  a.add(r.to_odd, r.odd);
  EmitSplit(r, a);
  a.L(no_tail);
  a.mov(r.from, SPLIT_ARG(last_src));
  a.test(r.from, r.from);
  a.jz(no_last, a.T_NEAR);
  a.mov(r.left.cvt32(), a.dword[r.src + r.from]);
  a.mov(r.to_even, SPLIT_ARG(last_dst));
  a.mov(a.dword[r.even + r.to_even], r.left.cvt32());
  a.L(no_last);
}

}  // namespace

void EmitRowSplitter(const SplitSpec&, jit::Assembler& a) {
  jit::RegPool pool;
  SplitRegisters r;
  for (jit::Reg64* reg : {&r.src, &r.even, &r.odd, &r.from, &r.to_even, &r.to_odd, &r.left}) *reg = pool.Take();
  jit::Label next_row, next;
  a.EnterKernel();
  a.mov(r.src, SPLIT_ARG(src));
  a.mov(r.even, SPLIT_ARG(even));
  a.mov(r.odd, SPLIT_ARG(odd));
  a.L(next_row);
  a.mov(r.from, r.src);
  a.mov(r.to_even, r.even);
  a.mov(r.to_odd, r.odd);
  a.mov(r.left, SPLIT_ARG(vectors));
  a.L(next);
  EmitSplit(r, a);
  a.add(r.from, 2 * a.isa().vec_bytes);
  a.add(r.to_even, a.isa().vec_bytes);
  a.add(r.to_odd, a.isa().vec_bytes);
  a.dec(r.left);
  a.jnz(next, a.T_NEAR);
  EmitEnds(r, a);
  a.add(r.src, SPLIT_ARG(src_row));
  a.add(r.even, SPLIT_ARG(dst_row));
  a.add(r.odd, SPLIT_ARG(dst_row));
  a.dec(SPLIT_ARG(rows));
  a.jnz(next_row, a.T_NEAR);
  a.LeaveKernel();
  a.EmitConstants();
}

#undef SPLIT_ARG

Result<RowSplitter> RowSplitter::Make(Isa isa) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  Result<jit::KernelPtr> kernel = jit::GetOrCompile("width_split", SplitSpec{isa}, [&](const SplitSpec& s) {
    return jit::Compile(std::string("width_split_f32_") + IsaName(s.isa), info,
                        [&](jit::Assembler& a) { EmitRowSplitter(s, a); });
  });
  if (!kernel.ok()) return kernel.status();
  RowSplitter splitter;
  splitter.kernel_ = *kernel;
  splitter.lanes_ = info.vec_lanes();
  return splitter;
}

void RowSplitter::Split(const Rows& rows) const {
  if (kernel_ != nullptr && rows.pairs >= lanes_) {
    const int64_t tail = rows.pairs % lanes_ != 0 ? rows.pairs - lanes_ : 0;
    SplitArgs args{.src = rows.src, .even = rows.even, .odd = rows.odd, .rows = rows.count,
                   .src_row = rows.src_row * kFloat, .dst_row = rows.dst_row * kFloat, .vectors = rows.pairs / lanes_,
                   .tail_src = 2 * tail * kFloat, .tail_dst = tail * kFloat,
                   .last_src = rows.even_left ? 2 * rows.pairs * kFloat : 0, .last_dst = rows.pairs * kFloat};
    kernel_->entry<SplitFunction>()(&args);
    return;
  }
  for (int64_t row = 0; row < rows.count; ++row) {
    const float* src = rows.src + row * rows.src_row;
    float *even = rows.even + row * rows.dst_row, *odd = rows.odd + row * rows.dst_row;
    for (int64_t i = 0; i < rows.pairs; ++i) even[i] = src[2 * i], odd[i] = src[2 * i + 1];
    if (rows.even_left) even[rows.pairs] = src[2 * rows.pairs];
  }
}

}  // namespace rafter::widthwise
