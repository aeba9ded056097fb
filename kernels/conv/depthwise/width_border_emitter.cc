// kernels/conv/depthwise/width_border_emitter.cc: taps of the width kernel that reach over the border of the image.
//
// Lanes outside are loaded as zero. With opmask registers they take part in no product. Without, they are multiplied
// by finite weights, which changes no sum; where a block of channels has a weight that is infinite or NaN, code behind
// the kernel ("aside") multiplies zeros by zeros.
#include <algorithm>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {


using jit::Address;
using jit::Label;
using jit::Xmm;

namespace {

// Of a load of inputs, in TapMasks.
constexpr size_t InputMasks(int half) {
  return offsetof(TapMasks, inputs) + static_cast<size_t>(half) * sizeof(TapMasks::inputs[0]);
}

}  // namespace

// --- masks ---

// Registers that are left over hold them.
void WidthEmitter::ListHeldMasks() {
  const int halves = spec_.has(WidthSpec::kStride2) ? 2 : 1;
  const int last = spec_.vecs - 1;
  if (spec_.band_runs > 0) return;
  int next = spec_.rows * spec_.vecs + std::max(registers_.total(), jit::kPostOpTemps);
  for (int tap = 0; tap < spec_.kw; ++tap) {
    const bool second_of_pair = registers_.pairs && tap > 0 && tap % 2 != spec_.kw % 2;
    if (second_of_pair) continue;
    for (int vec = 0; vec <= last; vec += std::max(1, last)) {
      for (int half = 0; half < halves && spec_.is_masked(tap, vec); ++half) {
        if (next < a_.isa().num_vecs) held_masks_.push_back({{tap, vec, half}, next++});
      }
    }
  }
}

void WidthEmitter::LoadHeldMasks() {
  for (const HeldMask& mask : held_masks_)
    a_.vmovups(a_.vec(mask.at), MaskAt(mask.place.tap, mask.place.vec, InputMasks(mask.place.half)));
}

Address WidthEmitter::MaskAt(int tap, int vec, size_t offset) const {
  const int entry = (2 * tap + (vec > 0)) * static_cast<int>(sizeof(TapMasks));
  return a_.ptr[masks_ + entry + static_cast<int>(offset)];
}

// `x` may be the mask before it is the input.
void WidthEmitter::LoadMasked(const Xmm& x, const Address& from, const MaskPlace& place) {
  for (const HeldMask& held : held_masks_) {
    if (held.place != place) continue;
    a_.UseTailMask(a_.vec(held.at));
    return a_.LoadTail(x, from, a_.vec(held.at));
  }
  a_.LoadTailMask(MaskAt(place.tap, place.vec, InputMasks(place.half)), x);
  a_.LoadTail(x, from, x);
}

// --- products ---

bool WidthEmitter::IsMasked(int tap) const {
  return spec_.is_masked(tap, 0) || spec_.is_masked(tap, spec_.vecs - 1);
}

// The taps of an input row. One test of careful_ for all of them, in whole planes for all rows: short rows have few
// other instructions.
void WidthEmitter::EmitTaps(const std::vector<RowUse>& uses) {
  if (!MayBeCareful()) return EmitTapsOnce(uses, false);
  if (spec_.plane_rows > 0) return EmitTapsOnce(uses, plane_is_careful_);
  IfCareful([this, uses] { EmitTapsOnce(uses, true); }, [this, uses] { EmitTapsOnce(uses, false); });
}

void WidthEmitter::EmitTapsOnce(const std::vector<RowUse>& uses, bool careful) {
  const bool dilated = spec_.has(WidthSpec::kDilated);
  const auto inside = [&](int tap) { return (careful || AlwaysCareful()) && IsMasked(tap); };
  const bool masked = (spec_.first_taps | spec_.last_taps) != 0;
  if (registers_.shifts && !(masked && (careful || AlwaysCareful()))) {
    if (registers_.all()) return AddHeldShifts(uses[0]);
    for (int tap = 0; tap < spec_.kw; tap += kTapsPerShift) AddShiftedTaps(tap, uses[0]);
    return;
  }
  if (dilated) a_.mov(tap_, row_);
  for (int tap = 0; tap < spec_.kw; ++tap) {
    // Of an odd number the first one stays alone: it is the one that most often is masked.
    const bool pair = registers_.pairs && tap % 2 == spec_.kw % 2;
    if (pair && !inside(tap)) {
      AddTapPair(tap++, uses);
      continue;
    }
    inside(tap) ? AddTapInside(tap, uses) : AddTap(tap, uses);
    if (dilated && tap + 1 < spec_.kw) a_.add(tap_, tap_step_);
  }
}

// Adds products to the lanes inside the image only.
void WidthEmitter::AddTapInside(int tap, const std::vector<RowUse>& uses) {
  LoadWeights(tap, uses);
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    LoadInputs(input(0), tap, vec);
    if (!spec_.is_masked(tap, vec)) {
      AddProducts(input(0), tap, vec, 0, uses);
      continue;
    }
    // With stride 1 the mask of the products is that of the inputs.
    if (a_.fma_tail_is_free() && spec_.has(WidthSpec::kStride2)) a_.LoadTailMask(ProductMaskAt(tap, vec), input(1));
    for (int i = 0; i < static_cast<int>(uses.size()); ++i) AddInside(tap, vec, uses[i], i);
    if (!a_.fma_tail_is_free()) LoadWeights(tap, uses);  // FmaTail has destroyed them
  }
}

