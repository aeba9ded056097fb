// kernels/conv/widthwise/line_emitter.cc: the innermost loop: taps at one distance from each other
// (channels of a kernel column, or columns of a single channel), and the loads and FMAs of one tap.
#include <algorithm>
#include <cstddef>

#include "kernels/conv/widthwise/emitter.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

#define ARG(field) arg(offsetof(WidthArgs, field))

// Masked vectors: with finite weights, zeros in place of the inputs that are outside of the image
// are as good as leaving them out, and cheaper where the machine has no masked FMA.
void WidthEmitter::EmitLine(RowRange rows, TapCode code, int index) {
  if (code == kFull || a_.fma_tail_is_free() || !HasSpareTemp(rows)) {
    EmitLine(rows, code, index, Masking::kLeaveOut);
    return;
  }
  Label exact, done;
  a_.cmp(ARG(finite_weights), 0);
  a_.je(exact, a_.T_NEAR);
  EmitLine(rows, code, index, Masking::kZero);
  a_.jmp(done, a_.T_NEAR);
  a_.L(exact);
  EmitLine(rows, code, index, Masking::kLeaveOut);
  a_.L(done);
}

void WidthEmitter::EmitLine(RowRange rows, TapCode code, int index, Masking masking) {
  const bool loop = !spec_.has(WidthSpec::kWhole);
  for (const bool rest : {false, true}) {
    if (rest && !spec_.has(WidthSpec::kRest)) continue;
    const int unroll = rest ? 1 : spec_.unroll;
    Label next, done;
    if (loop) a_.mov(line_left_, rest ? ARG(line_rest) : ARG(line_by_unroll));
    if (spec_.has(WidthSpec::kRest)) {
      a_.test(line_left_, line_left_);
      a_.jz(done, a_.T_NEAR);
    }
    a_.L(next);
    for (int tap = 0; tap < unroll; ++tap) {
      if (masking == Masking::kZero) {
        EmitVectors(rows, 0, spec_.vecs, code, index, tap);
      } else {
        EmitTap(rows, code, index, tap);
      }
      if (loop || tap + 1 < unroll) a_.add(src_, line_step_);
    }
    a_.add(weights_, unroll * tap_bytes());
    if (loop) {
      a_.dec(line_left_);
      a_.jnz(next, a_.T_NEAR);
    }
    a_.L(done);
  }
}

bool WidthEmitter::IsMasked(int v, TapCode code) const {
  return code == kAllMasked || (code == kFirstMasked && v == 0) ||
         (code == kLastMasked && v == spec_.vecs - 1);
}

// Lanes outside of the masks are neither read nor multiplied.
void WidthEmitter::EmitTap(RowRange rows, TapCode code, int index, int tap) {
  int begin = 0, end = spec_.vecs;
  for (int v = 0; v < spec_.vecs; ++v) {
    if (IsMasked(v, code)) EmitMaskedVector(rows, v, index, tap);
  }
  while (begin < end && IsMasked(begin, code)) ++begin;
  while (begin < end && IsMasked(end - 1, code)) --end;
  if (begin < end) EmitVectors(rows, begin, end, kFull, index, tap);
}

void WidthEmitter::EmitMaskedVector(RowRange rows, int v, int index, int tap) {
  const int bytes = a_.isa().vec_bytes;
  const RegExp src = Source(v), masks = masks_ + (index * mask_bytes() + v * vector_step());
  const Xmm x = temp(0), mask = temp(1);
  a_.LoadTailMask(a_.ptr[masks], mask);
  a_.LoadTail(x, a_.ptr[src], mask);
  if (spec_.has(WidthSpec::kStride2)) {
    a_.LoadTailMask(a_.ptr[masks + bytes], temp(3));
    a_.LoadTail(temp(2), a_.ptr[src + bytes], temp(3));
    a_.EvenLanes(x, x, temp(2));
    a_.EvenLanes(mask, mask, temp(3));
    a_.UseTailMask(mask);
  }
  for (int r = rows.low; r <= rows.high; ++r) {
    for (int o = 0; o < spec_.ocs; ++o) {
      a_.vbroadcastss(temp(2), Weight(r, o, tap));
      a_.FmaTail(acc(r, v, o), x, temp(2), mask, temp(3));
    }
  }
}

// Inputs stay in registers and weights are loaded one by one, or the other way round.
bool WidthEmitter::InputsStay(RowRange rows, int vecs) const {
  const int weights = WeightsPerTap(rows);
  return vecs < temps() && (vecs <= weights || weights >= temps());
}

// LoadInput needs another register for a masked vector of every other input.
bool WidthEmitter::HasSpareTemp(RowRange rows) const {
  return !spec_.has(WidthSpec::kStride2) || InputsStay(rows, spec_.vecs) ||
         WeightsPerTap(rows) + 1 < temps();
}

void WidthEmitter::EmitVectors(RowRange rows, int begin, int end, TapCode code, int index,
                               int tap) {
  const int vecs = end - begin, weights = WeightsPerTap(rows);
  if (InputsStay(rows, vecs)) {
    const Xmm weight = temp(vecs);
    for (int v = begin; v < end; ++v)
      LoadInput(temp(v - begin), v, IsMasked(v, code), index, weight);
    for (int r = rows.low; r <= rows.high; ++r) {
      for (int o = 0; o < spec_.ocs; ++o) {
        a_.vbroadcastss(weight, Weight(r, o, tap));
        for (int v = begin; v < end; ++v) a_.vfmadd231ps(acc(r, v, o), temp(v - begin), weight);
      }
    }
    return;
  }
  const Xmm x = temp(weights);
  for (int i = 0; i < weights; ++i) {
    a_.vbroadcastss(temp(i), Weight(rows.low + i / spec_.ocs, i % spec_.ocs, tap));
  }
  for (int v = begin; v < end; ++v) {
    LoadInput(x, v, IsMasked(v, code), index, temp(std::min(weights + 1, temps() - 1)));
    for (int i = 0; i < weights; ++i) {
      a_.vfmadd231ps(acc(rows.low + i / spec_.ocs, v, i % spec_.ocs), x, temp(i));
    }
  }
}

Xbyak::RegExp WidthEmitter::Source(int v) const {
  const int at = v * vector_step();
  return IsShifted(v) ? src_ + shift_ + at : src_ + at;
}

// Lanes outside of the mask become zero.
void WidthEmitter::LoadInput(const Xmm& x, int v, bool masked, int index, const Xmm& spare) {
  const int bytes = a_.isa().vec_bytes;
  const RegExp src = Source(v);
  if (!masked) {
    a_.vmovups(x, a_.ptr[src]);
    if (spec_.has(WidthSpec::kStride2)) a_.EvenLanes(x, x, a_.ptr[src + bytes]);
    return;
  }
  const RegExp masks = masks_ + (index * mask_bytes() + v * vector_step());
  a_.LoadTailMask(a_.ptr[masks], x);
  a_.LoadTail(x, a_.ptr[src], x);
  if (!spec_.has(WidthSpec::kStride2)) return;
  a_.LoadTailMask(a_.ptr[masks + bytes], spare);
  a_.LoadTail(spare, a_.ptr[src + bytes], spare);
  a_.EvenLanes(x, x, spare);
}

// The weights of an output row lie row_distance kernel rows before those of the row above it.
jit::Address WidthEmitter::Weight(int row, int oc, int tap) const {
  const int at = tap * tap_bytes() + oc * kFloat;
  return row == 0 ? a_.dword[weights_ + at] : a_.dword[weights_ + row_back_ * row + at];
}

#undef ARG

}  // namespace rafter::widthwise
