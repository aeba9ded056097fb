// kernels/pooling/rows_emitter.cc: the kernel of windows with columns in the lanes: rows of taps to lines, lines to
// outputs. Its contract: spec.h.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/pooling/emitter.h"
#include "kernels/sizes.h"

namespace rafter::pooling {
namespace {

using jit::Address;
using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kLineVecs = 4;    // of columns at a time
constexpr int kOutputVecs = 2;  // of outputs at a time

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(RowsArgs, field))]

class RowsEmitter {
 public:
  RowsEmitter(const RowsSpec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), lanes_(vec_bytes_ / kFloat), src_(pool_.Take()),
        dst_(pool_.Take()), line_(pool_.Take()), left_(pool_.Take()), from_(pool_.Take()), to_(pool_.Take()),
        count_(pool_.Take()), row_step_(pool_.Take()), three_rows_(pool_.Take()), tap_(pool_.Take()),
        taps_(pool_.Take()), counts_(pool_.Take()), output_rows_(pool_.Take()), steps_(pool_.Take()) {}

  void Emit() {
    Label batch, all;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    a_.mov(row_step_, ARG(row_step));
    a_.lea(three_rows_, a_.ptr[row_step_ + row_step_ * 2]);
    a_.mov(output_rows_, ARG(output_rows));
    if (fast()) {
      for (int v = 0; v < kLineVecs; ++v) a_.Zero(mark(v));
    }
    a_.L(batch);
    a_.mov(left_, ARG(lines_at_once));
    a_.cmp(left_, output_rows_);
    a_.cmovg(left_, output_rows_);
    a_.mov(ARG(batch), left_);
    EmitLines();
    a_.mov(left_, ARG(batch));
    EmitOutputRows();
    a_.sub(output_rows_, ARG(batch));
    a_.jnz(batch, a_.T_NEAR);
    if (fast()) EmitSum();
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
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

  // --- rows of taps to lines ---

  void EmitLines() {
    Label row;
    a_.mov(line_, ARG(lines));
    a_.mov(tap_, ARG(column_mask));
    a_.LoadTailMask(a_.ptr[tap_], mask());
    a_.align(16);
    a_.L(row);
    if (spec_.columns > 0) {
      EmitBakedLine();
    } else {
      a_.mov(from_, src_);
      a_.mov(to_, line_);
      a_.mov(count_, ARG(columns));
      EmitLinePart(kLineVecs);
      EmitLinePart(1);
      EmitLineTail();
    }
    a_.add(src_, ARG(src_output_step));
    a_.add(line_, ARG(line_pitch));
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

  // The last vector begins earlier than the one before ends; in short lines its other lanes are padding.
  void EmitLineTail() {
    Label masked, done;
    a_.test(count_, count_);
    a_.jz(done, a_.T_NEAR);
    a_.cmp(ARG(columns), lanes_);
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
      a_.mov(taps_, ARG(rows));
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
      const Address from = a_.ptr[row + v * vec_bytes_];
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

  // --- lines to outputs ---

  void EmitOutputRows() {
    Label row;
    a_.mov(line_, ARG(lines));
    a_.add(line_, ARG(first_tap));
    a_.mov(tap_, ARG(output_mask));
    a_.LoadTailMask(a_.ptr[tap_], mask());
    if (average()) {
      a_.vbroadcastss(divisor_rows(), a_.dword[a_.rdi + static_cast<int>(offsetof(RowsArgs, divisor_rows))]);
    }
    a_.mov(steps_, ARG(stride));
    if (gathers()) PrepareGather();
    a_.align(16);
    a_.L(row);
    a_.mov(from_, line_);
    a_.mov(to_, dst_);
    if (average()) a_.mov(counts_, ARG(counts));
    if (spec_.outputs > 0) {
      EmitBakedOutputs();
    } else {
      a_.mov(count_, ARG(outputs));
      EmitOutputPart(gathers() ? 1 : kOutputVecs);
      if (!gathers()) EmitOutputPart(1);
      EmitOutputTail();
    }
    a_.add(dst_, ARG(dst_output_step));
    a_.add(line_, ARG(line_pitch));
    a_.dec(left_);
    a_.jnz(row, a_.T_NEAR);
  }

  // index = 0, stride, 2 * stride, …
  void PrepareGather() {
    std::vector<uint32_t> order;
    for (int lane = 0; lane < lanes_; ++lane) order.push_back(static_cast<uint32_t>(lane));
    const Xmm low(index().getIdx());
    a_.vmovd(low, steps_.cvt32());
    a_.vpbroadcastd(index(), low);
    a_.vpmulld(index(), index(), a_.constant_lanes(std::move(order)));
    a_.imul(steps_, steps_, vec_bytes_);  // a vector of outputs further
  }

  void AdvanceOutputs(int vecs) {
    if (gathers()) {
      a_.add(from_, steps_);
    } else {
      a_.add(from_, vecs * spec_.stride * vec_bytes_);
    }
    a_.add(to_, vecs * vec_bytes_);
    if (average()) a_.add(counts_, vecs * vec_bytes_);
  }

  void EmitBakedOutputs() {
    const int vecs = spec_.outputs / lanes_, rest = spec_.outputs % lanes_;
    for (int v = 0; v < vecs; v += kOutputVecs) EmitAndStore(std::min(kOutputVecs, vecs - v), v * lanes_);
    if (rest > 0 && vecs > 0) EmitAndStore(1, spec_.outputs - lanes_);
    if (vecs > 0) return;
    EmitOutputs(1);
    a_.StoreLanes(to_, acc(0), 0, rest, temp(0));
  }

  // `first`: output of the vectors that from_, to_ and counts_ belong to.
  void EmitAndStore(int vecs, int first) {
    EmitOutputs(vecs, first);
    for (int v = 0; v < vecs; ++v) a_.vmovups(a_.ptr[to_ + first * kFloat + v * vec_bytes_], acc(v));
  }

  void EmitOutputPart(int vecs) {
    WhileWhole(vecs, [&] {
      EmitAndStore(vecs, 0);
      AdvanceOutputs(vecs);
    });
  }

  void EmitOutputTail() {
    Label few, done;
    a_.test(count_, count_);
    a_.jz(done, a_.T_NEAR);
    a_.cmp(ARG(outputs), lanes_);
    a_.jl(few, a_.T_NEAR);
    a_.sub(count_, lanes_);  // negative: back by as many outputs
    a_.lea(to_, a_.ptr[to_ + count_ * kFloat]);
    if (average()) a_.lea(counts_, a_.ptr[counts_ + count_ * kFloat]);
    a_.imul(count_, ARG(stride));
    a_.lea(from_, a_.ptr[from_ + count_ * kFloat]);
    EmitAndStore(1, 0);
    a_.jmp(done, a_.T_NEAR);
    a_.L(few);
    EmitOutputs(1);
    a_.StoreFirstLanes(to_, acc(0), count_);
    a_.L(done);
  }

  void EmitOutputs(int vecs, int first = 0) {
    for (int v = 0; v < vecs; ++v) Begin(v);
    if (spec_.dense && spec_.cols > 0) {
      EmitDenseTaps(vecs, first);
    } else {
      EmitSteppedTaps(vecs, first);
    }
    for (int v = 0; v < vecs; ++v) {
      if (exact()) a_.vorps(acc(v), acc(v), mark(v));
      if (spec_.stride == 2) a_.OrderEvenLanes(acc(v));
      if (!average()) continue;
      a_.vmulps(temp(0), divisor_rows(), a_.ptr[counts_ + first * kFloat + v * vec_bytes_]);
      a_.vdivps(acc(v), acc(v), temp(0));
    }
  }

  // All taps at displacements; of stride 2 two neighbouring taps come from the same two vectors.
  void EmitDenseTaps(int vecs, int first) {
    for (int v = 0; v < vecs; ++v) {
      for (int c = 0; c < spec_.cols; ++c) {
        const Xbyak::RegExp at = from_ + (first * spec_.stride + c) * kFloat + v * spec_.stride * vec_bytes_;
        if (gathers()) {
          a_.lea(tap_, a_.ptr[at]);
          a_.GatherLanes(temp(0), tap_, index(), temp(1));
        } else {
          a_.vmovups(temp(0), a_.ptr[at]);
        }
        if (spec_.stride != 2) {
          Add(v, temp(0), false);
          continue;
        }
        if (c + 1 == spec_.cols) {
          a_.EvenLanes(temp(0), temp(0), a_.ptr[at + vec_bytes_]);
          Add(v, temp(0), false);
          continue;
        }
        a_.vmovups(temp(1), a_.ptr[at + vec_bytes_]);
        a_.EvenLanes(temp(2), temp(0), temp(1));
        Add(v, temp(2), false);
        a_.OddLanes(temp(2), temp(0), temp(1));
        Add(v, temp(2), false);
        ++c;
      }
    }
  }

  void EmitSteppedTaps(int vecs, int first) {
    Label next;
    a_.mov(tap_, from_);
    a_.mov(taps_, ARG(cols));
    a_.L(next);
    for (int v = 0; v < vecs; ++v) {
      const Xbyak::RegExp at = tap_ + first * spec_.stride * kFloat + v * spec_.stride * vec_bytes_;
      if (gathers()) {
        a_.GatherLanes(temp(0), tap_, index(), temp(1));
      } else {
        a_.vmovups(temp(0), a_.ptr[at]);
        if (spec_.stride == 2) a_.EvenLanes(temp(0), temp(0), a_.ptr[at + vec_bytes_]);
      }
      Add(v, temp(0), false);
    }
    a_.add(tap_, ARG(col_step));
    a_.dec(taps_);
    a_.jnz(next, a_.T_NEAR);
  }

  // All marks to one number.
  void EmitSum() {
    for (int v = 1; v < kLineVecs; ++v) a_.vaddps(mark(0), mark(0), mark(v));
    for (int lanes = lanes_ / 2; lanes >= 1; lanes /= 2) {
      a_.UpperPart(temp(0), mark(0), lanes);
      a_.vaddps(mark(0), mark(0), temp(0));
    }
    a_.vmovss(a_.dword[a_.rdi + static_cast<int>(offsetof(RowsArgs, sum))], Xmm(mark(0).getIdx()));
  }

  const RowsSpec spec_;
  Assembler& a_;
  const int vec_bytes_, lanes_;
  int next_mark_ = 0;
  jit::RegPool pool_;
  const Reg64 src_, dst_, line_, left_, from_, to_, count_, row_step_, three_rows_, tap_, taps_, counts_, output_rows_,
      steps_;
};

#undef ARG

std::string Name(const RowsSpec& spec) {
  constexpr const char* kReductions[] = {"_avg", "_max", "_max_exact"};
  std::string name = std::string("pool_f32_") + IsaName(spec.isa) + kReductions[static_cast<int>(spec.reduction)] +
                     "_columns_s" + std::to_string(spec.stride) + "_" + std::to_string(spec.rows) + "x" +
                     std::to_string(spec.cols);
  if (!spec.dense) name += "_dilated";
  return spec.columns > 0 ? name + "_" + std::to_string(spec.columns) + "to" + std::to_string(spec.outputs) : name;
}

}  // namespace

Result<jit::KernelPtr> GetRowsKernel(const RowsSpec& spec) {
  return jit::GetOrCompile("pool_rows", spec, [](const RowsSpec& wanted) {
    return jit::Compile(Name(wanted), jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { RowsEmitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
