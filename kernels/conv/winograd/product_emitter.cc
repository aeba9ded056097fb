// kernels/conv/winograd/product_emitter.cc: the matrix products of all positions. Loops, outermost first: positions,
// panels of output channels, register tiles of tiles, input channels. Each sum is one chain of fused multiply-adds over
// the input channels, or two, of even and odd ones, or these twice, once of the first channels and once of the others.
// Few input channels are written out without the innermost loop.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <stdexcept>

#include "jit/assembler.h"
#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/isa.h"
#include "jit/reg_pool.h"
#include "jit/strided_pointers.h"
#include "kernels/conv/winograd/emitter.h"

namespace rafter::winograd {

namespace {

using jit::Address;
using jit::Assembler;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(ProductArgs, field))]

class ProductEmitter {
 public:
  ProductEmitter(const ProductSpec& spec, Assembler& a)
      : px_(spec.px), vecs_(spec.vecs), chains_(Accumulators(spec.parts)), parks_(spec.parts > chains_),
        prefetches_(spec.prefetches),
        channels_(spec.channels), a_(a),
        rows_(spec.px, pool_), u_(pool_.Take()), k_(pool_.Take()), scratch_(pool_.Take()), prefetch_(pool_.Take()),
        u_panel_(pool_.Take()) {
    if (parks_ || channels_ > 0) sums_.emplace(px_, pool_);
    if (chains_ * px_ * vecs_ + std::min(px_, vecs_) + 1 > a_.isa().num_vecs) {
      throw std::length_error("the tile has more accumulators than registers");
    }
  }

  void Emit() {
    Label next_position, next_panel, narrow, panel_done;
    a_.EnterKernel();
    a_.mov(u_panel_, ARG(u));
    a_.L(next_position);
    Copy(ARG(panels_left), ARG(panels));
    Copy(ARG(m_panel), ARG(m));
    a_.L(next_panel);
    if (channels_ > 0) {
      EmitShortPanel();
    } else {
      StartPanel();
      EmitTiles(px_, ARG(wide));
      if (px_ > 1) EmitTiles(px_ - 1, ARG(narrow));
    }
    a_.add(u_panel_, ARG(u_panel));
    a_.add(ARG(m_panel), vecs_ * a_.isa().vec_bytes);
    a_.dec(ARG(panels_left));
    a_.jnz(next_panel, a_.T_NEAR);
    a_.add(u_panel_, ARG(u_skip));
    Advance(ARG(v), ARG(v_plane));
    Advance(ARG(m), ARG(m_plane));
    a_.dec(ARG(positions));
    a_.jnz(next_position, a_.T_NEAR);
    a_.LeaveKernel();
  }

 private:
  Xmm acc(int p, int v, int chain = 0) const { return a_.vec((chain * px_ + p) * vecs_ + v); }
  Xmm temp(int i) const { return a_.vec(chains_ * px_ * vecs_ + i); }

  void Copy(const Address& to, const Address& from) {
    a_.mov(scratch_, from);
    a_.mov(to, scratch_);
  }
  void Advance(const Address& pointer, const Address& bytes) {
    a_.mov(scratch_, bytes);
    a_.add(pointer, scratch_);
  }

  void StartPanel() {
    Copy(ARG(v_tile), ARG(v));
    Copy(ARG(m_tile), ARG(m_panel));
    if (prefetches_ == 0) return;
    // The next panel; behind the last one of a position comes another position.
    Label same_position;
    a_.mov(prefetch_, u_panel_);
    a_.add(prefetch_, ARG(u_panel));
    a_.cmp(ARG(panels_left), 1);
    a_.jne(same_position);
    a_.add(prefetch_, ARG(u_skip));
    a_.L(same_position);
  }

