// kernels/conv/depthwise/width_tap_emitter.cc: the products of the width kernel, tap by tap, and which inputs and
// weights are at hand when.
#include <algorithm>

#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

using jit::Address;
using jit::Xmm;

void WidthEmitter::LoadHeldWeights(int count) {
  for (int i = 0; i < count; ++i) a_.vbroadcastss(temp(i), a_.dword[weights_ + i * kTapBytes]);
}

// Those of a tap for all uses, where they are at hand together.
void WidthEmitter::LoadWeights(int tap, const std::vector<RowUse>& uses, int first_weight) {
  if (registers_.all() || registers_.one_by_one()) return;
  for (int i = 0; i < static_cast<int>(uses.size()); ++i)
    a_.vbroadcastss(temp(first_weight + i), WeightAt(uses[i], tap));
}

// Of the use with this index, at `tap`; loaded here where weights pass one register.
Xmm WidthEmitter::Weight(const RowUse& use, int index, int tap) {
  const int place = use.kernel_row * spec_.kw + tap;
  if (place < registers_.held) return temp(place);
  if (!registers_.one_by_one()) return temp(index);
  const Xmm weight = temp(registers_.held);
  a_.vbroadcastss(weight, WeightAt(use, tap));
  return weight;
}

Address WidthEmitter::WeightAt(const RowUse& use, int tap) const {
  return a_.dword[weights_ + (use.kernel_row * spec_.kw + tap) * kTapBytes];
}

Xbyak::RegExp WidthEmitter::TapAt(int tap) const {
  return spec_.has(WidthSpec::kDilated) ? Xbyak::RegExp(tap_) : row_ + tap * kFloat;
}

// One load of a tap, the second half where it takes two; zero outside the image.
void WidthEmitter::LoadHalf(const Xmm& x, int tap, int vec, int half) {
  const int factor = spec_.has(WidthSpec::kStride2) ? 2 : 1;
  const Address from = a_.ptr[VecAt(TapAt(tap), vec, factor) + half * vec_bytes()];
  spec_.is_masked(tap, vec) ? LoadMasked(x, from, {tap, vec, half}) : a_.vmovups(x, from);
}

void WidthEmitter::LoadInputs(const Xmm& x, int tap, int vec) {
  LoadHalf(x, tap, vec, 0);
  if (!spec_.has(WidthSpec::kStride2)) return;
  LoadHalf(input(1), tap, vec, 1);
  a_.EvenLanes(x, x, input(1));
}

void WidthEmitter::AddProduct(const RowUse& use, int tap, int vec, const Xmm& x, const Xmm& weight) {
  const Xmm sum = acc(use.slot, vec);
  use.starts&& tap == 0 ? a_.vmulps(sum, x, weight) : a_.vfmadd231ps(sum, x, weight);
}

void WidthEmitter::AddProductOfMemory(const RowUse& use, int tap, int vec, const Xmm& weight) {
  const Xmm sum = acc(use.slot, vec);
  const Address x = a_.ptr[VecAt(TapAt(tap), vec)];
  use.starts&& tap == 0 ? a_.vmulps(sum, weight, x) : a_.vfmadd231ps(sum, weight, x);
}

// Of one vector.
void WidthEmitter::AddProducts(const Xmm& x, int tap, int vec, int first_weight, const std::vector<RowUse>& uses) {
  for (int i = 0; i < static_cast<int>(uses.size()); ++i)
    AddProduct(uses[i], tap, vec, x, Weight(uses[i], first_weight + i, tap));
}

void WidthEmitter::AddTap(int tap, const std::vector<RowUse>& uses) {
  if (registers_.one_by_one() && !spec_.has(WidthSpec::kStride2)) {
    for (int vec = 0; vec < spec_.vecs; ++vec) LoadInputs(input(vec), tap, vec);
    for (int i = 0; i < static_cast<int>(uses.size()); ++i) {
      const Xmm weight = Weight(uses[i], i, tap);
      for (int vec = 0; vec < spec_.vecs; ++vec) AddProduct(uses[i], tap, vec, input(vec), weight);
    }
    return;
  }
  LoadWeights(tap, uses);
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    if (uses.size() == 1 && !spec_.has(WidthSpec::kStride2) && !spec_.is_masked(tap, vec)) {
      AddProductOfMemory(uses[0], tap, vec, Weight(uses[0], 0, tap));
      continue;
    }
    LoadInputs(input(0), tap, vec);
    AddProducts(input(0), tap, vec, 0, uses);
  }
}

