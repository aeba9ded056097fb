// kernels/conv/depthwise/width_emitter.cc: loops over channels, tiles and rows; taps; and the end
// of an output row.
#include "kernels/conv/depthwise/width_emitter.h"

#include <algorithm>
#include <stdexcept>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

using jit::Address;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) arg(offsetof(WidthArgs, field))

namespace {

// Registers that the end of an output row may destroy: they hold the first weights.
constexpr int kRowEndTemps = jit::kPostOpTemps;

}  // namespace

std::string WidthKernelName(const WidthSpec& spec) {
  std::string name = std::string("dw_w_f32_") + IsaName(spec.isa) + "_k" + std::to_string(spec.kh) +
                     "x" + std::to_string(spec.kw) + "s" + std::to_string(spec.row_stride) +
                     (spec.has(WidthSpec::kStride2) ? "x2_" : "x1_") + std::to_string(spec.vecs) +
                     "v";
  if (spec.has(WidthSpec::kDilated)) name += "_dilated";
  if (spec.has(WidthSpec::kEdge)) {
    name += "_edge" + std::to_string(spec.first_taps) + "+" + std::to_string(spec.last_taps);
  }
  if (spec.has(WidthSpec::kPartial)) name += "_tail";
  for (uint64_t ops = spec.post_ops; ops != 0; ops >>= 8) {
    name += std::string("_") + PostOpName(static_cast<PostOpKind>(ops & 0xff));
  }
  return name;
}

Result<jit::KernelPtr> GetWidthKernel(const WidthSpec& spec) {
  return jit::GetOrCompile("depthwise_width", spec, [](const WidthSpec& s) {
    return jit::Compile(WidthKernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { WidthEmitter(a, s).Emit(); });
  });
}

namespace {

// With stride 2, whether neighbouring taps share their loads: the weights of both are at hand.
bool PairsTaps(int rows, bool every_other) { return every_other && rows <= kMostPairedRows; }

}  // namespace

// Sums, then the weights of a tap or two for each row in flight, and the input (with lanes that are picked from two
// vectors: both, and what is picked); tiles end with temporaries for the post-ops.
int MaxWidthVecs(int registers, int rows, bool every_other) {
  const int inputs = PairsTaps(rows, every_other) ? rows + 3 : every_other ? 2 : 1;
  return std::clamp((registers - std::max(jit::kPostOpTemps, rows + inputs)) / rows, 0, 8);
}

bool HoldsWidthWeights(int registers, int taps, int rows, int vecs, bool every_other) {
  return taps <= kMaxHeldWidthTaps && taps >= kRowEndTemps && rows * vecs + taps + (every_other ? 3 : 1) <= registers;
}

WidthEmitter::WidthEmitter(jit::Assembler& a, const WidthSpec& spec)
    : a_(a),
      spec_(spec),
      holds_(HoldsWidthWeights(a.isa().num_vecs, spec.kh * spec.kw, spec.rows, spec.vecs,
                               spec.has(WidthSpec::kStride2))),
      pairs_taps_(PairsTaps(spec.rows, spec.has(WidthSpec::kStride2)) && !spec.has(WidthSpec::kDilated)),
      num_weights_(holds_ ? spec.kh * spec.kw : spec.rows * (pairs_taps_ ? 2 : 1)),
      row_(pool_.Take()),
      src_row_(pool_.Take()),
      dst_row_(pool_.Take()),
      weights_(pool_.Take()),
      tap_(pool_.Take()),
      tap_step_(pool_.Take()),
      vec_step_(pool_.Take()),
      masks_(pool_.Take()),
      rows_left_(pool_.Take()),
      lanes_(pool_.Take()),
      channels_left_(pool_.Take()),
      scratch_(pool_.Take()) {
  if (spec_.vecs > MaxWidthVecs(a_.isa().num_vecs, spec_.rows, spec_.has(WidthSpec::kStride2))) {
    throw std::length_error("the tile has more accumulators than registers");
  }
}

void WidthEmitter::LoadHeldWeights(int count) {
  for (int i = 0; i < count; ++i) a_.vbroadcastss(temp(i), a_.dword[weights_ + i * kTapBytes]);
}

