// kernels/conv/widthwise/store_emitter.cc: what happens to a tile when its sums are complete: bias,
// post-ops, store. All residuals are read before anything is stored, since a shifted last vector
// overlaps its neighbour and a residual may be the output itself.
#include <cstddef>
#include <vector>

#include "kernels/conv/widthwise/emitter.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

#define ARG(field) arg(offsetof(WidthArgs, field))

void WidthEmitter::FinishTile() {
  Label finish, next;
  if (spec_.has(WidthSpec::kPartial)) {
    a_.cmp(ARG(store_partial), 0);
    a_.jz(finish, a_.T_NEAR);
    StorePartial();
    a_.jmp(next, a_.T_NEAR);
  }
  a_.L(finish);
  if (spec_.has(WidthSpec::kStride2)) OrderPixels();
  AddBias();
  ApplyPostOps();
  StoreOutput();
  a_.L(next);
  NextTile();
}

void WidthEmitter::StorePartial() {
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i)
    a_.vmovups(a_.ptr[scratch_ + i * a_.isa().vec_bytes], a_.vec(i));
}

// With stride 2 the sums are in the order in which EvenLanes leaves the lanes.
void WidthEmitter::OrderPixels() {
  for (int i = 0; i < num_accs(); ++i) a_.OrderEvenLanes(a_.vec(i));
}

void WidthEmitter::AddBias() {
  a_.mov(scratch_, ARG(bias));
  for (int o = 0; o < spec_.ocs; ++o) {
    a_.vbroadcastss(temp(0), a_.dword[scratch_ + o * kFloat]);
    for (int r = 0; r < spec_.rows; ++r) {
      for (int v = 0; v < spec_.vecs; ++v) a_.vaddps(acc(r, v, o), acc(r, v, o), temp(0));
    }
  }
}

void WidthEmitter::ApplyPostOps() {
  std::vector<Xmm> values;
  for (int i = 0; i < num_accs(); ++i) values.push_back(a_.vec(i));
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  jit::ApplyPostOps(
      a_, spec_.post_ops, values, temps, scratch_, ARG(post_params), [&](int op) { AddResidual(op); },
      [&](int op) { ApplyChannelScale(op); });
}

void WidthEmitter::ApplyChannelScale(int op) {
  a_.mov(scratch_, arg(offsetof(WidthArgs, scale) + op * sizeof(float*)));
  for (int o = 0; o < spec_.ocs; ++o) {
    a_.vbroadcastss(temp(0), a_.dword[scratch_ + o * kFloat]);
    for (int r = 0; r < spec_.rows; ++r) {
      for (int v = 0; v < spec_.vecs; ++v) a_.vmulps(acc(r, v, o), acc(r, v, o), temp(0));
    }
  }
}

template <typename EmitAccess>
void WidthEmitter::ForEachVector(size_t tensor, size_t row_step, size_t channel_step,
                                 const EmitAccess& emit) {
  // Registers of the sum's loops are free by now.
  const Reg64 &row = src_row_, &at = columns_left_, &channel_bytes = src_, &shifted = weights_;
  a_.mov(row, arg(tensor));
  a_.mov(channel_bytes, arg(channel_step));
  for (int r = 0; r < spec_.rows; ++r) {
    if (r > 0) a_.add(row, arg(row_step));
    a_.mov(at, row);
    for (int o = 0; o < spec_.ocs; ++o) {
      if (o > 0) a_.add(at, channel_bytes);
      for (int v = 0; v < spec_.vecs; ++v) {
        const int bytes = v * a_.isa().vec_bytes;
        if (IsShifted(v)) {
          a_.mov(shifted, ARG(dst_shift));
          emit(at + shifted + bytes, r, v, o);
        } else {
          emit(at + bytes, r, v, o);
        }
      }
    }
  }
}

void WidthEmitter::AddResidual(int op) {
  const size_t i = op * sizeof(int64_t);
  if (spec_.has(WidthSpec::kTail)) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(1));
  }
  ForEachVector(offsetof(WidthArgs, residual) + i, offsetof(WidthArgs, residual_row) + i,
                offsetof(WidthArgs, residual_channel) + i,
                [&](const RegExp& address, int r, int v, int o) {
                  if (IsTail(v)) {
                    a_.LoadTail(temp(0), a_.ptr[address], temp(1));
                    a_.vaddps(acc(r, v, o), acc(r, v, o), temp(0));
                  } else {
                    a_.vaddps(acc(r, v, o), acc(r, v, o), a_.ptr[address]);
                  }
                });
}

void WidthEmitter::StoreOutput() {
  const Reg64& lanes = rows_left_;
  if (spec_.has(WidthSpec::kTail)) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(0));
    a_.mov(lanes, ARG(tail_lanes));
  }
  ForEachVector(offsetof(WidthArgs, dst), offsetof(WidthArgs, dst_row),
                offsetof(WidthArgs, dst_channel), [&](const RegExp& address, int r, int v, int o) {
                  if (IsTail(v)) {
                    a_.lea(scratch_, a_.ptr[address]);
                    a_.StoreFirstLanes(scratch_, acc(r, v, o), lanes);
                  } else {
                    a_.vmovups(a_.ptr[address], acc(r, v, o));
                  }
                });
}

void WidthEmitter::NextTile() {
  const auto advance = [&](size_t pointer, size_t step) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  };
  advance(offsetof(WidthArgs, src), offsetof(WidthArgs, src_repeat));
  advance(offsetof(WidthArgs, dst), offsetof(WidthArgs, dst_repeat));
  if (spec_.has(WidthSpec::kPartial)) a_.add(ARG(partial), num_accs() * a_.isa().vec_bytes);
  if (spec_.over_channels > 0) {
    advance(offsetof(WidthArgs, weights), offsetof(WidthArgs, weights_repeat));
    a_.add(ARG(bias), spec_.ocs * kFloat);
  }
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    const size_t i = static_cast<size_t>(op) * sizeof(int64_t);
    if (kind == PostOpKind::kResidualAdd) {
      advance(offsetof(WidthArgs, residual) + i, offsetof(WidthArgs, residual_repeat) + i);
    } else if (kind == PostOpKind::kChannelScale && spec_.over_channels > 0) {
      a_.add(arg(offsetof(WidthArgs, scale) + i), spec_.ocs * kFloat);
    }
  });
}

#undef ARG

}  // namespace rafter::widthwise
