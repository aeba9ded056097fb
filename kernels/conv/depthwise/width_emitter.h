// kernels/conv/depthwise/width_emitter.h: emits the width kernel of a WidthSpec.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/reg_pool.h"
#include "kernels/conv/depthwise/rolling.h"
#include "kernels/conv/depthwise/width_registers.h"
#include "kernels/conv/depthwise/width_spec.h"

namespace rafter::depthwise {

// "dw_w_f32_avx2_k3x3s1_3v" …
std::string WidthKernelName(const WidthSpec& spec);

// From the code cache.
Result<jit::KernelPtr> GetWidthKernel(const WidthSpec& spec);

class WidthEmitter {
 public:
  WidthEmitter(jit::Assembler& a, const WidthSpec& spec);
  void Emit();

 private:
  jit::Xmm acc(int slot, int vec) const { return a_.vec(slot * most_vecs_ + vec); }
  jit::Xmm temp(int i) const { return a_.vec(most_rows_ * most_vecs_ + i); }
  jit::Address arg(size_t offset) const { return a_.qword[a_.rdi + static_cast<int>(offset)]; }
  int vec_bytes() const { return a_.isa().vec_bytes; }

  // Of a row of the inputs of a tile, all but the last taps.
  int tile_bytes() const { return spec_.vecs * vec_bytes() * (spec_.has(WidthSpec::kStride2) ? 2 : 1); }

  // Of the inputs at hand: by vector; with stride 2 those of two loads, and what is picked from them.
  jit::Xmm input(int i) const { return temp(registers_.held + registers_.weights + i); }
  void EmitTile();
  void EmitPlane(const Rolling& rolling);
  void EmitRow(const std::vector<RowUse>& uses);
  void EmitPrefetches();
  // Where vector `vec` of outputs lies, or of inputs, which are `factor` times as far apart.
  Xbyak::RegExp VecAt(const Xbyak::RegExp& base, int vec, int factor = 1) const;
  void FinishRow(int slot);
  void AddBias(int slot);
  void ApplyPostOps(int slot);
  void AddResidual(int op, int slot);
  void Store(int slot);
  void StorePartial(int slot);
  void NextTile();
  void NextChannel();

  // Bands (width_band_emitter.cc).
  void EmitBands();
  void StartBand();
  void NextBand(int rows);
  void EmitRun(int index);
  // A field of a run, and its way to the arguments; scratch_ holds the runs.
  jit::Address RunField(int index, size_t offset) const;
  void CopyRunField(int index, size_t from, size_t to);
  void StartRun(int index, const std::deque<jit::Label>& enter, const jit::Label& finish);
  void EmitBandTile(std::deque<jit::Label>& enter, jit::Label& finish);
  void PrefetchRow(int rows_ahead);
  void FinishBand();
  void NextBandTile();
  void Advance(size_t pointer, size_t step);

  // Lines (width_line_emitter.cc).
  void EmitLine();
  void EmitLineRun(int index, bool inside);
  void StartLineRun(int index);
  template <typename Visit>
  void ForEachResidual(const Visit& visit) const;  // visit(offset of its field in WidthArgs)

  // Products (width_tap_emitter.cc).
  void LoadHeldWeights(int count);
  void LoadWeights(int tap, const std::vector<RowUse>& uses, int first_weight = 0);
  jit::Xmm Weight(const RowUse& use, int index, int tap);
  jit::Address WeightAt(const RowUse& use, int tap) const;
  Xbyak::RegExp TapAt(int tap) const;
  void LoadHalf(const jit::Xmm& x, int tap, int vec, int half);
  void LoadInputs(const jit::Xmm& x, int tap, int vec);
  void AddProduct(const RowUse& use, int tap, int vec, const jit::Xmm& x, const jit::Xmm& weight);
  void AddProductOfMemory(const RowUse& use, int tap, int vec, const jit::Xmm& weight);
  void AddProducts(const jit::Xmm& x, int tap, int vec, int first_weight, const std::vector<RowUse>& uses);
  void AddTap(int tap, const std::vector<RowUse>& uses);
  void AddShiftedTaps(int first_tap, const RowUse& use);
  void AddHeldShifts(const RowUse& use);
  void AddShiftedTapsOf(int vec, int first_tap, const RowUse& use);
  void AddTapPair(int tap, const std::vector<RowUse>& uses);

  // Taps over the border (width_border_emitter.cc).
  struct MaskPlace {
    int tap, vec, half;
    bool operator==(const MaskPlace&) const = default;
  };
  struct HeldMask {
    MaskPlace place;
    int at;  // the register
  };
  void ListHeldMasks();
  void LoadHeldMasks();
  jit::Address MaskAt(int tap, int vec, size_t offset) const;
  jit::Address ProductMaskAt(int tap, int vec) const;
  void LoadMasked(const jit::Xmm& x, const jit::Address& from, const MaskPlace& place);
  bool IsMasked(int tap) const;
  void EmitTaps(const std::vector<RowUse>& uses);
  void EmitTapsOnce(const std::vector<RowUse>& uses, bool careful);
  void AddTapInside(int tap, const std::vector<RowUse>& uses);
  void AddInside(int tap, int vec, const RowUse& use, int index);
  bool AlwaysCareful() const;
  bool MayBeCareful(bool find = false) const;  // find: in any run
  void FindCareful();
  void IfCareful(const std::function<void()>& careful, const std::function<void()>& otherwise);
  void EmitAsides();
  void MaskHeldWeights();
  jit::Address MaskedWeightAt(int kernel_row, int tap, int vec) const;

  // Code behind the kernel that comes back.
  struct Aside {
    WidthSpec spec;
    std::function<void()> emit;
    jit::Label enter, leave;
  };

  jit::Assembler& a_;
  WidthSpec spec_;  // of the run at hand
  const int most_rows_, most_vecs_;
  const WidthRegisters registers_;
  jit::RegPool pool_;
  const jit::Reg64 row_, src_row_, dst_row_, weights_, tap_, tap_step_, vec_step_, masks_,
      rows_left_, lanes_, channels_left_, scratch_, careful_, last_row_;
  std::vector<HeldMask> held_masks_;
  int rows_to_finish_ = 0;         // of a whole plane
  bool plane_is_careful_ = false;  // while its code for weights that are not finite is emitted
  std::deque<Aside> asides_;
};

template <typename Visit>
void WidthEmitter::ForEachResidual(const Visit& visit) const {
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    if (static_cast<PostOpKind>(ops & 0xff) == PostOpKind::kResidualAdd) visit(op * sizeof(float*));
  }
}

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_EMITTER_H_