  // `count` register tiles of `px` tiles.
  void EmitTiles(int px, const Address& count) {
    Label next, done;
    a_.mov(scratch_, count);
    a_.test(scratch_, scratch_);
    a_.jz(done, a_.T_NEAR);
    a_.mov(ARG(tiles_left), scratch_);
    a_.L(next);
    rows_.EmitStride(a_, ARG(v_row));
    rows_.EmitBases(a_, ARG(v_tile));
    a_.mov(u_, u_panel_);
    if (parks_) {
      a_.mov(k_, kParkedChannels / 4);
      EmitSums(px);
      sums_->EmitStride(a_, ARG(m_row));
      sums_->EmitBases(a_, ARG(m_tile));
      StoreSums(px, *sums_, false);
    }
    a_.mov(k_, ARG(k_by_4));
    if (parks_) a_.sub(k_, kParkedChannels / 4);
    EmitSums(px);
    EmitRest(px);
    if (!parks_) {
      rows_.EmitStride(a_, ARG(m_row));
      rows_.EmitBases(a_, ARG(m_tile));
    }
    StoreSums(px, parks_ ? *sums_ : rows_, parks_);
    a_.mov(scratch_, ARG(v_row));
    a_.imul(scratch_, scratch_, px);
    a_.add(ARG(v_tile), scratch_);
    a_.mov(scratch_, ARG(m_row));
    a_.imul(scratch_, scratch_, px);
    a_.add(ARG(m_tile), scratch_);
    a_.dec(ARG(tiles_left));
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  }

  // All register tiles of a panel with few input channels: there is little to do per tile, so that counters and
  // addresses in memory, which the loops over any number of channels need, would take as long as the sums.
  void EmitShortPanel() {
    rows_.EmitStride(a_, ARG(v_row));
    rows_.EmitBases(a_, ARG(v));
    sums_->EmitStride(a_, ARG(m_row));
    sums_->EmitBases(a_, ARG(m_panel));
    EmitShortTiles(px_, ARG(wide));
    if (px_ > 1) EmitShortTiles(px_ - 1, ARG(narrow));
  }

