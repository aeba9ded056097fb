// kernels/pooling/channel_emitter.cc: the kernel with channels in the lanes.
#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/pooling/accumulators.h"
#include "kernels/pooling/emitter.h"

namespace rafter::pooling {
namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kBundleVecs = 8;  // accumulators of a bundle, of all vectors and windows at a time

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, field))]

// Accumulators of each vector in loops over taps, so that few vectors do not wait for one sum after the other.
int ChainsOf(const ChannelSpec& spec) {
  const bool loop = spec.cols == 0 && spec.bundle == 1;
  return loop && spec.reduction != Reduction::kExactMax && spec.vecs <= 2 ? 4 / spec.vecs : 1;
}

// Of fast maxima: with more than four vectors there are registers for two sums only (a bundle needs no mask).
int SumsOf(const ChannelSpec& spec) {
  return spec.bundle == 1 && spec.vecs > 4 ? Accumulators::kFewestSums : Accumulators::kSums;
}

class Emitter {
 public:
  Emitter(const ChannelSpec& spec, Assembler& a)
      : spec_(spec), a_(a),
        acc_(a, spec.reduction, spec.bundle > 1 ? kBundleVecs : spec.vecs * ChainsOf(spec), SumsOf(spec)),
        vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), dst_(pool_.Take()), group_src_(pool_.Take()),
        groups_(pool_.Take()), row_(pool_.Take()), tap_(pool_.Take()), row_step_(pool_.Take()),
        col_step_(pool_.Take()), three_(pool_.Take()), rows_(pool_.Take()), cols_(pool_.Take()),
        group_dst_(pool_.Take()), row_src_(pool_.Take()), row_dst_(pool_.Take()) {}

  void Emit() {
    Label output_row, output, group;
    a_.EnterKernel();
    a_.mov(row_src_, ARG(src));
    a_.mov(row_dst_, ARG(dst));
    a_.mov(row_step_, ARG(row_step));
    a_.mov(col_step_, ARG(col_step));
    const Reg64& by_three = spec_.bundle > 1 ? row_step_ : col_step_;
    a_.lea(three_, a_.ptr[by_three + by_three * 2]);
    if (spec_.tail == Tail::kLanes) {
      a_.mov(rows_, ARG(mask));
      a_.LoadTailMask(a_.ptr[rows_], mask());
    }
    acc_.InitSums();
    a_.L(output_row);
    a_.mov(src_, row_src_);
    a_.mov(dst_, row_dst_);
    a_.mov(group_src_, ARG(outputs));
    a_.mov(ARG(left), group_src_);
    a_.align(32);
    a_.L(output);
    a_.mov(group_src_, src_);
    a_.mov(group_dst_, dst_);
    a_.mov(groups_, ARG(groups));
    a_.L(group);
    if (spec_.bundle > 1) {
      EmitBundle();
    } else {
      EmitWindow();
      EmitStores();
    }
    a_.add(group_src_, ARG(src_group_step));
    a_.add(group_dst_, ARG(dst_group_step));
    a_.dec(groups_);
    a_.jnz(group, a_.T_NEAR);
    a_.add(src_, ARG(src_step));
    a_.add(dst_, ARG(dst_step));
    a_.dec(ARG(left));
    a_.jnz(output, a_.T_NEAR);
    a_.add(row_src_, ARG(src_row_step));
    a_.add(row_dst_, ARG(dst_row_step));
    a_.dec(ARG(output_rows));
    a_.jnz(output_row, a_.T_NEAR);
    if (spec_.reduction == Reduction::kFastMax) {
      a_.vmovss(a_.dword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, sum))], acc_.FinishSums());
    }
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }
  bool IsTail(int v) const { return spec_.tail == Tail::kLanes && v == spec_.vecs - 1; }
  bool average() const { return spec_.reduction == Reduction::kSum; }

  void Load(const Xmm& to, const Xbyak::RegExp& tap, int v) {
    const jit::Address from = a_.ptr[tap + v * vec_bytes_];
    if (IsTail(v)) {
      a_.LoadTail(to, from, mask());
    } else {
      a_.vmovups(to, from);
    }
  }

  // --- several windows that share columns: column by column, each reduced once ---

  // Of each vector, windows that a column belongs to.
  int live() const { return (spec_.cols + spec_.stride - 1) / spec_.stride; }

  void EmitBundle() {
    const int at_once = std::min<int>(spec_.vecs, kBundleVecs / live());
    if (average()) {
      a_.vbroadcastss(divisor(), a_.dword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, divisor))]);
    }
    if (spec_.tail == Tail::kZero) a_.mov(rows_, ARG(mask));
    for (int v = 0; v < spec_.vecs; v += at_once) EmitBundleOf(v, std::min<int>(at_once, spec_.vecs - v));
  }

  void EmitBundleOf(int first, int vecs) {
    a_.mov(tap_, group_src_);
    a_.mov(row_, group_dst_);
    const int columns = (spec_.bundle - 1) * spec_.stride + spec_.cols;
    for (int c = 0; c < columns; ++c) {
      for (int v = 0; v < vecs; ++v) EmitColumn(c, first + v, v, vecs);
      a_.add(tap_, col_step_);
      if (c < spec_.cols - 1 || (c - (spec_.cols - 1)) % spec_.stride != 0) continue;
      const int output = (c - (spec_.cols - 1)) / spec_.stride;
      for (int v = 0; v < vecs; ++v) Store(acc_.acc(output % live() * vecs + v), row_, first + v);
      a_.add(row_, ARG(dst_output_step));
    }
  }

  // The rows of a column, then into the windows that hold it.
  void EmitColumn(int c, int vec, int v, int vecs) {
    const Xbyak::RegExp rows[] = {tap_ + 0, tap_ + row_step_, tap_ + row_step_ * 2, tap_ + three_};
    const int last = std::min<int>(c / spec_.stride, spec_.bundle - 1);
    int begin = last;  // windows begin … last
    while (begin > 0 && c - (begin - 1) * spec_.stride < spec_.cols) --begin;
    if (c - last * spec_.stride >= spec_.cols) return;  // between windows
    const bool alone = begin == last && c == last * spec_.stride;
    const Xmm sum = alone ? acc_.acc(last % live() * vecs + v) : acc_.temp(v % 2), taps = acc_.temp(3);
    for (int r = 0; r < spec_.rows; ++r) {
      const jit::Address from = a_.ptr[rows[r] + vec * vec_bytes_];
      if (r == 0) {
        a_.vmovups(sum, from);
        continue;
      }
      if (average()) {
        a_.vaddps(sum, sum, from);
        continue;
      }
      // One load for two uses: with operands from memory, five loads for a column of three would bind (Zen 3, 3x3 with
      // stride 2: 1.05 to 1.5 times as fast).
      const Xmm tap = acc_.temp(2);
      a_.vmovups(tap, from);
      a_.vaddps(taps, r == 1 ? sum : taps, tap);
      a_.vmaxps(sum, sum, tap);
    }
    acc_.Sum(spec_.rows > 1 ? taps : sum);
    for (int output = begin; output <= last && !alone; ++output) {
      const Xmm acc = acc_.acc(output % live() * vecs + v);
      if (c == output * spec_.stride) {
        a_.vmovaps(acc, sum);
      } else {
        acc_.Combine(acc, sum);
      }
    }
  }

  Xmm divisor() const { return acc_.temp(3); }

  void Store(const Xmm& value, const Reg64& to, int vec) {
    if (average()) a_.vdivps(value, value, divisor());
    if (spec_.tail == Tail::kZero) a_.vandps(value, value, a_.ptr[rows_ + vec * vec_bytes_]);
    if (spec_.non_temporal) {
      a_.vmovntps(a_.ptr[to + vec * vec_bytes_], value);
    } else {
      a_.vmovups(a_.ptr[to + vec * vec_bytes_], value);
    }
  }

  // --- one window ---

  void EmitWindow() {
    acc_.Init();
    a_.mov(row_, group_src_);
    if (spec_.rows > 0) {
      for (int r = 0; r < spec_.rows; ++r) {
        if (r > 0) a_.add(row_, row_step_);
        EmitRowOfTaps();
      }
      return;
    }
    Label next;
    a_.mov(rows_, ARG(rows));
    a_.L(next);
    EmitRowOfTaps();
    a_.add(row_, row_step_);
    a_.dec(rows_);
    a_.jnz(next, a_.T_NEAR);
  }

  void EmitRowOfTaps() {
    a_.mov(tap_, row_);
    if (spec_.cols == 0) return EmitTapLoop();
    const Xbyak::RegExp at[] = {tap_ + 0, tap_ + col_step_, tap_ + col_step_ * 2, tap_ + three_};
    for (int c = 0; c < spec_.cols; c += 2) {
      if (c > 0 && c % 4 == 0) a_.lea(tap_, a_.ptr[tap_ + col_step_ * 4]);
      const bool pair = c + 1 < spec_.cols;
      for (int v = 0; v < acc_.vecs(); ++v) {
        const Xmm first = acc_.temp(0), second = acc_.temp(1);
        Load(first, at[c % 4], v);
        if (pair) Load(second, at[c % 4 + 1], v);
        acc_.Add(v, first, pair ? &second : nullptr);
      }
    }
  }

  void EmitTapLoop() {
    a_.mov(cols_, ARG(cols));
    const int chains = ChainsOf(spec_);
    if (chains > 1) {
      EmitTaps(chains);
    } else if (acc_.fast()) {
      EmitTapPairs();
    }
    EmitTaps(1);
  }

  // Two taps at a time whose sum is added up, so that the sums are waited for half as often.
  void EmitTapPairs() {
    Label next, done;
    a_.L(next);
    a_.cmp(cols_, 2);
    a_.jl(done, a_.T_NEAR);
    for (int v = 0; v < spec_.vecs; ++v) {
      const Xmm first = acc_.temp(0), second = acc_.temp(1);
      Load(first, tap_ + 0, v);
      Load(second, tap_ + col_step_, v);
      acc_.Add(v, first, &second);
    }
    a_.lea(tap_, a_.ptr[tap_ + col_step_ * 2]);
    a_.sub(cols_, 2);
    a_.jmp(next, a_.T_NEAR);
    a_.L(done);
  }

  // `count` taps at a time, each to accumulators of its own, as long as so many are left.
  void EmitTaps(int count) {
    const Xbyak::RegExp at[] = {tap_ + 0, tap_ + col_step_, tap_ + col_step_ * 2, tap_ + three_};
    Label next, done;
    a_.L(next);
    a_.cmp(cols_, count);
    a_.jl(done, a_.T_NEAR);
    for (int t = 0; t < count; ++t) {
      for (int v = 0; v < spec_.vecs; ++v) {
        const Xmm value = acc_.temp(t % 3);
        Load(value, at[t], v);
        acc_.Add(t * spec_.vecs + v, value);
      }
    }
    a_.lea(tap_, a_.ptr[tap_ + col_step_ * count]);
    a_.sub(cols_, count);
    a_.jmp(next, a_.T_NEAR);
    a_.L(done);
  }

  void EmitStores() {
    acc_.Finish();
    for (int other = spec_.vecs; other < acc_.vecs(); ++other) {
      acc_.Combine(acc_.acc(other % spec_.vecs), acc_.acc(other));
    }
    if (average()) {
      a_.vbroadcastss(divisor(), a_.dword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, divisor))]);
    }
    if (spec_.tail == Tail::kZero) a_.mov(rows_, ARG(mask));
    for (int v = 0; v < spec_.vecs; ++v) {
      if (!IsTail(v)) {
        Store(acc_.acc(v), group_dst_, v);
        continue;
      }
      if (average()) a_.vdivps(acc_.acc(v), acc_.acc(v), divisor());
      a_.lea(row_, a_.ptr[group_dst_ + v * vec_bytes_]);
      a_.mov(tap_, ARG(tail_lanes));
      a_.StoreFirstLanes(row_, acc_.acc(v), tap_);
    }
  }

  const ChannelSpec spec_;
  Assembler& a_;
  Accumulators acc_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, group_src_, groups_, row_, tap_, row_step_, col_step_, three_, rows_, cols_, group_dst_,
      row_src_, row_dst_;
};

