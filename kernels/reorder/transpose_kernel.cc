// kernels/reorder/transpose_kernel.cc: see the header. Per four columns of 16 rows, AVX2: 8 loads, 8 inserts from
// memory, 16 shuffles, 8 stores.
#include "kernels/reorder/transpose_kernel.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "jit/strided_pointers.h"
#include "kernels/sizes.h"

namespace rafter::reorder {

namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kColumns = 4;  // at a time

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(TransposeArgs, field))]

class TransposeEmitter {
 public:
  TransposeEmitter(const TransposeSpec& spec, Assembler& a)
      : spec_(spec), a_(a), src_(spec.rows, pool_), dst_(pool_.Take()), dst_row_(pool_.Take()),
        dst_row3_(pool_.Take()), columns_(pool_.Take()), ahead_(pool_.Take()),
        lanes_(std::min(a.isa().vec_lanes(), OutputLanes(spec))) {}

  void Emit() {
    Label group;
    a_.EnterKernel();
    a_.mov(dst_row_, ARG(dst_row_bytes));
    a_.lea(dst_row3_, a_.ptr[dst_row_ + dst_row_ * 2]);
    src_.EmitStride(a_, ARG(src_row_bytes));
    if (spec_.fetch_ahead != 0) a_.mov(ahead_, ARG(ahead));
    a_.L(group);
    a_.mov(dst_, ARG(dst));
    src_.EmitBases(a_, ARG(src));
    if (spec_.few_columns != 0) {
      EmitColumns(spec_.few_columns);
    } else {
      EmitColumnLoop();
    }
    a_.mov(columns_, ARG(src_group_bytes));
    a_.add(ARG(src), columns_);
    a_.mov(columns_, ARG(dst_group_bytes));
    a_.add(ARG(dst), columns_);
    a_.dec(ARG(groups));
    a_.jnz(group, a_.T_NEAR);
    if (spec_.fetch_ahead != 0) EmitNextSweep(group);
    a_.LeaveKernel();
  }

 private:
  static int OutputLanes(const TransposeSpec& spec) { return spec.rows + spec.zeros; }

  void EmitNextSweep(const Label& group) {
    a_.mov(columns_, ARG(src_sweep_bytes));
    a_.add(ARG(src), columns_);
    a_.mov(columns_, ARG(dst_sweep_bytes));
    a_.add(ARG(dst), columns_);
    a_.mov(columns_, ARG(sweep_groups));
    a_.mov(ARG(groups), columns_);
    a_.dec(ARG(sweeps));
    a_.jnz(group, a_.T_NEAR);
  }

  // Whole steps, then a last one that ends at the last column and repeats some.
  void EmitColumnLoop() {
    Label next, done;
    a_.mov(columns_, ARG(columns));
    a_.align(16);
    a_.L(next);
    EmitColumns(kColumns);
    a_.sub(columns_, kColumns);
    a_.jz(done, a_.T_NEAR);
    src_.EmitAdvance(a_, kColumns * kFloat);
    a_.lea(dst_, a_.ptr[dst_ + dst_row_ * kColumns]);
    a_.cmp(columns_, kColumns);
    a_.jge(next, a_.T_NEAR);
    // columns - 4 is negative: back by as many.
    a_.sub(columns_, kColumns);
    a_.mov(ARG(back_bytes), columns_);
    a_.imul(columns_, dst_row_);
    a_.add(dst_, columns_);
    a_.shl(ARG(back_bytes), 2);
    src_.EmitAdvance(a_, ARG(back_bytes));
    a_.mov(columns_, kColumns);
    a_.jmp(next, a_.T_NEAR);
    a_.L(done);
  }

  // Groups of registers: one per vector of outputs. Each has four that gather rows and four temporaries.
  Xmm gathered(int group, int i) const { return Full(Xmm(group % 2 * 8 + i)); }
  Xmm temporary(int group, int i) const { return Full(Xmm(group % 2 * 8 + 4 + i)); }
  Xmm Full(const Xmm& v) const {
    if (lanes_ > 8) return Xmm(Xbyak::Zmm(v.getIdx()));
    return lanes_ > 4 ? Xmm(Xbyak::Ymm(v.getIdx())) : v;
  }

  void EmitColumns(int count) {
    const int groups = (OutputLanes(spec_) + lanes_ - 1) / lanes_;
    for (int g = 0; g < groups; ++g) {
      for (int i = 0; i < 4; ++i) Gather(g, i, count);
    }
    if (spec_.fetch_rows != 0 && count == kColumns) EmitFetch();
    if (spec_.fetch_ahead != 0 && count == kColumns) EmitFetchAhead();
    for (int g = 0; g < groups; ++g) TransposeQuarters(g);
    for (int j = 0; j < count; ++j) {
      const Xbyak::RegExp at = j == 0   ? Xbyak::RegExp(dst_)
                               : j == 3 ? dst_ + dst_row3_
                                        : dst_ + dst_row_ * j;
      for (int g = 0; g < groups; ++g) StoreColumn(at + g * lanes_ * kFloat, g, j);
    }
  }

