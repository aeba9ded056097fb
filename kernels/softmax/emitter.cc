// kernels/softmax/emitter.cc: the three passes, with channels or with pixels in the lanes.
//
// vmaxps returns its second source when either is NaN: the maximum leaves NaN out, and the sum of the exponentials
// brings it into every result.
#include "kernels/softmax/emitter.h"

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/math_emitter.h"
#include "jit/reg_pool.h"

namespace rafter::softmax {
namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

constexpr float kLowest = -std::numeric_limits<float>::infinity();

#define ARG_OF(Args, field) a_.qword[a_.rdi + static_cast<int>(offsetof(Args, field))]

// exp(x[i] - maximum[i or 0]); `temps` from register `first` on.
void ExpOfDifference(Assembler& a, const std::vector<Xmm>& x, const std::vector<Xmm>& maximum, int first) {
  for (size_t i = 0; i < x.size(); ++i) a.vsubps(x[i], x[i], maximum[maximum.size() == 1 ? 0 : i]);
  std::vector<Xmm> temps;
  for (int i = first; i < a.isa().num_vecs - 1; ++i) temps.push_back(a.vec(i));
  jit::MathEmitter(a, temps).Exp(x);
}

class ChannelEmitter {
 public:
  ChannelEmitter(const ChannelSpec& spec, Assembler& a)
      : spec_(spec), a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), dst_(pool_.Take()), from_(pool_.Take()),
        to_(pool_.Take()), left_(pool_.Take()), src_step_(pool_.Take()), dst_step_(pool_.Take()),
        mask_(pool_.Take()), store_(pool_.Take()), lanes_(pool_.Take()) {}