// Products with masked lanes take their weights from memory: no register is left for them.
void WidthEmitter::MaskHeldWeights() {
  if (a_.fma_tail_is_free()) return;
  const size_t products = spec_.has(WidthSpec::kStride2) ? offsetof(TapMasks, products) : offsetof(TapMasks, inputs[0]);
  for (int tap = 0; tap < spec_.kw; ++tap) {
    for (int vec = 0; vec < spec_.vecs; ++vec) {
      if (!spec_.is_masked(tap, vec)) continue;
      for (int row = 0; row < spec_.kh; ++row) {
        a_.vandps(input(), temp(row * spec_.kw + tap), MaskAt(tap, vec, products));
        a_.vmovups(MaskedWeightAt(row, tap, vec), input());
      }
    }
  }
}

Address WidthEmitter::MaskedWeightAt(int kernel_row, int tap, int vec) const {
  const int entry = (2 * tap + (vec > 0)) * spec_.kh + kernel_row;
  return a_.ptr[a_.rdi + static_cast<int>(offsetof(WidthArgs, masked_weights) + entry * sizeof(float) * 16)];
}

void WidthEmitter::Emit() {
  Label next_channel, next_tile;
  a_.EnterKernel();
  a_.mov(weights_, ARG(weights));
  a_.mov(channels_left_, ARG(channels));
  a_.mov(src_row_, ARG(src_row));
  a_.mov(tap_step_, ARG(tap_step));
  if (spec_.has(WidthSpec::kEdge)) {
    a_.mov(vec_step_, ARG(vec_step));
    a_.mov(masks_, ARG(masks));
  }
  const auto copy = [&](size_t from, size_t to) {
    a_.mov(scratch_, arg(from));
    a_.mov(arg(to), scratch_);
  };
  a_.L(next_channel);
  if (holds_) {
    LoadHeldWeights(num_weights_);
    MaskHeldWeights();
  }
  copy(offsetof(WidthArgs, src), offsetof(WidthArgs, src_now));
  copy(offsetof(WidthArgs, dst), offsetof(WidthArgs, dst_now));
  copy(offsetof(WidthArgs, tiles), offsetof(WidthArgs, tiles_left));
  ForEachResidual([&](size_t at) {
    copy(offsetof(WidthArgs, residual) + at, offsetof(WidthArgs, residual_now) + at);
  });
  a_.L(next_tile);
  EmitTile();
  NextTile();
  a_.dec(ARG(tiles_left));
  a_.jnz(next_tile, a_.T_NEAR);
  NextChannel();
  a_.dec(channels_left_);
  a_.jnz(next_channel, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

void WidthEmitter::EmitTile() {
  for (int i = 0; i < spec_.rows * spec_.vecs; ++i) a_.Zero(a_.vec(i));
  a_.mov(row_, ARG(src_now));
  a_.mov(dst_row_, ARG(dst_now));
  ForEachResidual([&](size_t at) {
    a_.mov(scratch_, arg(offsetof(WidthArgs, residual_now) + at));
    a_.mov(arg(offsetof(WidthArgs, residual_row_now) + at), scratch_);
  });
  Rolling rolling;
  rolling.kh = spec_.kh, rolling.stride = spec_.row_stride, rolling.slots = spec_.rows;
  rolling.row = row_, rolling.row_step = src_row_, rolling.counter = rows_left_,
  rolling.scratch = scratch_;
  rolling.counts = offsetof(WidthArgs, rolling);
  rolling.emit_row = [this](const std::vector<RowUse>& uses) { EmitRow(uses); };
  rolling.finish_row = [this](int slot) { FinishRow(slot); };
  rolling.Emit(a_);
}

void WidthEmitter::EmitRow(const std::vector<RowUse>& uses) {
  EmitPrefetches();
  if (spec_.has(WidthSpec::kDilated)) a_.mov(tap_, row_);
  // An odd tap comes first: it is the one that most often is masked.
  for (int tap = 0; tap < spec_.kw; ++tap) {
    if (pairs_taps_ && tap % 2 == spec_.kw % 2) {
      EmitTapPair(tap++, uses);
      continue;
    }
    EmitTap(tap, uses);
    if (spec_.has(WidthSpec::kDilated) && tap + 1 < spec_.kw) a_.add(tap_, tap_step_);
  }
}

// A few rows ahead, behind the last row those of the next channel: going down the plane, a tile leaves
// every line after a few vectors, which tells the machine little.
void WidthEmitter::EmitPrefetches() {
  const int bytes = spec_.vecs * vec_bytes() * (spec_.has(WidthSpec::kStride2) ? 2 : 1);
  for (int at = 0; at < bytes + kLineBytes; at += kLineBytes) {
    a_.prefetcht0(a_.ptr[row_ + src_row_ * kRowsAhead + std::min(at, bytes)]);
  }
}

void WidthEmitter::LoadWeights(int tap, const std::vector<RowUse>& uses, int first_weight) {
  if (holds_) return;
  for (int i = 0; i < static_cast<int>(uses.size()); ++i)
    a_.vbroadcastss(temp(first_weight + i), WeightAt(uses[i], tap));
}

// Of the use with this index, at `tap`.
Xmm WidthEmitter::Weight(const RowUse& use, int index, int tap) const {
  return temp(holds_ ? use.kernel_row * spec_.kw + tap : index);
}

// Vectors with masks come last: they destroy the weights.
void WidthEmitter::EmitTap(int tap, const std::vector<RowUse>& uses) {
  LoadWeights(tap, uses);
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    if (!spec_.is_masked(tap, vec)) EmitProducts(tap, vec, uses);
  }
  bool destroyed = false;
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    if (!spec_.is_masked(tap, vec)) continue;
    if (destroyed) LoadWeights(tap, uses);
    EmitMaskedProducts(tap, vec, uses);
    destroyed = true;
  }
}

