// kernels/pooling/line_emitter.cc: the kernels with columns in the lanes: rows of taps to a line, a line to outputs, a
// plane to one number.
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

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

constexpr int kLineVecs = 4;

#define ARG_OF(Args, field) a_.qword[a_.rdi + static_cast<int>(offsetof(Args, field))]

// line = over rows; also the plane kernel, which goes on to the sum or maximum of the line without storing it.
class VerticalEmitter {
 public:
  VerticalEmitter(const LineSpec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), line_(pool_.Take()),
        count_(pool_.Take()), row_(pool_.Take()), rows_(pool_.Take()), row_step_(pool_.Take()), end_(pool_.Take()) {}

  void Emit() {
    a_.EnterKernel();
    a_.mov(src_, ARG_OF(VerticalArgs, src));
    a_.mov(line_, ARG_OF(VerticalArgs, line));
    a_.mov(count_, ARG_OF(VerticalArgs, count));
    a_.mov(row_step_, ARG_OF(VerticalArgs, row_step));
    a_.mov(row_, ARG_OF(VerticalArgs, mask));
    a_.LoadTailMask(a_.ptr[row_], mask());
    EmitPart(kLineVecs, false);
    EmitPart(1, false);
    EmitPart(1, true);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

  // As long as so many vectors are left; the tail once, if there is one.
  void EmitPart(int vecs, bool tail) {
    Label next, done, row;
    const int lanes = vecs * vec_bytes_ / 4;
    Accumulators acc(a_, spec_.max, vecs);
    a_.L(next);
    if (tail) {
      a_.test(count_, count_);
      a_.jz(done, a_.T_NEAR);
    } else {
      a_.cmp(count_, lanes);
      a_.jl(done, a_.T_NEAR);
    }
    acc.Init();
    a_.mov(row_, src_);
    a_.mov(rows_, ARG_OF(VerticalArgs, rows));
    a_.L(row);
    for (int v = 0; v < vecs; ++v) {
      if (tail) {
        a_.LoadTail(acc.temp(0), a_.ptr[row_], mask());
      } else {
        a_.vmovups(acc.temp(0), a_.ptr[row_ + v * vec_bytes_]);
      }
      acc.Add(v, acc.temp(0));
    }
    a_.add(row_, row_step_);
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    acc.Finish();
    for (int v = 0; v < vecs; ++v) a_.vmovups(a_.ptr[line_ + v * vec_bytes_], acc.acc(v));
    if (!tail) {
      a_.add(src_, vecs * vec_bytes_);
      a_.add(line_, vecs * vec_bytes_);
      a_.sub(count_, lanes);
      a_.jmp(next, a_.T_NEAR);
    }
    a_.L(done);
  }

  const LineSpec spec_;
  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, line_, count_, row_, rows_, row_step_, end_;
};

class HorizontalEmitter {
 public:
  HorizontalEmitter(const HorizontalSpec& spec, Assembler& a)
      : spec_(spec), a_(a), acc_(a, spec.max, 1), vec_bytes_(a.isa().vec_bytes), line_(pool_.Take()),
        dst_(pool_.Take()), count_(pool_.Take()), tap_(pool_.Take()), cols_(pool_.Take()), col_step_(pool_.Take()),
        line_step_(pool_.Take()), counts_(pool_.Take()) {}

