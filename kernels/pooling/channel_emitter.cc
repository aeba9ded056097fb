// kernels/pooling/channel_emitter.cc: the kernel with channels in the lanes.
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

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, field))]

class Emitter {
 public:
  Emitter(const ChannelSpec& spec, Assembler& a)
      : spec_(spec), a_(a), acc_(a, spec.max, spec.vecs * spec.bundle), vec_bytes_(a.isa().vec_bytes),
        src_(pool_.Take()), dst_(pool_.Take()),
        group_src_(pool_.Take()), groups_(pool_.Take()), row_(pool_.Take()), tap_(pool_.Take()),
        row_step_(pool_.Take()), col_step_(pool_.Take()), three_cols_(pool_.Take()), rows_(pool_.Take()),
        cols_(pool_.Take()), group_dst_(pool_.Take()) {}

  void Emit() {
    Label output, group;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    a_.mov(row_step_, ARG(row_step));
    a_.mov(col_step_, ARG(col_step));
    a_.lea(three_cols_, a_.ptr[col_step_ + col_step_ * 2]);
    if (spec_.tail == Tail::kLanes) {
      a_.mov(rows_, ARG(mask));
      a_.LoadTailMask(a_.ptr[rows_], mask());
    }
    a_.align(32);
    a_.L(output);
    a_.mov(group_src_, src_);
    a_.mov(group_dst_, dst_);
    a_.mov(groups_, ARG(groups));
    a_.L(group);
    EmitWindow();
    EmitStores();
    a_.add(group_src_, spec_.vecs * vec_bytes_);
    a_.add(group_dst_, spec_.vecs * vec_bytes_);
    a_.dec(groups_);
    a_.jnz(group, a_.T_NEAR);
    a_.add(src_, ARG(src_step));
    a_.add(dst_, ARG(dst_step));
    a_.dec(ARG(outputs));
    a_.jnz(output, a_.T_NEAR);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }
  bool IsTail(int v) const { return spec_.tail == Tail::kLanes && v == spec_.vecs - 1; }

  // Of accumulator `v`: the vectors of an output, output by output.
  void Load(const Xmm& to, const Xbyak::RegExp& tap, int v) {
    const int output = v / spec_.vecs, vec = v % spec_.vecs;
    const jit::Address from = a_.ptr[tap + (output * spec_.stride * spec_.vecs + vec) * vec_bytes_];
    if (IsTail(v)) {
      a_.LoadTail(to, from, mask());
    } else {
      a_.vmovups(to, from);
    }
  }

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
    const Xbyak::RegExp at[] = {tap_ + 0, tap_ + col_step_, tap_ + col_step_ * 2, tap_ + three_cols_};
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
    Label next;
    a_.mov(cols_, ARG(cols));
    a_.L(next);
    for (int v = 0; v < acc_.vecs(); ++v) {
      Load(acc_.temp(0), tap_ + 0, v);
      acc_.Add(v, acc_.temp(0));
    }
    a_.add(tap_, col_step_);
    a_.dec(cols_);
    a_.jnz(next, a_.T_NEAR);
  }

  void EmitStores() {
    acc_.Finish();
    if (!spec_.max) {
      a_.vbroadcastss(acc_.temp(0), a_.dword[a_.rdi + static_cast<int>(offsetof(ChannelArgs, divisor))]);
      for (int v = 0; v < acc_.vecs(); ++v) a_.vdivps(acc_.acc(v), acc_.acc(v), acc_.temp(0));
    }
    if (spec_.tail == Tail::kZero) a_.mov(rows_, ARG(mask));
    for (int v = 0; v < acc_.vecs(); ++v) {
      const int vec = v % spec_.vecs;
      if (spec_.tail == Tail::kZero) a_.vandps(acc_.acc(v), acc_.acc(v), a_.ptr[rows_ + vec * vec_bytes_]);
      if (!IsTail(v)) {
        a_.vmovups(a_.ptr[group_dst_ + v * vec_bytes_], acc_.acc(v));
        continue;
      }
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
  const Reg64 src_, dst_, group_src_, groups_, row_, tap_, row_step_, col_step_, three_cols_, rows_, cols_, group_dst_;
};

#undef ARG

std::string Name(const ChannelSpec& spec) {
  std::string name = std::string("pool_f32_") + IsaName(spec.isa) + (spec.max ? "_max" : "_avg") + "_channels_" +
                     std::to_string(spec.vecs) + "v";
  if (spec.bundle > 1) name += "_" + std::to_string(spec.bundle) + "px_s" + std::to_string(spec.stride);
  if (spec.cols > 0) name += "_" + std::to_string(spec.rows) + "x" + std::to_string(spec.cols);
  if (spec.tail != Tail::kNone) name += spec.tail == Tail::kLanes ? "_tail" : "_masked";
  return name;
}

}  // namespace

int MostVecs(Isa isa, bool max) {
  const int registers = jit::GetIsaInfo(isa).num_vecs - 1 - Accumulators::kTemps;
  return max ? (registers >= 16 ? 8 : 4) : 8;
}

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec) {
  return jit::GetOrCompile("pool_channels", spec, [](const ChannelSpec& wanted) {
    return jit::Compile(Name(wanted), jit::GetIsaInfo(wanted.isa), [&](Assembler& a) { Emitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
