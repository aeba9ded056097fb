// kernels/eltwise/emitter.cc: the loops of spec.h and the chain inside of them.
#include "kernels/eltwise/emitter.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/eltwise_emitter.h"
#include "jit/reg_pool.h"
#include "kernels/sizes.h"

namespace rafter::eltwise {
namespace {

using jit::Address;
using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr int kLeastTemps = 4;

int TempsOf(EltwiseKind kind, int values) {
  return jit::IsUnary(kind) ? std::max(jit::EltwiseTemps(kind, values), kLeastTemps) : kLeastTemps;
}

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(Args, field))]
#define ARG_OF(field, i) a_.qword[a_.rdi + static_cast<int>(offsetof(Args, field) + 8 * (i))]

class Emitter {
 public:
  Emitter(const Spec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), dst_(pool_.Take()),
        tables_(pool_.Take()), offset_(pool_.Take()), end_(pool_.Take()) {
    for (int i = 0; i < spec.operands; ++i) operands_.push_back(pool_.Take());
  }

  void Emit() {
    Label row;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    for (int i = 0; i < spec_.operands; ++i) a_.mov(operands_[static_cast<size_t>(i)], ARG_OF(operands, i));
    a_.L(row);
    if (spec_.tables > 0) a_.mov(tables_, ARG(tables));
    a_.xor_(offset_.cvt32(), offset_.cvt32());
    EmitLoop(ARG(group_bytes), GroupVecs(spec_));
    EmitLoop(ARG(unit_bytes), UnitVecs(spec_));
    EmitTail();
    a_.add(src_, ARG(src_step));
    a_.add(dst_, ARG(dst_step));
    for (int i = 0; i < spec_.operands; ++i) a_.add(operands_[static_cast<size_t>(i)], ARG_OF(operand_steps, i));
    if (spec_.tables > 0) {
      a_.mov(tables_, ARG(tables_step));
      a_.add(ARG(tables), tables_);
    }
    a_.dec(ARG(rows));
    a_.jnz(row, a_.T_NEAR);
    if (spec_.non_temporal) a_.sfence();
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

  void EmitLoop(const Address& end, int vecs) {
    Label next, done;
    a_.mov(end_, end);
    a_.cmp(offset_, end_);
    a_.jge(done, a_.T_NEAR);
    a_.align(32);
    a_.L(next);
    if (spec_.non_temporal && HasFunction()) EmitPrefetches(vecs);
    EmitChain(vecs, false);
    a_.add(offset_, vecs * vec_bytes_);
    if (spec_.tables > 0 && spec_.tables_mode == Mode::kFull) a_.add(tables_, vecs * spec_.tables * vec_bytes_);
    a_.cmp(offset_, end_);
    a_.jl(next, a_.T_NEAR);
    a_.L(done);
  }

  void EmitTail() {
    Label done;
    a_.cmp(ARG(tail_lanes), 0);
    a_.jz(done, a_.T_NEAR);
    a_.mov(end_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[end_], mask());
    EmitChain(1, true);
    a_.lea(end_, a_.ptr[dst_ + offset_]);
    a_.mov(offset_, ARG(tail_lanes));
    a_.StoreFirstLanes(end_, a_.vec(0), offset_);
    a_.L(done);
  }

  // Whether some operation is a transcendental function.
  bool HasFunction() const {
    return std::any_of(spec_.kinds, spec_.kinds + spec_.ops,
                       [](EltwiseKind kind) { return TempsOf(kind, 1) < TempsOf(kind, 2); });
  }

  // Arithmetic fills the window in which loads run ahead; with data in memory they are asked for beforehand (Zen 3,
  // 51 MB: exp 1.3 to 2.0 times the speed of oneDNN, sigmoid 1.65 to 1.9). Cheap chains gain nothing.
  void EmitPrefetches(int vecs) {
    constexpr int kAheadBytes = 2048;
    for (int at = 0; at < vecs * vec_bytes_; at += kLineBytes) {
      a_.prefetcht0(a_.ptr[src_ + offset_ + at + kAheadBytes]);
      for (int i = 0; i < spec_.operands; ++i) {
        if (spec_.operand_modes[i] != Mode::kFull) continue;
        a_.prefetcht0(a_.ptr[operands_[static_cast<size_t>(i)] + offset_ + at + kAheadBytes]);
      }
    }
  }

  // The chain on `vecs` vectors from the offset on. A tail is left in the first register.
  void EmitChain(int vecs, bool tail) {
    std::vector<Xmm> values, temps;
    for (int i = 0; i < vecs; ++i) values.push_back(a_.vec(i));
    // The mask of the tail is in the last register.
    for (int i = vecs; i < a_.isa().num_vecs - (tail ? 1 : 0); ++i) temps.push_back(a_.vec(i));
    for (int i = 0; i < vecs; ++i) {
      if (tail) {
        a_.LoadTail(values[0], a_.ptr[src_ + offset_], mask());
      } else {
        a_.vmovups(values[static_cast<size_t>(i)], a_.ptr[src_ + offset_ + i * vec_bytes_]);
      }
    }
    int operand = 0, table = 0;
    for (int i = 0; i < spec_.ops; ++i) {
      const EltwiseKind kind = spec_.kinds[i];
      if (jit::IsUnary(kind)) {
        jit::ApplyEltwise(a_, kind, values, temps, a_.rdi + static_cast<int>(offsetof(Args, constants) + 8u * i));
      } else if (IsBinary(kind)) {
        EmitBinary(kind, operand++, values, temps, tail);
      } else {
        EmitChannelOp(kind, table, values, temps);
        table += kind == EltwiseKind::kChannelLinear ? 2 : 1;
      }
    }
    if (spec_.masked) EmitMask(table, values);
    if (!tail) EmitStores(values);
  }

  void EmitStores(const std::vector<Xmm>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Address to = a_.ptr[dst_ + offset_ + static_cast<int>(i) * vec_bytes_];
      if (spec_.non_temporal) {
        a_.vmovntps(to, values[i]);
      } else {
        a_.vmovups(to, values[i]);
      }
    }
  }

