// kernels/pooling/rows_to_lines.h: the first half of the kernel of windows with columns in the lanes: rows of taps to
// lines; with the registers that both halves share. Lines to outputs: rows_emitter.cc. The contract: spec.h.
#ifndef RAFTER_KERNELS_POOLING_ROWS_TO_LINES_H_
#define RAFTER_KERNELS_POOLING_ROWS_TO_LINES_H_

#include <algorithm>
#include <cstddef>
#include <limits>

#include "jit/assembler.h"
#include "jit/reg_pool.h"
#include "kernels/pooling/spec.h"
#include "kernels/sizes.h"

namespace rafter::pooling {

class RowsToLines {
 protected:
  using Label = jit::Label;
  using Reg64 = jit::Reg64;
  using Xmm = jit::Xmm;

  static constexpr int kLineVecs = 4;  // of columns at a time

  RowsToLines(const RowsSpec& spec, jit::Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), lanes_(vec_bytes_ / kFloat), src_(pool_.Take()),
        dst_(pool_.Take()), line_(pool_.Take()), left_(pool_.Take()), from_(pool_.Take()), to_(pool_.Take()),
        count_(pool_.Take()), row_step_(pool_.Take()), three_rows_(pool_.Take()), tap_(pool_.Take()),
        taps_(pool_.Take()), counts_(pool_.Take()), output_rows_(pool_.Take()), steps_(pool_.Take()) {}

  jit::Address arg(size_t offset) { return a_.qword[a_.rdi + static_cast<int>(offset)]; }

  bool fast() const { return spec_.reduction == Reduction::kFastMax; }
  bool exact() const { return spec_.reduction == Reduction::kExactMax; }
  bool average() const { return spec_.reduction == Reduction::kSum; }
  bool gathers() const { return spec_.stride == 0; }

  Xmm acc(int v) const { return a_.vec(v); }
  Xmm mark(int v) const { return a_.vec(kLineVecs + v); }  // exact: bits where a NaN was; fast: the sum of all taps
  Xmm temp(int i) const { return a_.vec(2 * kLineVecs + i); }  // 0 … 3
  Xmm divisor_rows() const { return a_.vec(12); }
  Xmm index() const { return a_.vec(13); }
  Xmm mask() const { return a_.vec(15); }

  // One more value for accumulator `v`; marks it as the reduction wants.
  void Add(int v, const Xmm& value, bool marks) {
    if (average()) return a_.vaddps(acc(v), acc(v), value);
    if (exact()) a_.MarkNan(mark(v), value, value, temp(3));
    a_.vmaxps(acc(v), acc(v), value);
    if (fast() && marks) Sum(value);
  }

  // Into the marks in turn, so that no sum waits for the one before.
  void Sum(const Xmm& value) {
    a_.vaddps(mark(next_mark_), mark(next_mark_), value);
    next_mark_ = (next_mark_ + 1) % kLineVecs;
  }

  void Begin(int v) {
    if (average()) return a_.Zero(acc(v));
    a_.vmovups(acc(v), a_.constant(-std::numeric_limits<float>::infinity()));
    if (exact()) a_.Zero(mark(v));
  }

  // Emits a loop of `step`, which takes `vecs` vectors each time, as long as count_ has so many.
  template <typename Step>
  void WhileWhole(int vecs, const Step& step) {
    Label next, done;
    a_.L(next);
    a_.cmp(count_, lanes_ * vecs);
    a_.jl(done, a_.T_NEAR);
    step();
    a_.sub(count_, lanes_ * vecs);
    a_.jmp(next, a_.T_NEAR);
    a_.L(done);
  }

  void EmitLines() {
    Label row;
    a_.mov(line_, arg(offsetof(RowsArgs, lines)));
    a_.mov(tap_, arg(offsetof(RowsArgs, column_mask)));
    a_.LoadTailMask(a_.ptr[tap_], mask());
    a_.align(16);
    a_.L(row);
    if (spec_.columns > 0) {
      EmitBakedLine();
    } else {
      a_.mov(from_, src_);
      a_.mov(to_, line_);
      a_.mov(count_, arg(offsetof(RowsArgs, columns)));
      EmitLinePart(kLineVecs);
      EmitLinePart(1);
      EmitLineTail();
    }
    a_.add(src_, arg(offsetof(RowsArgs, src_output_step)));
    a_.add(line_, arg(offsetof(RowsArgs, line_pitch)));
    a_.dec(left_);
    a_.jnz(row, a_.T_NEAR);
  }