// kTapsPerShift taps from this one on, or the last ones. Their inputs lie between those of two loads four taps apart,
// of which a shift within quarters (two per cycle) takes as many lanes as wanted: fewer loads, which cost more where
// they cross lines.
void WidthEmitter::AddShiftedTaps(int first_tap, const RowUse& use) {
  const int taps = std::min(kTapsPerShift, spec_.kw - first_tap);
  for (int i = 0; i < taps; ++i) a_.vbroadcastss(temp(i), WeightAt(use, first_tap + i));
  for (int vec = 0; vec < spec_.vecs; ++vec) AddShiftedTapsOf(vec, first_tap, use);
}

// The inputs of the first five taps come of two loads, those of the others by a load for each, which balances loads
// against shifts.
void WidthEmitter::AddHeldShifts(const RowUse& use) {
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    bool masked = false;
    for (int tap = 0; tap < spec_.kw; ++tap) masked = masked || spec_.is_masked(tap, vec);
    const bool shifts = !masked;
    if (shifts) {
      LoadInputs(input(0), 0, vec);
      LoadInputs(input(1), kTapsPerShift, vec);
    }
    for (int tap = 0; tap < spec_.kw; ++tap) {
      if (shifts && tap % kTapsPerShift == 0 && tap <= kTapsPerShift) {
        AddProduct(use, tap, vec, input(tap / kTapsPerShift), temp(tap));
      } else if (shifts && tap < kTapsPerShift) {
        a_.vpalignr(input(2), input(1), input(0), static_cast<uint8_t>(tap * kFloat));
        AddProduct(use, tap, vec, input(2), temp(tap));
      } else if (!spec_.is_masked(tap, vec)) {
        AddProductOfMemory(use, tap, vec, temp(tap));
      } else {
        LoadInputs(input(2), tap, vec);
        AddProduct(use, tap, vec, input(2), temp(tap));
      }
    }
  }
}

void WidthEmitter::AddShiftedTapsOf(int vec, int first_tap, const RowUse& use) {
  const int taps = std::min(kTapsPerShift, spec_.kw - first_tap), last_tap = spec_.kw - 1;
  // Nothing behind the last tap may be loaded.
  const int low = std::min(first_tap, last_tap - kTapsPerShift), high = low + kTapsPerShift;
  bool masked = false;
  for (const int tap : {low, first_tap, high, first_tap + taps - 1}) masked = masked || spec_.is_masked(tap, vec);
  const bool alone = taps < 3 && low != first_tap;  // no fewer loads by shifts
  if (!masked && !alone) {
    LoadInputs(input(0), low, vec);
    LoadInputs(input(1), high, vec);
  }
  for (int tap = first_tap; tap < first_tap + taps; ++tap) {
    const Xmm weight = temp(tap - first_tap);
    if (masked) {
      LoadInputs(input(2), tap, vec);
      AddProduct(use, tap, vec, input(2), weight);
    } else if (alone) {
      AddProductOfMemory(use, tap, vec, weight);
    } else if (tap == low || tap == high) {
      AddProduct(use, tap, vec, input(tap == high), weight);
    } else {
      a_.vpalignr(input(2), input(1), input(0), static_cast<uint8_t>((tap - low) * kFloat));
      AddProduct(use, tap, vec, input(2), weight);
    }
  }
}

// Taps `tap` and `tap` + 1. Where the inputs of the first one lie inside the image, so do those of the second one,
// which are the odd lanes of the same loads.
void WidthEmitter::AddTapPair(int tap, const std::vector<RowUse>& uses) {
  LoadWeights(tap, uses);
  LoadWeights(tap + 1, uses, spec_.rows);
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    LoadHalf(input(0), tap, vec, 0);
    LoadHalf(input(1), tap, vec, 1);
    a_.EvenLanes(input(2), input(0), input(1));
    AddProducts(input(2), tap, vec, 0, uses);
    a_.OddLanes(input(0), input(0), input(1));
    AddProducts(input(0), tap + 1, vec, spec_.rows, uses);
  }
}

}  // namespace rafter::depthwise