  // Table `table` for vector `i` of a group, when it is not kScalar.
  Address TableAt(int table, size_t i) const {
    const int vec = static_cast<int>(i);
    if (spec_.tables_mode == Mode::kFull) return a_.ptr[tables_ + (vec * spec_.tables + table) * vec_bytes_];
    const int table_bytes = 4 * TableLanes(spec_.block, vec_bytes_ / 4);
    return a_.ptr[tables_ + table * table_bytes + vec * vec_bytes_ % table_bytes];
  }

  // A table into `to`; once per group if it is kScalar.
  void LoadTable(int table, size_t i, const Xmm& to) {
    if (spec_.tables_mode != Mode::kScalar) {
      a_.vmovups(to, TableAt(table, i));
    } else if (i == 0) {
      a_.vbroadcastss(to, a_.dword[tables_ + 4 * table]);
    }
  }

  void EmitChannelOp(EltwiseKind kind, int table, const std::vector<Xmm>& values, const std::vector<Xmm>& temps) {
    const Xmm scale = temps[0], shift = temps[1];
    if (kind == EltwiseKind::kPrelu) a_.Zero(temps[3]);
    for (size_t i = 0; i < values.size(); ++i) {
      LoadTable(table, i, scale);
      if (kind == EltwiseKind::kPrelu) {
        jit::ApplySlope(a_, values[i], scale, temps[2], temps[3]);
      } else if (spec_.tables_mode == Mode::kScalar) {
        LoadTable(table + 1, i, shift);
        a_.vfmadd213ps(values[i], scale, shift);
      } else {
        a_.vfmadd213ps(values[i], scale, TableAt(table + 1, i));
      }
    }
  }

  void EmitMask(int table, const std::vector<Xmm>& values) {
    for (size_t i = 0; i < values.size(); ++i) a_.vandps(values[i], values[i], TableAt(table, i));
  }