void WidthEmitter::EmitProducts(int tap, int vec, const std::vector<RowUse>& uses) {
  LoadInputs(input(), tap, vec);
  AddProducts(input(), tap, vec, 0, uses);
}

void WidthEmitter::AddProducts(const Xmm& x, int tap, int vec, int first_weight, const std::vector<RowUse>& uses) {
  for (int i = 0; i < static_cast<int>(uses.size()); ++i) {
    const Xmm sum = acc(uses[i].slot, vec), weight = Weight(uses[i], first_weight + i, tap);
    uses[i].starts&& tap == 0 ? a_.vmulps(sum, x, weight) : a_.vfmadd231ps(sum, x, weight);
  }
}

// Taps `tap` and `tap` + 1. Where the inputs of the first one lie inside the image, so do those of the second one,
// which are the odd lanes of the same loads.
void WidthEmitter::EmitTapPair(int tap, const std::vector<RowUse>& uses) {
  LoadWeights(tap, uses);
  LoadWeights(tap + 1, uses, spec_.rows);
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    if (!spec_.is_masked(tap, vec)) EmitPairProducts(tap, vec, uses);
  }
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    if (!spec_.is_masked(tap, vec)) continue;
    for (int single = tap; single <= tap + 1; ++single) {
      LoadWeights(single, uses);
      spec_.is_masked(single, vec) ? EmitMaskedProducts(single, vec, uses) : EmitProducts(single, vec, uses);
    }
  }
}

void WidthEmitter::EmitPairProducts(int tap, int vec, const std::vector<RowUse>& uses) {
  const Xmm first = input(), second = second_input();
  const Xbyak::RegExp from = VecAt(TapAt(tap), vec, 2);
  a_.vmovups(first, a_.ptr[from]);
  a_.vmovups(second, a_.ptr[from + vec_bytes()]);
  a_.EvenLanes(even_inputs(), first, second);
  AddProducts(even_inputs(), tap, vec, 0, uses);
  a_.OddLanes(first, first, second);
  AddProducts(first, tap + 1, vec, spec_.rows, uses);
}