  void EmitShortTiles(int px, const Address& count) {
    Label next, done;
    a_.mov(k_, count);
    a_.test(k_, k_);
    a_.jz(done, a_.T_NEAR);
    EmitStep(ARG(v_step), ARG(v_row), px);
    EmitStep(ARG(m_step), ARG(m_row), px);
    a_.align(32);
    a_.L(next);
    const int first = parks_ ? kParkedChannels : 0;
    if (parks_) {
      EmitShortSums(px, 0, first);
      StoreSums(px, *sums_, false);
    }
    EmitShortSums(px, first, channels_);
    StoreSums(px, *sums_, parks_);
    rows_.EmitAdvance(a_, ARG(v_step));
    sums_->EmitAdvance(a_, ARG(m_step));
    a_.dec(k_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  }
  void EmitStep(const Address& step, const Address& row, int rows) {
    a_.mov(scratch_, row);
    a_.imul(scratch_, scratch_, rows);
    a_.mov(step, scratch_);
  }
  // The same sums as those of the loops: channels behind the last four belong to the first chain.
  void EmitShortSums(int px, int begin, int end) {
    for (int k = begin; k < end; ++k) EmitChannel(px, k, k < channels_ / 4 * 4 ? k % chains_ : 0, k < begin + chains_);
  }

  // Adds the chains up and stores them in M; `onto`: to what was parked there.
  void StoreSums(int px, const jit::StridedPointers& to, bool onto) {
    for (int i = 0; chains_ == 2 && i < px * vecs_; ++i) {
      a_.vaddps(acc(i / vecs_, i % vecs_), acc(i / vecs_, i % vecs_), acc(i / vecs_, i % vecs_, 1));
    }
    for (int p = 0; p < px; ++p) {
      for (int v = 0; v < vecs_; ++v) {
        const Address m = a_.ptr[to.at(p) + v * a_.isa().vec_bytes];
        if (onto) a_.vaddps(acc(p, v), acc(p, v), m);
        a_.vmovups(m, acc(p, v));
      }
    }
  }

  // New sums over 4 * k_ channels.
  void EmitSums(int px) {
    Label next, done;
    for (int i = 0; i < chains_ * px_ * vecs_; ++i) a_.Zero(a_.vec(i));
    a_.test(k_, k_);
    a_.jz(done, a_.T_NEAR);
    a_.align(32);
    a_.L(next);
    for (int i = 0; i < prefetches_; ++i) a_.prefetcht1(a_.ptr[prefetch_ + 64 * i]);
    if (prefetches_ > 0) a_.add(prefetch_, 64 * prefetches_);
    for (int k = 0; k < 4; ++k) EmitChannel(px, k, k % chains_);
    a_.add(u_, 4 * vecs_ * a_.isa().vec_bytes);
    rows_.EmitAdvance(a_, 16);
    a_.dec(k_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  }

  // The last channels, fewer than 4.
  void EmitRest(int px) {
    Label next_rest, done;
    a_.mov(k_, ARG(k_rest));
    a_.test(k_, k_);
    a_.jz(done, a_.T_NEAR);
    a_.L(next_rest);
    EmitChannel(px, 0, 0);
    a_.add(u_, vecs_ * a_.isa().vec_bytes);
    rows_.EmitAdvance(a_, 4);
    a_.dec(k_);
    a_.jnz(next_rest, a_.T_NEAR);
    a_.L(done);
  }

  // Whichever is fewer stays in registers, the vectors of the panel or the tiles' values.
  // `starts`: instead of adding to sums of zero.
  void EmitChannel(int px, int k, int chain, bool starts = false) {
    const auto add = [&](const Xmm& sum, const Xmm& x, const Xmm& y) {
      if (starts) {
        a_.vmulps(sum, x, y);
      } else {
        a_.vfmadd231ps(sum, x, y);
      }
    };
    const Reg64& panel = channels_ > 0 ? u_panel_ : u_;
    const auto weights = [&](int v) { return a_.ptr[panel + (k * vecs_ + v) * a_.isa().vec_bytes]; };
    if (vecs_ <= px || vecs_ <= 2) {
      for (int v = 0; v < vecs_; ++v) a_.vmovups(temp(v), weights(v));
      for (int p = 0; p < px; ++p) {
        if (vecs_ == 1 && !starts) {
          a_.FmaBroadcast(acc(p, 0, chain), temp(0), rows_.at(p) + k * 4, temp(1 + p % 2));
          continue;
        }
        a_.vbroadcastss(temp(vecs_), a_.dword[rows_.at(p) + k * 4]);
        for (int v = 0; v < vecs_; ++v) add(acc(p, v, chain), temp(v), temp(vecs_));
      }
    } else {
      for (int p = 0; p < px; ++p) a_.vbroadcastss(temp(p), a_.dword[rows_.at(p) + k * 4]);
      for (int v = 0; v < vecs_; ++v) {
        a_.vmovups(temp(px), weights(v));
        for (int p = 0; p < px; ++p) add(acc(p, v, chain), temp(p), temp(px));
      }
    }
  }

  const int px_, vecs_, chains_;
  const bool parks_;  // the sums of the first channels wait in M
  const int prefetches_, channels_;
  Assembler& a_;
  jit::RegPool pool_;
  jit::StridedPointers rows_;
  const Reg64 u_, k_, scratch_, prefetch_, u_panel_;
  std::optional<jit::StridedPointers> sums_;  // rows of M, where they are needed beside those of V
};

#undef ARG

}  // namespace

std::string KernelName(const ProductSpec& spec) {
  std::string name = std::string("winograd_product_f32_") + IsaName(spec.isa) + "_px" + std::to_string(spec.px) +
                     "_oc" + std::to_string(spec.vecs) + "v";
  if (spec.parts > 1) name += "_parts" + std::to_string(spec.parts);
  if (spec.channels > 0) name += "_k" + std::to_string(spec.channels);
  if (spec.prefetches > 0) name += "_ahead" + std::to_string(spec.prefetches);
  return name;
}

Result<jit::KernelPtr> GetKernel(const ProductSpec& spec) {
  return jit::GetOrCompile("winograd_product", spec, [](const ProductSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](Assembler& a) { ProductEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::winograd