  void Emit() {
    Label pixel;
    a_.EnterKernel();
    a_.mov(src_, ARG_OF(ChannelArgs, src));
    a_.mov(dst_, ARG_OF(ChannelArgs, dst));
    a_.mov(src_step_, ARG_OF(ChannelArgs, src_chunk_step));
    a_.mov(dst_step_, ARG_OF(ChannelArgs, dst_chunk_step));
    a_.mov(mask_, ARG_OF(ChannelArgs, mask));
    a_.LoadTailMask(a_.ptr[mask_], mask());
    a_.L(pixel);
    a_.vmovups(maximum(), a_.constant(kLowest));
    EmitPass(Pass::kMax);
    Reduce(maximum(), true);
    a_.Zero(sum());
    EmitPass(Pass::kExp);
    Reduce(sum(), false);
    a_.vmovups(value(0), a_.constant(1.0f));
    a_.vdivps(sum(), value(0), sum());
    EmitPass(Pass::kScale);
    a_.add(src_, ARG_OF(ChannelArgs, src_step));
    a_.add(dst_, ARG_OF(ChannelArgs, dst_step));
    a_.dec(ARG_OF(ChannelArgs, pixels));
    a_.jnz(pixel, a_.T_NEAR);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  enum class Pass { kMax, kExp, kScale };

  Xmm maximum() const { return a_.vec(0); }
  Xmm sum() const { return a_.vec(1); }
  Xmm value(int i) const { return a_.vec(2 + i); }
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

  void EmitPass(Pass pass) {
    a_.mov(from_, pass == Pass::kScale ? dst_ : src_);
    a_.mov(to_, dst_);
    EmitLoop(pass, ARG_OF(ChannelArgs, chunks), spec_.chunk_vecs, src_step_, false);
    if (spec_.blocked) {
      EmitLoop(pass, ARG_OF(ChannelArgs, vectors), spec_.chunk_vecs, src_step_, true);
    } else {
      a_.mov(lanes_, vec_bytes_);
      EmitLoop(pass, ARG_OF(ChannelArgs, vectors), 1, lanes_, false);
      EmitTail(pass);
    }
  }

  void EmitLoop(Pass pass, const jit::Address& count, int vecs, const Reg64& step, bool masked) {
    Label next, done;
    a_.mov(left_, count);
    a_.test(left_, left_);
    a_.jz(done, a_.T_NEAR);
    a_.L(next);
    EmitVectors(pass, vecs, masked);
    // In the last pass both pointers walk through the destination.
    const Reg64& to_step = step.getIdx() == src_step_.getIdx() ? dst_step_ : step;
    a_.add(from_, pass == Pass::kScale ? to_step : step);
    a_.add(to_, to_step);
    a_.dec(left_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  }

  void EmitVectors(Pass pass, int vecs, bool masked) {
    std::vector<Xmm> values;
    for (int i = 0; i < vecs; ++i) values.push_back(value(i));
    for (int i = 0; i < vecs; ++i) {
      a_.vmovups(value(i), a_.ptr[from_ + i * vec_bytes_]);
      if (!masked || pass == Pass::kScale) continue;
      // Lanes behind the last channel: whatever they hold becomes -infinity.
      const Xmm used = a_.vec(2 + vecs), others = a_.vec(3 + vecs);
      a_.vmovups(used, a_.ptr[mask_ + i * vec_bytes_]);
      a_.vandnps(others, used, a_.constant(kLowest));
      a_.vandps(value(i), value(i), used);
      a_.vorps(value(i), value(i), others);
    }
    if (pass == Pass::kMax) {
      for (const Xmm& v : values) a_.vmaxps(maximum(), v, maximum());
      return;
    }
    if (pass == Pass::kExp) {
      ExpOfDifference(a_, values, {maximum()}, 2 + vecs);
      for (const Xmm& v : values) a_.vaddps(sum(), sum(), v);
    } else {
      for (const Xmm& v : values) a_.vmulps(v, v, sum());
    }
    for (int i = 0; i < vecs; ++i) {
      if (masked) a_.vandps(value(i), value(i), a_.ptr[mask_ + i * vec_bytes_]);
      a_.vmovups(a_.ptr[to_ + i * vec_bytes_], value(i));
    }
  }

  void EmitTail(Pass pass) {
    Label done;
    a_.cmp(ARG_OF(ChannelArgs, tail_lanes), 0);
    a_.jz(done, a_.T_NEAR);
    a_.LoadTail(value(0), a_.ptr[from_], mask());
    if (pass != Pass::kScale) {
      a_.vmovups(value(1), a_.constant(kLowest));
      a_.KeepTail(value(0), value(1), mask());
    }
    if (pass == Pass::kMax) a_.vmaxps(maximum(), value(0), maximum());
    if (pass == Pass::kExp) {
      ExpOfDifference(a_, {value(0)}, {maximum()}, 3);
      a_.vaddps(sum(), sum(), value(0));
    }
    if (pass == Pass::kScale) a_.vmulps(value(0), value(0), sum());
    if (pass != Pass::kMax) {
      a_.mov(store_, to_);
      a_.mov(lanes_, ARG_OF(ChannelArgs, tail_lanes));
      a_.StoreFirstLanes(store_, value(0), lanes_);
    }
    a_.L(done);
  }

  // All lanes to one, then that one to all.
  void Reduce(const Xmm& v, bool max) {
    for (int lanes = vec_bytes_ / 8; lanes >= 1; lanes /= 2) {
      a_.UpperPart(value(0), v, lanes);
      if (max) {
        a_.vmaxps(v, v, value(0));
      } else {
        a_.vaddps(v, v, value(0));
      }
    }
    a_.vbroadcastss(v, Xmm(v.getIdx()));
  }

  const ChannelSpec spec_;
  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, from_, to_, left_, src_step_, dst_step_, mask_, store_, lanes_;
};

class PixelEmitter {
 public:
  explicit PixelEmitter(Assembler& a)
      : a_(a), vec_bytes_(a.isa().vec_bytes), src_(pool_.Take()), dst_(pool_.Take()), from_(pool_.Take()),
        to_(pool_.Take()), left_(pool_.Take()), src_step_(pool_.Take()), dst_step_(pool_.Take()),
        pixels_(pool_.Take()), store_(pool_.Take()), lanes_(pool_.Take()) {}

  void Emit() {
    a_.EnterKernel();
    a_.mov(src_, ARG_OF(PixelArgs, src));
    a_.mov(dst_, ARG_OF(PixelArgs, dst));
    a_.mov(src_step_, ARG_OF(PixelArgs, src_step));
    a_.mov(dst_step_, ARG_OF(PixelArgs, dst_step));
    a_.mov(pixels_, ARG_OF(PixelArgs, pixels));
    a_.mov(left_, ARG_OF(PixelArgs, mask));
    a_.LoadTailMask(a_.ptr[left_], mask());
    EmitPart(2, false);
    EmitPart(1, false);
    EmitPart(1, true);
    a_.LeaveKernel();
    a_.EmitConstants();
  }

 private:
  Xmm mask() const { return a_.vec(a_.isa().num_vecs - 1); }

  void EmitPart(int vecs, bool tail) {
    Label next, done;
    const int lanes = vecs * vec_bytes_ / 4;
    a_.L(next);
    a_.cmp(pixels_, tail ? 1 : lanes);
    a_.jl(done, a_.T_NEAR);
    EmitPixels(vecs, tail);
    if (!tail) {
      a_.add(src_, vecs * vec_bytes_);
      a_.add(dst_, vecs * vec_bytes_);
      a_.sub(pixels_, lanes);
      a_.jmp(next, a_.T_NEAR);
    }
    a_.L(done);
  }

  void EmitPixels(int vecs, bool tail) {
    std::vector<Xmm> maximum, sum, values;
    for (int i = 0; i < vecs; ++i) {
      maximum.push_back(a_.vec(i));
      sum.push_back(a_.vec(vecs + i));
      values.push_back(a_.vec(2 * vecs + i));
    }
    for (const Xmm& v : maximum) a_.vmovups(v, a_.constant(kLowest));
    EmitChannels(src_, values, tail, [&] {
      for (size_t i = 0; i < values.size(); ++i) a_.vmaxps(maximum[i], values[i], maximum[i]);
    });
    for (const Xmm& v : sum) a_.Zero(v);
    EmitChannels(src_, values, tail, [&] {
      ExpOfDifference(a_, values, maximum, 3 * vecs);
      for (size_t i = 0; i < values.size(); ++i) a_.vaddps(sum[i], sum[i], values[i]);
      Store(values, tail);
    });
    for (const Xmm& v : sum) {
      a_.vmovups(values[0], a_.constant(1.0f));
      a_.vdivps(v, values[0], v);
    }
    EmitChannels(dst_, values, tail, [&] {
      for (size_t i = 0; i < values.size(); ++i) a_.vmulps(values[i], values[i], sum[i]);
      Store(values, tail);
    });
  }

  // `body` for every channel, with the channel's vectors in `values`.
  template <typename Body>
  void EmitChannels(const Reg64& first, const std::vector<Xmm>& values, bool tail, const Body& body) {
    Label next;
    a_.mov(from_, first);
    a_.mov(to_, dst_);
    a_.mov(left_, ARG_OF(PixelArgs, channels));
    a_.L(next);
    for (size_t i = 0; i < values.size(); ++i) {
      if (tail) {
        a_.LoadTail(values[i], a_.ptr[from_], mask());
      } else {
        a_.vmovups(values[i], a_.ptr[from_ + static_cast<int>(i) * vec_bytes_]);
      }
    }
    body();
    a_.add(from_, first.getIdx() == dst_.getIdx() ? dst_step_ : src_step_);
    a_.add(to_, dst_step_);
    a_.dec(left_);
    a_.jnz(next, a_.T_NEAR);
  }

  void Store(const std::vector<Xmm>& values, bool tail) {
    if (tail) {
      a_.mov(store_, to_);
      a_.mov(lanes_, ARG_OF(PixelArgs, tail_lanes));
      return a_.StoreFirstLanes(store_, values[0], lanes_);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      a_.vmovups(a_.ptr[to_ + static_cast<int>(i) * vec_bytes_], values[i]);
    }
  }

  Assembler& a_;
  const int vec_bytes_;
  jit::RegPool pool_;
  const Reg64 src_, dst_, from_, to_, left_, src_step_, dst_step_, pixels_, store_, lanes_;
};

#undef ARG_OF

}  // namespace

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec) {
  return jit::GetOrCompile("softmax_channels", spec, [](const ChannelSpec& wanted) {
    const std::string name = std::string("softmax_f32_") + IsaName(wanted.isa) + "_channels" +
                             (wanted.blocked ? "_blocked" : "");
    return jit::Compile(name, jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { ChannelEmitter(wanted, a).Emit(); });
  });
}

Result<jit::KernelPtr> GetPixelKernel(const PixelSpec& spec) {
  return jit::GetOrCompile("softmax_pixels", spec, [](const PixelSpec& wanted) {
    return jit::Compile(std::string("softmax_f32_") + IsaName(wanted.isa) + "_pixels", jit::GetIsaInfo(wanted.isa),
                        [&](Assembler& a) { PixelEmitter(a).Emit(); });
  });
}

}  // namespace rafter::softmax
