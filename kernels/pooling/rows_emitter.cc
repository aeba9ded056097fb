// kernels/pooling/rows_emitter.cc: the kernel of windows with columns in the lanes: rows of taps to lines
// (rows_to_lines.h), lines to outputs. Its contract: spec.h.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "kernels/pooling/emitter.h"
#include "kernels/pooling/rows_to_lines.h"
#include "kernels/sizes.h"

namespace rafter::pooling {
namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kOutputVecs = 2;  // of outputs at a time

class RowsEmitter : private RowsToLines {
 public:
  RowsEmitter(const RowsSpec& spec, Assembler& a) : RowsToLines(spec, a) {}

  void Emit() {
    Label batch;
    a_.EnterKernel();
    a_.mov(src_, arg(offsetof(RowsArgs, src)));
    a_.mov(dst_, arg(offsetof(RowsArgs, dst)));
    a_.mov(row_step_, arg(offsetof(RowsArgs, row_step)));
    a_.lea(three_rows_, a_.ptr[row_step_ + row_step_ * 2]);
    a_.mov(output_rows_, arg(offsetof(RowsArgs, output_rows)));
    if (fast()) {
      for (int v = 0; v < kLineVecs; ++v) a_.Zero(mark(v));
    }
    a_.L(batch);
    a_.mov(left_, arg(offsetof(RowsArgs, lines_at_once)));
    a_.cmp(left_, output_rows_);
    a_.cmovg(left_, output_rows_);
    a_.mov(arg(offsetof(RowsArgs, batch)), left_);
    EmitLines();
    a_.mov(left_, arg(offsetof(RowsArgs, batch)));
    EmitOutputRows();
    a_.sub(output_rows_, arg(offsetof(RowsArgs, batch)));
    a_.jnz(batch, a_.T_NEAR);
    if (fast()) EmitSum();
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  void EmitOutputRows() {
    Label row;
    a_.mov(line_, arg(offsetof(RowsArgs, lines)));
    a_.add(line_, arg(offsetof(RowsArgs, first_tap)));
    a_.mov(tap_, arg(offsetof(RowsArgs, output_mask)));
    a_.LoadTailMask(a_.ptr[tap_], mask());
    if (average()) {
      a_.vbroadcastss(divisor_rows(), a_.dword[a_.rdi + static_cast<int>(offsetof(RowsArgs, divisor_rows))]);
    }
    a_.mov(steps_, arg(offsetof(RowsArgs, stride)));
    if (gathers()) PrepareGather();
    a_.align(16);
    a_.L(row);
    a_.mov(from_, line_);
    a_.mov(to_, dst_);
    if (average()) a_.mov(counts_, arg(offsetof(RowsArgs, counts)));
    if (spec_.outputs > 0) {
      EmitBakedOutputs();
    } else {
      a_.mov(count_, arg(offsetof(RowsArgs, outputs)));
      EmitOutputPart(gathers() ? 1 : kOutputVecs);
      if (!gathers()) EmitOutputPart(1);
      EmitOutputTail();
    }
    a_.add(dst_, arg(offsetof(RowsArgs, dst_output_step)));
    a_.add(line_, arg(offsetof(RowsArgs, line_pitch)));
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
    a_.cmp(arg(offsetof(RowsArgs, outputs)), lanes_);
    a_.jl(few, a_.T_NEAR);
    a_.sub(count_, lanes_);  // negative: back by as many outputs
    a_.lea(to_, a_.ptr[to_ + count_ * kFloat]);
    if (average()) a_.lea(counts_, a_.ptr[counts_ + count_ * kFloat]);
    a_.imul(count_, arg(offsetof(RowsArgs, stride)));
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
    a_.mov(taps_, arg(offsetof(RowsArgs, cols)));
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
    a_.add(tap_, arg(offsetof(RowsArgs, col_step)));
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
};

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