  // The lines that will be stored soon: steps from row to row are followed by no prefetcher.
  void EmitFetch() {
    constexpr int kRowsAhead = 8;
    a_.lea(ahead_, a_.ptr[dst_ + dst_row_ * kRowsAhead]);
    a_.prefetchw(a_.ptr[ahead_]);
    a_.prefetchw(a_.ptr[ahead_ + dst_row_]);
    a_.prefetchw(a_.ptr[ahead_ + dst_row_ * 2]);
    a_.prefetchw(a_.ptr[ahead_ + dst_row3_]);
  }

  void EmitFetchAhead() {
    constexpr int kBytes = kColumns * kTransposeRows * static_cast<int>(kFloat);
    for (int at = 0; at < kBytes; at += kLineBytes) a_.prefetcht0(a_.ptr[ahead_ + at]);
    a_.add(ahead_, ARG(ahead_step_bytes));
    if (spec_.non_temporal != 0) return;
    a_.prefetchw(a_.ptr[dst_ + kLineBytes]);
    a_.prefetchw(a_.ptr[dst_ + dst_row_ + kLineBytes]);
    a_.prefetchw(a_.ptr[dst_ + dst_row_ * 2 + kLineBytes]);
    a_.prefetchw(a_.ptr[dst_ + dst_row3_ + kLineBytes]);
  }

  // Rows i, i + 4, … of the group, `count` floats each, to the quarters of a register.
  void Gather(int group, int i, int count) {
    const Xmm v = gathered(group, i);
    const int first = group * lanes_;
    if (first + i >= spec_.rows) {
      a_.Zero(v);
      return;
    }
    LoadFloats(Xmm(v.getIdx()), src_.at(first + i), count);
    for (int quarter = 1; quarter * 4 < lanes_; ++quarter) {
      const int row = first + quarter * 4 + i;
      if (row >= spec_.rows) break;
      if (count == kColumns) {
        a_.InsertQuarter(v, a_.ptr[src_.at(row)], quarter);
      } else {
        const Xmm part(temporary(group, 0).getIdx());
        LoadFloats(part, src_.at(row), count);
        a_.InsertQuarter(v, part, quarter);
      }
    }
  }

  void LoadFloats(const Xmm& v, const Xbyak::RegExp& at, int count) {
    if (count == 1) a_.vmovss(v, a_.dword[at]);
    else if (count == kColumns) a_.vmovups(v, a_.ptr[at]);
    else a_.vmovq(v, a_.qword[at]);
    if (count == 3) a_.vinsertps(v, v, a_.dword[at + 2 * kFloat], 2 << 4);
  }

  // Column j of the group ends up in temporary or gathered registers: column(group, j).
  void TransposeQuarters(int g) {
    a_.vunpcklps(temporary(g, 0), gathered(g, 0), gathered(g, 1));
    a_.vunpckhps(temporary(g, 1), gathered(g, 0), gathered(g, 1));
    a_.vunpcklps(temporary(g, 2), gathered(g, 2), gathered(g, 3));
    a_.vunpckhps(temporary(g, 3), gathered(g, 2), gathered(g, 3));
    a_.vunpcklpd(gathered(g, 0), temporary(g, 0), temporary(g, 2));
    a_.vunpckhpd(gathered(g, 1), temporary(g, 0), temporary(g, 2));
    a_.vunpcklpd(gathered(g, 2), temporary(g, 1), temporary(g, 3));
    a_.vunpckhpd(gathered(g, 3), temporary(g, 1), temporary(g, 3));
  }

  void StoreColumn(const Xbyak::RegExp& at, int group, int j) {
    const int lanes = std::min(lanes_, OutputLanes(spec_) - group * lanes_);
    const Xmm v = gathered(group, j);
    if (lanes != 16 && lanes != 8 && lanes != 4) {
      a_.StoreLanes(at, v, 0, lanes, temporary(group, 0));
    } else if (spec_.non_temporal != 0) {
      a_.vmovntps(a_.ptr[at], v);
    } else {
      a_.vmovups(a_.ptr[at], lanes == 4 ? Xmm(v.getIdx()) : lanes == 8 ? Xmm(Xbyak::Ymm(v.getIdx())) : v);
    }
  }

  const TransposeSpec& spec_;
  Assembler& a_;
  jit::RegPool pool_;
  jit::StridedPointers src_;
  const Reg64 dst_, dst_row_, dst_row3_, columns_, ahead_;
  const int lanes_;  // of one register
};

#undef ARG

}  // namespace

Result<jit::KernelPtr> GetTransposeKernel(const TransposeSpec& spec) {
  return jit::GetOrCompile("transpose", spec, [](const TransposeSpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    std::string name = std::string("transpose_f32_") + isa.name + "_rows" + std::to_string(s.rows);
    if (s.zeros > 0) name += "_zeros" + std::to_string(s.zeros);
    if (s.few_columns > 0) name += "_columns" + std::to_string(s.few_columns);
    if (s.non_temporal != 0) name += "_nt";
    if (s.fetch_rows != 0) name += "_fetch";
    if (s.fetch_ahead != 0) name += "_ahead";
    return jit::Compile(name, isa, [&](Assembler& a) { TransposeEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::reorder
