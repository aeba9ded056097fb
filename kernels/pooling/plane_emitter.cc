// kernels/pooling/plane_emitter.cc: the kernel of global pooling with columns in the lanes: a plane to one number.
#include <cstddef>
#include <limits>
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

constexpr int kPlaneVecs = 4;

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(PlaneArgs, field))]

class PlaneEmitter {
 public:
  PlaneEmitter(const PlaneSpec& spec, Assembler& a)
      : spec_(spec), a_(a), acc_(a, spec.max ? Reduction::kExactMax : Reduction::kSum, kPlaneVecs),
        vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), dst_(pool_.Take()), planes_(pool_.Take()),
        row_(pool_.Take()), at_(pool_.Take()), count_(pool_.Take()), rows_(pool_.Take()) {}

  void Emit() {
    Label plane, row;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    a_.mov(planes_, ARG(planes));
    a_.mov(at_, ARG(mask));
    a_.LoadTailMask(a_.ptr[at_], mask());
    a_.align(16);
    a_.L(plane);
    acc_.Init();
    if (spec_.count > 0) {
      EmitBakedPlane();
    } else {
      a_.mov(row_, src_);
      a_.mov(rows_, ARG(rows));
      a_.L(row);
      a_.mov(at_, row_);
      a_.mov(count_, ARG(count));
      EmitPart(kPlaneVecs);
      EmitPart(1);
      EmitTail();
      a_.add(row_, ARG(row_step));
      a_.dec(rows_);
      a_.jnz(row, a_.T_NEAR);
    }
    EmitReduction();
    a_.add(src_, ARG(src_plane_step));
    a_.add(dst_, ARG(dst_plane_step));
    a_.dec(planes_);
    a_.jnz(plane, a_.T_NEAR);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

  void EmitBakedPlane() {
    const int lanes = vec_bytes_ / 4, vecs = spec_.count / lanes;
    for (int v = 0; v < vecs; ++v) {
      const Xmm value = acc_.temp(v % 3);
      a_.vmovups(value, a_.ptr[src_ + v * vec_bytes_]);
      acc_.Add(v % kPlaneVecs, value);
    }
    if (spec_.count % lanes != 0) AddTail(src_ + vecs * vec_bytes_, vecs % kPlaneVecs);
  }

  void EmitPart(int vecs) {
    Label next, done;
    const int lanes = vecs * vec_bytes_ / 4;
    a_.L(next);
    a_.cmp(count_, lanes);
    a_.jl(done, a_.T_NEAR);
    for (int v = 0; v < vecs; ++v) {
      a_.vmovups(acc_.temp(0), a_.ptr[at_ + v * vec_bytes_]);
      acc_.Add(v, acc_.temp(0));
    }
    a_.add(at_, vecs * vec_bytes_);
    a_.sub(count_, lanes);
    a_.jmp(next, a_.T_NEAR);
    a_.L(done);
  }

  void EmitTail() {
    Label done;
    a_.test(count_, count_);
    a_.jz(done, a_.T_NEAR);
    AddTail(at_ + 0, 0);
    a_.L(done);
  }

  void AddTail(const Xbyak::RegExp& at, int v) {
    a_.LoadTail(acc_.temp(0), a_.ptr[at], mask());
    if (spec_.max) {  // the other lanes are no zeros to be maximal
      a_.vmovups(acc_.temp(1), a_.constant(-std::numeric_limits<float>::infinity()));
      a_.KeepTail(acc_.temp(0), acc_.temp(1), mask());
    }
    acc_.Add(v, acc_.temp(0));
  }

  // All vectors to one, halves of it to halves until one lane is left.
  void EmitReduction() {
    acc_.Finish();
    const int lanes_of_plane = spec_.count > 0 ? spec_.count : kPlaneVecs * vec_bytes_;
    for (int v = 1; v < kPlaneVecs && v * vec_bytes_ / 4 < lanes_of_plane; ++v) Combine(acc_.acc(0), acc_.acc(v));
    for (int lanes = vec_bytes_ / 8; lanes >= 1; lanes /= 2) {
      a_.UpperPart(acc_.temp(0), acc_.acc(0), lanes);
      Combine(acc_.acc(0), acc_.temp(0));
    }
    const Xmm low(acc_.acc(0).getIdx()), divisor(acc_.temp(0).getIdx());
    if (!spec_.max) {
      a_.vmovss(divisor, a_.dword[a_.rdi + static_cast<int>(offsetof(PlaneArgs, divisor))]);
      a_.vdivss(low, low, divisor);
    }
    a_.vmovss(a_.dword[dst_], low);
  }

  // a = a with b; NaN of either side stays.
  void Combine(const Xmm& a, const Xmm& b) {
    if (!spec_.max) return a_.vaddps(a, a, b);
    a_.vmaxps(acc_.temp(1), a, b);
    a_.vmaxps(a, b, a);
    a_.vorps(a, a, acc_.temp(1));
  }

  const PlaneSpec spec_;
  Assembler& a_;
  Accumulators acc_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, planes_, row_, at_, count_, rows_;
};

#undef ARG

}  // namespace

Result<jit::KernelPtr> GetPlaneKernel(const PlaneSpec& spec) {
  return jit::GetOrCompile("pool_plane", spec, [](const PlaneSpec& wanted) {
    std::string name = std::string("pool_f32_") + IsaName(wanted.isa) + (wanted.max ? "_max" : "_avg") + "_plane";
    if (wanted.count > 0) name += std::to_string(wanted.count);
    return jit::Compile(name, jit::GetIsaInfo(wanted.isa), [&](Assembler& a) { PlaneEmitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