  // Whole vectors, then one that ends at the end.
  void EmitBakedLine() {
    a_.mov(from_, src_);
    a_.mov(to_, line_);
    const int vecs = spec_.columns / lanes_;
    for (int v = 0; v < vecs; v += kLineVecs) EmitLineVecs(std::min(kLineVecs, vecs - v), false, v * vec_bytes_);
    if (spec_.columns % lanes_ == 0) return;
    EmitLineVecs(1, vecs == 0, vecs == 0 ? 0 : (spec_.columns - lanes_) * kFloat);
  }

  void EmitLinePart(int vecs) {
    WhileWhole(vecs, [&] {
      EmitLineVecs(vecs, false);
      a_.add(from_, vecs * vec_bytes_);
      a_.add(to_, vecs * vec_bytes_);
    });
  }

  // The last vector begins earlier than the one before ends; in short lines its other lanes are padding.
  void EmitLineTail() {
    Label masked, done;
    a_.test(count_, count_);
    a_.jz(done, a_.T_NEAR);
    a_.cmp(arg(offsetof(RowsArgs, columns)), lanes_);
    a_.jl(masked, a_.T_NEAR);
    a_.lea(from_, a_.ptr[from_ + count_ * kFloat - vec_bytes_]);
    a_.lea(to_, a_.ptr[to_ + count_ * kFloat - vec_bytes_]);
    EmitLineVecs(1, false);
    a_.jmp(done, a_.T_NEAR);
    a_.L(masked);
    EmitLineVecs(1, true);
    a_.L(done);
  }

  // `at`: bytes from from_ and to_ on.
  void EmitLineVecs(int vecs, bool tail, int at = 0) {
    const Xbyak::RegExp rows[] = {from_ + at, from_ + row_step_ + at, from_ + row_step_ * 2 + at,
                                  from_ + three_rows_ + at};
    if (spec_.rows > 0) {
      for (int r = 0; r < spec_.rows; ++r) EmitLineTaps(rows[r], vecs, tail, r == 0);
    } else {
      Label next;
      for (int v = 0; v < vecs; ++v) Begin(v);
      a_.lea(tap_, a_.ptr[from_ + at]);
      a_.mov(taps_, arg(offsetof(RowsArgs, rows)));
      a_.L(next);
      EmitLineTaps(tap_ + 0, vecs, tail, false);
      a_.add(tap_, row_step_);
      a_.dec(taps_);
      a_.jnz(next, a_.T_NEAR);
    }
    for (int v = 0; v < vecs; ++v) {
      if (exact()) a_.vorps(acc(v), acc(v), mark(v));
      if (tail && !average()) {
        a_.vmovups(temp(0), a_.constant(-std::numeric_limits<float>::infinity()));
        a_.KeepTail(acc(v), temp(0), mask());
      }
      a_.vmovups(a_.ptr[to_ + at + v * vec_bytes_], acc(v));
    }
  }

  void EmitLineTaps(const Xbyak::RegExp& row, int vecs, bool tail, bool first) {
    for (int v = 0; v < vecs; ++v) {
      const jit::Address from = a_.ptr[row + v * vec_bytes_];
      if (average() && !tail && !first) {
        a_.vaddps(acc(v), acc(v), from);
        continue;
      }
      const bool direct = first && !exact();  // the accumulator's first value
      const Xmm value = direct ? acc(v) : temp(v % 3);
      if (tail) {
        a_.LoadTail(value, from, mask());
      } else {
        a_.vmovups(value, from);
      }
      if (!direct) {
        if (first) Begin(v);
        Add(v, value, true);
      } else if (fast()) {
        Sum(value);
      }
    }
  }

  const RowsSpec spec_;
  jit::Assembler& a_;
  const int vec_bytes_, lanes_;
  int next_mark_ = 0;
  jit::RegPool pool_;
  const Reg64 src_, dst_, line_, left_, from_, to_, count_, row_step_, three_rows_, tap_, taps_, counts_, output_rows_,
      steps_;
};

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_ROWS_TO_LINES_H_