  void Emit() {
    Label next, tail, done;
    a_.EnterKernel();
    a_.mov(line_, ARG_OF(HorizontalArgs, line));
    a_.mov(dst_, ARG_OF(HorizontalArgs, dst));
    a_.mov(count_, ARG_OF(HorizontalArgs, count));
    a_.mov(col_step_, ARG_OF(HorizontalArgs, col_step));
    a_.mov(counts_, ARG_OF(HorizontalArgs, counts));
    a_.mov(line_step_, ARG_OF(HorizontalArgs, stride));
    a_.mov(tap_, ARG_OF(HorizontalArgs, mask));
    a_.LoadTailMask(a_.ptr[tap_], a_.vec(a_.isa().num_vecs - 1));
    if (spec_.stride == 0) PrepareGather();
    a_.imul(line_step_, line_step_, vec_bytes_);
    a_.L(next);
    EmitOutputs();
    a_.cmp(count_, lanes());
    a_.jl(tail, a_.T_NEAR);
    a_.vmovups(a_.ptr[dst_], acc_.acc(0));
    a_.add(dst_, vec_bytes_);
    a_.add(counts_, vec_bytes_);
    a_.add(line_, line_step_);
    a_.sub(count_, lanes());
    a_.jnz(next, a_.T_NEAR);
    a_.jmp(done, a_.T_NEAR);
    a_.L(tail);
    a_.StoreFirstLanes(dst_, acc_.acc(0), count_);
    a_.L(done);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  int lanes() const { return vec_bytes_ / 4; }
  Xmm index() const { return acc_.temp(4); }

  // index = 0, stride, 2 * stride, …
  void PrepareGather() {
    std::vector<uint32_t> order;
    for (int lane = 0; lane < lanes(); ++lane) order.push_back(static_cast<uint32_t>(lane));
    const Xmm low(index().getIdx());
    a_.vmovd(low, line_step_.cvt32());
    a_.vpbroadcastd(index(), low);
    a_.vpmulld(index(), index(), a_.constant_lanes(std::move(order)));
  }

  // The taps of a vector of outputs at `tap`.
  void LoadTaps(const Xmm& to, const Xmm& temp) {
    if (spec_.stride == 1) {
      a_.vmovups(to, a_.ptr[tap_]);
    } else if (spec_.stride == 2) {
      a_.vmovups(to, a_.ptr[tap_]);
      a_.EvenLanes(to, to, a_.ptr[tap_ + vec_bytes_]);
    } else {
      a_.GatherLanes(to, tap_, index(), temp);
    }
  }

  void EmitOutputs() {
    acc_.Init();
    a_.mov(tap_, line_);
    Label next;
    if (spec_.cols == 0) {
      a_.mov(cols_, ARG_OF(HorizontalArgs, cols));
      a_.L(next);
    }
    const Xmm first = acc_.temp(0), second = acc_.temp(1);
    const int cols = spec_.cols == 0 ? 1 : spec_.cols;
    for (int c = 0; c < cols; c += 2) {
      const bool pair = c + 1 < cols;
      LoadTaps(first, acc_.temp(2));
      a_.add(tap_, col_step_);
      if (pair) {
        LoadTaps(second, acc_.temp(2));
        a_.add(tap_, col_step_);
      }
      acc_.Add(0, first, pair ? &second : nullptr);
    }
    if (spec_.cols == 0) {
      a_.dec(cols_);
      a_.jnz(next, a_.T_NEAR);
    }
    acc_.Finish();
    if (spec_.stride == 2) a_.OrderEvenLanes(acc_.acc(0));
    if (spec_.max) return;
    a_.vbroadcastss(first, a_.dword[a_.rdi + static_cast<int>(offsetof(HorizontalArgs, rows))]);
    a_.vmulps(first, first, a_.ptr[counts_]);
    a_.vdivps(acc_.acc(0), acc_.acc(0), first);
  }

  const HorizontalSpec spec_;
  Assembler& a_;
  Accumulators acc_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 line_, dst_, count_, tap_, cols_, col_step_, line_step_, counts_;
};

class PlaneEmitter {
 public:
  PlaneEmitter(const LineSpec& spec, Assembler& a)
      : spec_(spec), a_(a), acc_(a, spec.max, kLineVecs), vec_bytes_(a.isa().vec_bytes), row_(pool_.Take()),
        at_(pool_.Take()), count_(pool_.Take()), rows_(pool_.Take()) {}