// In masked lanes no product may ever arrive.
void WidthEmitter::EmitMaskedProducts(int tap, int vec, const std::vector<RowUse>& uses) {
  const bool pairs = spec_.has(WidthSpec::kStride2);
  const Xmm x = input();
  LoadMaskedInputs(x, pairs ? second_input() : x, tap, vec);
  const Address products =
      MaskAt(tap, vec, pairs ? offsetof(TapMasks, products) : offsetof(TapMasks, inputs[0]));
  for (int i = 0; i < static_cast<int>(uses.size()); ++i) {
    const Xmm sum = acc(uses[i].slot, vec), weight = Weight(uses[i], i, tap);
    const bool starts = uses[i].starts && tap == 0;
    if (!holds_ || a_.fma_tail_is_free()) {
      if (starts) a_.Zero(sum);
      a_.FmaTail(sum, x, weight, products, weight);
    } else {
      const Address masked = MaskedWeightAt(uses[i].kernel_row, tap, vec);
      starts ? a_.vmulps(sum, x, masked) : a_.vfmadd231ps(sum, x, masked);
    }
  }
}

Xbyak::RegExp WidthEmitter::TapAt(int tap) const {
  return spec_.has(WidthSpec::kDilated) ? Xbyak::RegExp(tap_) : row_ + tap * kFloat;
}

Address WidthEmitter::WeightAt(const RowUse& use, int tap) const {
  return a_.dword[weights_ + (use.kernel_row * spec_.kw + tap) * kTapBytes];
}

Xbyak::RegExp WidthEmitter::VecAt(const Xbyak::RegExp& base, int vec, int factor) const {
  if (spec_.has(WidthSpec::kEdge) && vec > 0 && vec + 1 == spec_.vecs)
    return base + vec_step_ * factor;
  return base + factor * vec * vec_bytes();
}

Address WidthEmitter::MaskAt(int tap, int vec, size_t offset) const {
  const int entry = (2 * tap + (vec > 0)) * static_cast<int>(sizeof(TapMasks));
  return a_.ptr[masks_ + entry + static_cast<int>(offset)];
}

void WidthEmitter::LoadInputs(const Xmm& x, int tap, int vec) {
  if (spec_.has(WidthSpec::kStride2)) {
    const Xbyak::RegExp from = VecAt(TapAt(tap), vec, 2);
    a_.vmovups(x, a_.ptr[from]);
    a_.EvenLanes(x, x, a_.ptr[from + vec_bytes()]);
  } else {
    a_.vmovups(x, a_.ptr[VecAt(TapAt(tap), vec)]);
  }
}

// `x` and `second` are masks before they are inputs.
void WidthEmitter::LoadMaskedInputs(const Xmm& x, const Xmm& second, int tap, int vec) {
  const bool pairs = spec_.has(WidthSpec::kStride2);
  const Xbyak::RegExp from = VecAt(TapAt(tap), vec, pairs ? 2 : 1);
  a_.LoadTailMask(MaskAt(tap, vec, offsetof(TapMasks, inputs[0])), x);
  a_.LoadTail(x, a_.ptr[from], x);
  if (!pairs) return;  // products are as inputs
  a_.LoadTailMask(MaskAt(tap, vec, offsetof(TapMasks, inputs[1])), second);
  a_.LoadTail(second, a_.ptr[from + vec_bytes()], second);
  a_.EvenLanes(x, x, second);
  a_.LoadTailMask(MaskAt(tap, vec, offsetof(TapMasks, products)), second);
}

void WidthEmitter::FinishRow(int slot) {
  for (int vec = 0; spec_.has(WidthSpec::kStride2) && vec < spec_.vecs; ++vec)
    a_.OrderEvenLanes(acc(slot, vec));
  AddBias(slot);
  ApplyPostOps(slot);
  Store(slot);
  if (holds_ && spec_.post_ops != 0) LoadHeldWeights(kRowEndTemps);
  a_.add(dst_row_, ARG(dst_row));
  ForEachResidual([&](size_t at) {
    Advance(offsetof(WidthArgs, residual_row_now) + at, offsetof(WidthArgs, residual_row) + at);
  });
}

