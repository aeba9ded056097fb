// kernels/reorder/transpose_kernel.cc: 8 loads, 24 in-register shuffles, 8 stores per block.
#include "kernels/reorder/transpose_kernel.h"

#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "jit/strided_pointers.h"

namespace rafter::reorder {

namespace {

using jit::Address;
using jit::Assembler;
using jit::Label;
using jit::Reg64;
using Xbyak::Ymm;

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(TransposeArgs, field))]

class TransposeEmitter {
 public:
  TransposeEmitter(int rows, Assembler& a)
      : rows_(rows), a_(a), src_(rows, pool_), dst_(pool_.Take()), dst_row_(pool_.Take()),
        columns_(pool_.Take()), scratch_(pool_.Take()) {}

  void Emit() {
    Label next_block, tail, done;
    a_.EnterKernel();
    a_.mov(dst_, ARG(dst));
    a_.mov(dst_row_, ARG(dst_row_bytes));
    a_.mov(columns_, ARG(columns));
    src_.EmitStride(a_, ARG(src_row_bytes));
    src_.EmitBases(a_, ARG(src));
    if (rows_ < kTransposeRows) EmitRowMask();
    a_.cmp(columns_, 8);
    a_.jl(tail, a_.T_NEAR);
    a_.L(next_block);
    for (int i = 0; i < rows_; ++i) a_.vmovups(row(i), a_.ptr[src_.at(i)]);
    TransposeRegisters();
    for (int j = 0; j < 8; ++j) StoreRow(j);
    src_.EmitAdvance(a_, 32);
    a_.sub(columns_, 8);
    a_.cmp(columns_, 8);
    a_.jge(next_block, a_.T_NEAR);
    a_.L(tail);
    a_.test(columns_, columns_);
    a_.jz(done, a_.T_NEAR);
    EmitColumnTail(done);
    a_.L(done);
    a_.LeaveKernel();
    a_.EmitConstants();
    if (rows_ < kTransposeRows) {
      a_.L(row_mask_data_);
      for (int lane = 0; lane < 8; ++lane) a_.dd(lane < rows_ ? 0xffffffffu : 0);
    }
  }

 private:
  Ymm row(int i) const { return Ymm(i); }      // 0 … 7; others are temporaries of the transposition
  Ymm mask() const { return Ymm(15); }

  void EmitRowMask() {
    // Registers of missing rows hold anything: their lanes are not stored.
    a_.vmovups(mask(), a_.ptr[a_.rip + row_mask_data_]);
  }

  void EmitColumnTail(Label& done) {
    a_.mov(scratch_, ARG(column_mask));
    a_.vmovups(Ymm(14), a_.ptr[scratch_]);
    for (int i = 0; i < rows_; ++i) a_.vmaskmovps(row(i), Ymm(14), a_.ptr[src_.at(i)]);
    TransposeRegisters();
    for (int j = 0; j < 7; ++j) {
      StoreRow(j);
      a_.dec(columns_);
      a_.jz(done, a_.T_NEAR);
    }
  }

  void StoreRow(int j) {
    if (rows_ < kTransposeRows) {
      a_.vmaskmovps(a_.ptr[dst_], mask(), row(j));
    } else {
      a_.vmovups(a_.ptr[dst_], row(j));
    }
    a_.add(dst_, dst_row_);
  }

  // Registers 0 … 7 hold rows, then columns. Temporaries: 8 … 13 and, as rows die, 0 … 7.
  void TransposeRegisters() {
    const auto pair = [&](int i, const Ymm& low, const Ymm& high) {
      a_.vunpcklps(low, row(i), row(i + 1));
      a_.vunpckhps(high, row(i), row(i + 1));
    };
    // r0 r1 -> t8 t9, r2 r3 -> t10 t11; then quarters of four rows into 0 … 3.
    const auto quad = [&](int i) {
      pair(i, Ymm(8), Ymm(9));
      pair(i + 2, Ymm(10), Ymm(11));
      a_.vshufps(row(i), Ymm(8), Ymm(10), 0x44);
      a_.vshufps(row(i + 1), Ymm(8), Ymm(10), 0xee);
      a_.vshufps(row(i + 2), Ymm(9), Ymm(11), 0x44);
      a_.vshufps(row(i + 3), Ymm(9), Ymm(11), 0xee);
    };
    quad(0);
    quad(4);
    for (int i = 0; i < 4; ++i) {
      a_.vperm2f128(Ymm(8), row(i), row(i + 4), 0x20);
      a_.vperm2f128(row(i + 4), row(i), row(i + 4), 0x31);
      a_.vmovaps(row(i), Ymm(8));
    }
  }

  const int rows_;
  Assembler& a_;
  jit::RegPool pool_;
  jit::StridedPointers src_;
  const Reg64 dst_, dst_row_, columns_, scratch_;
  Label row_mask_data_;
};

#undef ARG

struct TransposeSpec {
  int32_t rows;
};

}  // namespace

Result<jit::KernelPtr> GetTransposeKernel(int rows) {
  return jit::GetOrCompile("transpose", TransposeSpec{rows}, [](const TransposeSpec& spec) {
    return jit::Compile("transpose_f32_avx2_rows" + std::to_string(spec.rows),
                        jit::GetIsaInfo(Isa::kAvx2),
                        [&](Assembler& a) { TransposeEmitter(spec.rows, a).Emit(); });
  });
}

}  // namespace rafter::reorder