  void Emit() {
    Label row;
    a_.EnterKernel();
    a_.mov(row_, ARG_OF(PlaneArgs, src));
    a_.mov(at_, ARG_OF(PlaneArgs, mask));
    a_.LoadTailMask(a_.ptr[at_], mask());
    a_.mov(rows_, ARG_OF(PlaneArgs, rows));
    acc_.Init();
    a_.L(row);
    a_.mov(at_, row_);
    a_.mov(count_, ARG_OF(PlaneArgs, count));
    EmitPart(kLineVecs);
    EmitPart(1);
    EmitTail();
    a_.add(row_, ARG_OF(PlaneArgs, row_step));
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    EmitReduction();
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

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
    a_.LoadTail(acc_.temp(0), a_.ptr[at_], mask());
    if (spec_.max) {  // the other lanes are no zeros to be maximal
      a_.vmovups(acc_.temp(1), a_.constant(-std::numeric_limits<float>::infinity()));
      a_.KeepTail(acc_.temp(0), acc_.temp(1), mask());
    }
    acc_.Add(0, acc_.temp(0));
    a_.L(done);
  }

  // All vectors to one, halves of it to halves until one lane is left.
  void EmitReduction() {
    acc_.Finish();
    for (int v = 1; v < kLineVecs; ++v) Combine(acc_.acc(0), acc_.acc(v));
    for (int lanes = vec_bytes_ / 8; lanes >= 1; lanes /= 2) {
      a_.UpperPart(acc_.temp(0), acc_.acc(0), lanes);
      Combine(acc_.acc(0), acc_.temp(0));
    }
    const Xmm low(acc_.acc(0).getIdx()), divisor(acc_.temp(0).getIdx());
    if (!spec_.max) {
      a_.vmovss(divisor, a_.dword[a_.rdi + static_cast<int>(offsetof(PlaneArgs, divisor))]);
      a_.vdivss(low, low, divisor);
    }
    a_.mov(at_, ARG_OF(PlaneArgs, dst));
    a_.vmovss(a_.dword[at_], low);
  }

  // a = a with b; NaN of either side stays.
  void Combine(const Xmm& a, const Xmm& b) {
    if (!spec_.max) return a_.vaddps(a, a, b);
    a_.vmaxps(acc_.temp(1), a, b);
    a_.vmaxps(a, b, a);
    a_.vorps(a, a, acc_.temp(1));
  }

  const LineSpec spec_;
  Assembler& a_;
  Accumulators acc_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 row_, at_, count_, rows_;
};

#undef ARG_OF

std::string Prefix(Isa isa, bool max) {
  return std::string("pool_f32_") + IsaName(isa) + (max ? "_max" : "_avg");
}

}  // namespace

Result<jit::KernelPtr> GetVerticalKernel(const LineSpec& spec) {
  return jit::GetOrCompile("pool_vertical", spec, [](const LineSpec& wanted) {
    return jit::Compile(Prefix(wanted.isa, wanted.max) + "_vertical", jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { VerticalEmitter(wanted, a).Emit(); });
  });
}

Result<jit::KernelPtr> GetHorizontalKernel(const HorizontalSpec& spec) {
  return jit::GetOrCompile("pool_horizontal", spec, [](const HorizontalSpec& wanted) {
    const std::string name = Prefix(wanted.isa, wanted.max) + "_columns_s" + std::to_string(wanted.stride) + "_kw" +
                             std::to_string(wanted.cols);
    return jit::Compile(name, jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { HorizontalEmitter(wanted, a).Emit(); });
  });
}

Result<jit::KernelPtr> GetPlaneKernel(const LineSpec& spec) {
  return jit::GetOrCompile("pool_plane", spec, [](const LineSpec& wanted) {
    return jit::Compile(Prefix(wanted.isa, wanted.max) + "_plane", jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { PlaneEmitter(wanted, a).Emit(); });
  });
}

}  // namespace rafter::pooling