#undef ARG

std::string Name(const ChannelSpec& spec) {
  constexpr const char* kReductions[] = {"_avg", "_max", "_max_exact"};
  std::string name = std::string("pool_f32_") + IsaName(spec.isa) + kReductions[static_cast<int>(spec.reduction)] +
                     "_channels_" + std::to_string(spec.vecs) + "v";
  if (spec.bundle > 1) name += "_" + std::to_string(spec.bundle) + "px_s" + std::to_string(spec.stride);
  if (spec.cols > 0) name += "_" + std::to_string(spec.rows) + "x" + std::to_string(spec.cols);
  if (spec.non_temporal) name += "_nt";
  if (spec.tail != Tail::kNone) name += spec.tail == Tail::kLanes ? "_tail" : "_masked";
  return name;
}

}  // namespace

int MostVecs(Isa isa, Reduction reduction) {
  const int registers = jit::GetIsaInfo(isa).num_vecs - 1 - Accumulators::kTemps;
  return 8 + Accumulators::Marks(reduction, 8, Accumulators::kFewestSums) <= registers ? 8 : 4;
}

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec) {
  return jit::GetOrCompile("pool_channels", spec, [](const ChannelSpec& wanted) {
    return jit::Compile(Name(wanted), jit::GetIsaInfo(wanted.isa), [&](Assembler& a) { Emitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