void WidthEmitter::AddInside(int tap, int vec, const RowUse& use, int index) {
  const Xmm sum = acc(use.slot, vec);
  const bool starts = use.starts && tap == 0;
  if (registers_.all() && !a_.fma_tail_is_free() && spec_.band_runs > 0) {
    if (starts) a_.Zero(sum);
    const Xmm weight = Weight(use, index, tap);
    a_.FmaTail(sum, input(0), weight, ProductMaskAt(tap, vec), weight);
    return a_.vbroadcastss(weight, WeightAt(use, tap));
  }
  if (registers_.all() && !a_.fma_tail_is_free()) {
    const Address masked = MaskedWeightAt(use.kernel_row, tap, vec);
    starts ? a_.vmulps(sum, input(0), masked) : a_.vfmadd231ps(sum, input(0), masked);
    return;
  }
  if (starts) a_.Zero(sum);
  const Xmm weight = Weight(use, index, tap);
  const Xmm masked = registers_.one_by_one() ? temp(registers_.held) : weight;
  a_.FmaTail(sum, input(0), weight, ProductMaskAt(tap, vec), masked);
}

// With stride 1 as the inputs'.
Address WidthEmitter::ProductMaskAt(int tap, int vec) const {
  return MaskAt(tap, vec, spec_.has(WidthSpec::kStride2) ? offsetof(TapMasks, products) : InputMasks(0));
}

// --- weights that are not finite ---

// Large kernels have enough code without asides.
bool WidthEmitter::AlwaysCareful() const {
  const int most = spec_.band_runs > 0 ? kMostBandAsideTaps : kMostAsideTaps;
  return a_.fma_tail_is_free() || spec_.kh * spec_.kw > most;
}

bool WidthEmitter::MayBeCareful(bool find) const {
  if (AlwaysCareful()) return false;
  int taps = spec_.first_taps | spec_.last_taps;
  for (int i = 0; find && i < spec_.band_runs; ++i) taps |= spec_.runs[i].first_taps | spec_.runs[i].last_taps;
  return taps != 0;
}

// Sets careful_: whether some weight of the block of channels is infinite or NaN.
void WidthEmitter::FindCareful() {
  if (!MayBeCareful(true)) return;
  const Xmm zero = a_.vec(0), sum = a_.vec(1), other_sum = a_.vec(2);  // two chains
  Label next, known;
  a_.mov(careful_, arg(offsetof(WidthArgs, careful)));
  a_.test(careful_, careful_);
  a_.jns(known);
  a_.Zero(zero);
  a_.Zero(sum);
  a_.Zero(other_sum);
  a_.mov(scratch_, weights_);
  a_.and_(scratch_, -kTapBytes);
  a_.mov(rows_left_, spec_.kh * spec_.kw);
  a_.L(next);
  for (int at = 0; at < kTapBytes; at += vec_bytes())
    a_.vfmadd231ps(at == 0 ? sum : other_sum, zero, a_.ptr[scratch_ + at]);
  a_.add(scratch_, kTapBytes);
  a_.dec(rows_left_);
  a_.jnz(next);
  constexpr uint8_t kUnordered = 3;
  a_.vcmpps(sum, sum, other_sum, kUnordered);
  a_.vmovmskps(careful_.cvt32(), sum);
  a_.mov(arg(offsetof(WidthArgs, careful)), careful_);
  a_.L(known);
}

// `careful` goes behind the kernel.
void WidthEmitter::IfCareful(const std::function<void()>& careful, const std::function<void()>& otherwise) {
  Aside& aside = asides_.emplace_back();
  aside.spec = spec_, aside.emit = careful;
  a_.test(careful_, careful_);
  a_.jnz(aside.enter, a_.T_NEAR);
  otherwise();
  a_.L(aside.leave);
}

void WidthEmitter::EmitAsides() {
  for (Aside& aside : asides_) {
    spec_ = aside.spec;
    a_.L(aside.enter);
    aside.emit();
    a_.jmp(aside.leave, a_.T_NEAR);
  }
}

// Products with masked lanes take them from memory: no register is left for them.
void WidthEmitter::MaskHeldWeights() {
  for (int tap = 0; tap < spec_.kw; ++tap) {
    for (int vec = 0; vec < spec_.vecs; ++vec) {
      if (!spec_.is_masked(tap, vec)) continue;
      for (int row = 0; row < spec_.kh; ++row) {
        a_.vandps(input(0), temp(row * spec_.kw + tap), ProductMaskAt(tap, vec));
        a_.vmovups(MaskedWeightAt(row, tap, vec), input(0));
      }
    }
  }
}

Address WidthEmitter::MaskedWeightAt(int kernel_row, int tap, int vec) const {
  const int entry = (2 * tap + (vec > 0)) * spec_.kh + kernel_row;
  return a_.ptr[a_.rdi + static_cast<int>(offsetof(WidthArgs, masked_weights) + entry * sizeof(float) * 16)];
}

}  // namespace rafter::depthwise
