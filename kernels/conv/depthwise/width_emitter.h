// kernels/conv/depthwise/width_emitter.h: emits the width kernel of a WidthSpec.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/reg_pool.h"
#include "kernels/conv/depthwise/rolling.h"
#include "kernels/conv/depthwise/width_spec.h"

namespace rafter::depthwise {

// "dw_w_f32_avx2_k3x3s1_3v" …
std::string WidthKernelName(const WidthSpec& spec);

// From the code cache.
Result<jit::KernelPtr> GetWidthKernel(const WidthSpec& spec);

// Most vectors per tile with `rows` output rows in flight, 0: none.
int MaxWidthVecs(int registers, int rows, bool every_other);

// Whether a tile of `vecs` vectors keeps all weights of its channel in registers.
bool HoldsWidthWeights(int registers, int taps, int rows, int vecs, bool every_other);

class WidthEmitter {
 public:
  WidthEmitter(jit::Assembler& a, const WidthSpec& spec);
  void Emit();

 private:
  jit::Xmm acc(int slot, int vec) const { return a_.vec(slot * spec_.vecs + vec); }
  jit::Xmm temp(int i) const { return a_.vec(spec_.rows * spec_.vecs + i); }
  jit::Address arg(size_t offset) const { return a_.qword[a_.rdi + static_cast<int>(offset)]; }
  int vec_bytes() const { return a_.isa().vec_bytes; }

  void LoadHeldWeights(int count);
  void MaskHeldWeights();
  // Of the input at hand, of its second half (stride 2), of both halves' even lanes (pairs of taps).
  jit::Xmm input() const { return temp(num_weights_); }
  jit::Xmm second_input() const { return temp(num_weights_ + 1); }
  jit::Xmm even_inputs() const { return temp(num_weights_ + 2); }
  void EmitTile();
  void EmitRow(const std::vector<RowUse>& uses);
  void EmitTap(int tap, const std::vector<RowUse>& uses);
  void EmitProducts(int tap, int vec, const std::vector<RowUse>& uses);
  void EmitMaskedProducts(int tap, int vec, const std::vector<RowUse>& uses);
  jit::Xmm Weight(const RowUse& use, int index, int tap) const;
  jit::Address MaskedWeightAt(int kernel_row, int tap, int vec) const;
  void EmitPrefetches();
  void EmitTapPair(int tap, const std::vector<RowUse>& uses);
  void EmitPairProducts(int tap, int vec, const std::vector<RowUse>& uses);
  void AddProducts(const jit::Xmm& x, int tap, int vec, int first_weight, const std::vector<RowUse>& uses);
  void LoadWeights(int tap, const std::vector<RowUse>& uses, int first_weight = 0);
  void LoadInputs(const jit::Xmm& x, int tap, int vec);
  void LoadMaskedInputs(const jit::Xmm& x, const jit::Xmm& second, int tap, int vec);
  jit::Address MaskAt(int tap, int vec, size_t offset) const;
  // Where vector `vec` of outputs lies, or of inputs, which are `factor` times as far apart.
  Xbyak::RegExp VecAt(const Xbyak::RegExp& base, int vec, int factor = 1) const;
  Xbyak::RegExp TapAt(int tap) const;
  jit::Address WeightAt(const RowUse& use, int tap) const;
  void FinishRow(int slot);
  void AddBias(int slot);
  void ApplyPostOps(int slot);
  void AddResidual(int op, int slot);
  void Store(int slot);
  void NextTile();
  void NextChannel();
  void Advance(size_t pointer, size_t step);
  template <typename Visit>
  void ForEachResidual(const Visit& visit) const;

  jit::Assembler& a_;
  const WidthSpec spec_;
  const bool holds_;       // all weights of the channel stay in registers
  const bool pairs_taps_;  // neighbouring taps take the even and the odd lanes of the same loads
  const int num_weights_;  // in registers: all, or one per tap at hand and output row in flight
  jit::RegPool pool_;
  const jit::Reg64 row_, src_row_, dst_row_, weights_, tap_, tap_step_, vec_step_, masks_,
      rows_left_, lanes_, channels_left_, scratch_;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_