  void EmitBinary(EltwiseKind kind, int operand, const std::vector<Xmm>& values, const std::vector<Xmm>& temps,
                  bool tail) {
    const Reg64& base = operands_[static_cast<size_t>(operand)];
    const Mode mode = spec_.operand_modes[operand];
    if (mode == Mode::kScalar) a_.vbroadcastss(temps[0], a_.dword[base]);
    for (size_t i = 0; i < values.size(); ++i) {
      const int at = static_cast<int>(i) * vec_bytes_;
      if (mode == Mode::kBlock) {
        if (spec_.block * 4 < vec_bytes_) {
          a_.LoadEightRepeated(temps[0], a_.ptr[base]);
        } else {
          a_.vmovups(temps[0], a_.ptr[base + at % (spec_.block * 4)]);
        }
      } else if (mode == Mode::kFull && tail) {
        a_.LoadTail(temps[0], a_.ptr[base + offset_], mask());
      } else if (mode == Mode::kFull) {
        const Address full = a_.ptr[base + offset_ + at];
        if (kind != EltwiseKind::kMin && kind != EltwiseKind::kMax) {
          ApplyBinary(kind, values[i], full);
          continue;
        }
        a_.vmovups(temps[0], full);
      }
      if (kind == EltwiseKind::kMin || kind == EltwiseKind::kMax) {
        jit::ApplyMinMax(a_, kind == EltwiseKind::kMax, values[i], temps[0], temps[1]);
      } else {
        ApplyBinary(kind, values[i], temps[0]);
      }
    }
  }

  void ApplyBinary(EltwiseKind kind, const Xmm& x, const Xbyak::Operand& operand) {
    switch (kind) {
      case EltwiseKind::kAdd: return a_.vaddps(x, x, operand);
      case EltwiseKind::kSub: return a_.vsubps(x, x, operand);
      case EltwiseKind::kMul: return a_.vmulps(x, x, operand);
      default: return a_.vdivps(x, x, operand);
    }
  }

  const Spec spec_;
  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, tables_, offset_, end_;
  std::vector<Reg64> operands_;
};

#undef ARG
#undef ARG_OF

}  // namespace

int UnitVecs(const Spec& spec) {
  const int lanes = jit::GetIsaInfo(spec.isa).vec_lanes();
  return spec.block > lanes ? spec.block / lanes : 1;
}

int GroupVecs(const Spec& spec) {
  const int unit = UnitVecs(spec), available = jit::GetIsaInfo(spec.isa).num_vecs;
  for (const int vecs : {8, 5, 4, 3, 2}) {
    int temps = 0;
    for (int i = 0; i < spec.ops; ++i) temps = std::max(temps, TempsOf(spec.kinds[i], vecs));
    if (vecs % unit == 0 && vecs + temps <= available) return vecs;
  }
  return 1;
}

std::string KernelName(const Spec& spec) {
  std::string name = std::string("eltwise_f32_") + IsaName(spec.isa);
  int operand = 0;
  const auto append = [&](Mode mode) {
    if (mode != Mode::kFull) name += mode == Mode::kScalar ? "1" : "b";
  };
  for (int i = 0; i < spec.ops; ++i) {
    name += std::string("_") + EltwiseName(spec.kinds[i]);
    if (IsBinary(spec.kinds[i])) append(spec.operand_modes[operand++]);
    if (spec.kinds[i] == EltwiseKind::kPrelu || spec.kinds[i] == EltwiseKind::kChannelLinear) append(spec.tables_mode);
  }
  if (spec.masked) name += "_masked";
  if (spec.non_temporal) name += "_nt";
  return name;
}

Result<jit::KernelPtr> GetKernel(const Spec& spec) {
  return jit::GetOrCompile("eltwise", spec, [](const Spec& wanted) {
    return jit::Compile(KernelName(wanted), jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { Emitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::eltwise
