// kernels/pooling/plane_group_emitter.cc: the kernel of global averages of short planes: eight planes at a time, since
// reducing the lanes of a single sum would take longer than reading the plane. Its contract: spec.h.
#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/pooling/emitter.h"
#include "kernels/sizes.h"

namespace rafter::pooling {
namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;
using Xbyak::Ymm;

constexpr int kPlanes = 8;  // of a group: the lanes of the result

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(PlaneArgs, field))]

class PlaneGroupEmitter {
 public:
  PlaneGroupEmitter(const PlaneSpec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), fifth_(pool_.Take()),
        dst_(pool_.Take()), planes_(pool_.Take()), step_(pool_.Take()), three_(pool_.Take()), mask_at_(pool_.Take()) {}

  void Emit() {
    Label group, few, one, done;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    a_.mov(planes_, ARG(planes));
    a_.mov(mask_at_, ARG(mask));
    a_.LoadTailMask(a_.ptr[mask_at_], mask());
    a_.vbroadcastss(divisor(), a_.dword[a_.rdi + static_cast<int>(offsetof(PlaneArgs, divisor))]);
    a_.mov(step_, ARG(src_plane_step));
    a_.lea(three_, a_.ptr[step_ + step_ * 2]);
    a_.align(16);
    a_.L(group);
    a_.cmp(planes_, kPlanes);
    a_.jl(few, a_.T_NEAR);
    a_.lea(fifth_, a_.ptr[src_ + step_ * 4]);
    EmitGroup();
    a_.vmovups(a_.ptr[dst_], result());
    a_.lea(src_, a_.ptr[src_ + step_ * 8]);
    a_.add(dst_, kPlanes * kFloat);
    a_.sub(planes_, kPlanes);
    a_.jmp(group, a_.T_NEAR);
    // The rest one by one, as eight times the same plane: the additions keep their order.
    a_.L(few);
    a_.xor_(step_, step_);
    a_.xor_(three_, three_);
    a_.L(one);
    a_.test(planes_, planes_);
    a_.jz(done, a_.T_NEAR);
    a_.mov(fifth_, src_);
    EmitGroup();
    a_.vmovss(a_.dword[dst_], Xmm(result().getIdx()));
    a_.add(src_, ARG(src_plane_step));
    a_.add(dst_, kFloat);
    a_.dec(planes_);
    a_.jmp(one, a_.T_NEAR);
    a_.L(done);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm acc(int plane) const { return a_.vec(plane); }
  Xmm temp(int i) const { return a_.vec(kPlanes + i); }  // 0 … 2
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }
  Ymm divisor() const { return Ymm(14); }
  Ymm result() const { return Ymm(0); }

  void EmitGroup() {
    const Xbyak::RegExp planes[] = {src_ + 0,   src_ + step_,   src_ + step_ * 2,   src_ + three_,
                                    fifth_ + 0, fifth_ + step_, fifth_ + step_ * 2, fifth_ + three_};
    const int lanes = vec_bytes_ / kFloat, vecs = spec_.count / lanes;
    for (int plane = 0; plane < kPlanes; ++plane) {
      const Xmm sum = acc(plane);
      for (int v = 0; v < vecs; ++v) {
        const jit::Address from = a_.ptr[planes[plane] + v * vec_bytes_];
        if (v == 0) {
          a_.vmovups(sum, from);
        } else {
          a_.vaddps(sum, sum, from);
        }
      }
      if (spec_.count % lanes == 0) continue;
      const Xmm tail = vecs == 0 ? sum : temp(plane % 3);
      a_.LoadTail(tail, a_.ptr[planes[plane] + vecs * vec_bytes_], mask());
      if (vecs > 0) a_.vaddps(sum, sum, tail);
    }
    EmitLaneSums();
    a_.vdivps(result(), result(), divisor());
  }

  // result = the sum of the lanes of each accumulator: pairs of pairs of lanes, then of halves.
  void EmitLaneSums() {
    for (int plane = 0; plane < kPlanes && vec_bytes_ > 32; ++plane) {
      a_.UpperPart(temp(0), acc(plane), 8);
      a_.vaddps(Ymm(plane), Ymm(plane), Ymm(temp(0).getIdx()));
    }
    for (int step = 1; step < 4; step *= 2) {
      for (int plane = 0; plane < kPlanes; plane += 2 * step) a_.vhaddps(Ymm(plane), Ymm(plane), Ymm(plane + step));
    }
    const Ymm high(temp(0).getIdx());
    a_.vperm2f128(high, Ymm(0), Ymm(4), 0x31);
    a_.vinsertf128(Ymm(0), Ymm(0), Xmm(4), 1);
    a_.vaddps(result(), Ymm(0), high);
  }

  const PlaneSpec spec_;
  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, fifth_, dst_, planes_, step_, three_, mask_at_;
};

#undef ARG

}  // namespace

Result<jit::KernelPtr> GetPlaneGroupKernel(const PlaneSpec& spec) {
  return jit::GetOrCompile("pool_planes", spec, [](const PlaneSpec& wanted) {
    const std::string name =
        std::string("pool_f32_") + IsaName(wanted.isa) + "_avg_planes8_" + std::to_string(wanted.count);
    return jit::Compile(name, jit::GetIsaInfo(wanted.isa), [&](Assembler& a) { PlaneGroupEmitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