void WidthEmitter::AddBias(int slot) {
  a_.vbroadcastss(input(), a_.dword[weights_ - kTapBytes]);
  for (int vec = 0; vec < spec_.vecs; ++vec) a_.vaddps(acc(slot, vec), acc(slot, vec), input());
}

void WidthEmitter::ApplyPostOps(int slot) {
  std::vector<Xmm> values;
  for (int vec = 0; vec < spec_.vecs; ++vec) values.push_back(acc(slot, vec));
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kResidualAdd) {
      AddResidual(op, slot);
    } else if (kind == PostOpKind::kChannelScale) {
      a_.mov(scratch_, arg(offsetof(WidthArgs, scale) + op * sizeof(float*)));
      a_.vbroadcastss(temp(0), a_.dword[scratch_]);
      for (const Xmm& value : values) a_.vmulps(value, value, temp(0));
    } else {
      a_.mov(scratch_, ARG(post_params));
      jit::ApplyPostOp(a_, kind, values, temps, scratch_ + op * 2 * kFloat);
    }
  }
}

void WidthEmitter::AddResidual(int op, int slot) {
  a_.mov(scratch_, arg(offsetof(WidthArgs, residual_row_now) + op * sizeof(float*)));
  for (int vec = 0; vec < spec_.vecs; ++vec) {
    const Xbyak::RegExp place = VecAt(scratch_, vec);
    if (vec + 1 == spec_.vecs && spec_.has(WidthSpec::kPartial)) {
      a_.mov(lanes_, ARG(last_mask));
      a_.LoadTailMask(a_.ptr[lanes_], temp(1));
      a_.LoadTail(temp(0), a_.ptr[place], temp(1));
      a_.vaddps(acc(slot, vec), acc(slot, vec), temp(0));
    } else {
      a_.vaddps(acc(slot, vec), acc(slot, vec), a_.ptr[place]);
    }
  }
}

void WidthEmitter::Store(int slot) {
  const bool partial = spec_.has(WidthSpec::kPartial);
  for (int vec = 0; vec < spec_.vecs - partial; ++vec)
    a_.vmovups(a_.ptr[VecAt(dst_row_, vec)], acc(slot, vec));
  if (!partial) return;
  a_.mov(scratch_, ARG(last_mask));
  a_.LoadTailMask(a_.ptr[scratch_], input());
  a_.mov(scratch_, dst_row_);
  if (spec_.vecs > 1) a_.add(scratch_, vec_step_);
  a_.mov(lanes_, ARG(last_lanes));
  a_.StoreFirstLanes(scratch_, acc(slot, spec_.vecs - 1), lanes_);
}

template <typename Visit>
void WidthEmitter::ForEachResidual(const Visit& visit) const {
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    if (static_cast<PostOpKind>(ops & 0xff) == PostOpKind::kResidualAdd) visit(op * sizeof(float*));
  }
}

void WidthEmitter::Advance(size_t pointer, size_t step) {
  a_.mov(scratch_, arg(step));
  a_.add(arg(pointer), scratch_);
}

void WidthEmitter::NextTile() {
  Advance(offsetof(WidthArgs, src_now), offsetof(WidthArgs, src_tile));
  Advance(offsetof(WidthArgs, dst_now), offsetof(WidthArgs, dst_tile));
  ForEachResidual([&](size_t at) {
    Advance(offsetof(WidthArgs, residual_now) + at, offsetof(WidthArgs, residual_tile) + at);
  });
}

// Neighbouring channels are neighbouring lanes of the packed weights.
void WidthEmitter::NextChannel() {
  a_.add(weights_, kFloat);
  Advance(offsetof(WidthArgs, src), offsetof(WidthArgs, src_channel));
  Advance(offsetof(WidthArgs, dst), offsetof(WidthArgs, dst_channel));
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const size_t at = op * sizeof(float*);
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kChannelScale) a_.add(arg(offsetof(WidthArgs, scale) + at), kFloat);
    if (kind != PostOpKind::kResidualAdd) continue;
    Advance(offsetof(WidthArgs, residual) + at, offsetof(WidthArgs, residual_channel) + at);
  }
}

#undef ARG

}  // namespace rafter::depthwise
