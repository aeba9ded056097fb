// kernels/conv/widthwise/line_emitter.cc: the innermost loop: taps at one distance from each other
// (channels of a kernel column, or columns of a single channel), and the loads and FMAs of one tap.
#include <cstddef>

#include "kernels/conv/widthwise/emitter.h"

namespace rafter::widthwise {

#define ARG(field) arg(offsetof(WidthArgs, field))

namespace {

constexpr int kFloat = sizeof(float);

}  // namespace

void WidthEmitter::EmitLine(RowRange rows, TapCode code, int index) {
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
      EmitTap(rows, code, index, tap);
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

void WidthEmitter::EmitTap(RowRange rows, TapCode code, int index, int tap) {
  int begin = 0, end = spec_.vecs;
  if (code == kFirstMasked) begin = 1;
  if (code == kLastMasked) end -= 1;
  if (code == kAllMasked) end = 0;
  for (int v = 0; v < spec_.vecs; ++v) {
    if (v < begin || v >= end) EmitMaskedVector(rows, v, index, tap);
  }
  if (begin < end) EmitFullVectors(rows, begin, end, tap);
}

// Lanes outside of the mask are neither read nor multiplied.
void WidthEmitter::EmitMaskedVector(RowRange rows, int v, int index, int tap) {
  const int bytes = a_.isa().vec_bytes, at = v * vector_step(), mask_at = index * mask_bytes() + at;
  const RegExp src = IsShifted(v) ? src_ + shift_ + at : src_ + at;
  const Xmm x = temp(0), mask = temp(1);
  if (spec_.has(WidthSpec::kStride2)) {
    a_.LoadTailMask(a_.ptr[masks_ + mask_at], mask);
    a_.LoadTail(x, a_.ptr[src], mask);
    a_.LoadTailMask(a_.ptr[masks_ + mask_at + bytes], temp(3));
    a_.LoadTail(temp(2), a_.ptr[src + bytes], temp(3));
    a_.EvenLanes(x, x, temp(2));
    a_.EvenLanes(mask, mask, temp(3));
    a_.UseTailMask(mask);
  } else {
    a_.LoadTailMask(a_.ptr[masks_ + mask_at], mask);
    a_.LoadTail(x, a_.ptr[src], mask);
  }
  for (int r = rows.low; r <= rows.high; ++r) {
    for (int o = 0; o < spec_.ocs; ++o) {
      a_.vbroadcastss(temp(2), Weight(r, o, tap));
      a_.FmaTail(acc(r, v, o), x, temp(2), mask, temp(3));
    }
  }
}

// Whichever side fits into registers stays there, the other one is loaded one by one.
void WidthEmitter::EmitFullVectors(RowRange rows, int begin, int end, int tap) {
  const int vecs = end - begin, weights = (rows.high - rows.low + 1) * spec_.ocs;
  if (vecs < temps() && (vecs <= weights || weights >= temps())) {
    for (int v = begin; v < end; ++v) LoadInput(temp(v - begin), v);
    const Xmm weight = temp(vecs);
    for (int r = rows.low; r <= rows.high; ++r) {
      for (int o = 0; o < spec_.ocs; ++o) {
        a_.vbroadcastss(weight, Weight(r, o, tap));
        for (int v = begin; v < end; ++v) a_.vfmadd231ps(acc(r, v, o), temp(v - begin), weight);
      }
    }
    return;
  }
  const Xmm x = temp(weights);
  for (int i = 0; i < weights; ++i)
    a_.vbroadcastss(temp(i), Weight(rows.low + i / spec_.ocs, i % spec_.ocs, tap));
  for (int v = begin; v < end; ++v) {
    LoadInput(x, v);
    for (int i = 0; i < weights; ++i) {
      a_.vfmadd231ps(acc(rows.low + i / spec_.ocs, v, i % spec_.ocs), x, temp(i));
    }
  }
}

void WidthEmitter::LoadInput(const Xmm& x, int v) {
  const int at = v * vector_step();
  const RegExp src = IsShifted(v) ? src_ + shift_ + at : src_ + at;
  a_.vmovups(x, a_.ptr[src]);
  if (spec_.has(WidthSpec::kStride2)) a_.EvenLanes(x, x, a_.ptr[src + a_.isa().vec_bytes]);
}

// The weights of an output row lie row_distance kernel rows before those of the row above it.
jit::Address WidthEmitter::Weight(int row, int oc, int tap) const {
  const int at = tap * tap_bytes() + oc * kFloat;
  return row == 0 ? a_.dword[weights_ + at] : a_.dword[weights_ + row_back_ * row + at];
}

#undef ARG

}  // namespace rafter::widthwise
