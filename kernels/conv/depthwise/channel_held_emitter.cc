// kernels/conv/depthwise/channel_held_emitter.cc: tiles of kernels so small that most of the weights stay
// in registers while the tile goes down the image. With few registers that takes fewer instructions per
// FMA than rolling: hardly any weight is loaded again, and an input that few outputs share, or a weight
// that found no register, is an operand in memory.
#include <algorithm>
#include <cstddef>

#include "kernels/conv/depthwise/channel_emitter.h"

namespace rafter::depthwise {

using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) arg(offsetof(ChannelArgs, field))

namespace {

// Registers that post-ops, residuals and masks may destroy: they hold the first weights.
constexpr int kDestroyed = 4;
// Inputs with at least so many uses pass a register.
constexpr int kSharedFrom = 3;

}  // namespace

void ChannelEmitter::EmitHeld() {
  const Reg64 &src_row = weights_rows_, &dst_row = row_weights_;
  a_.mov(src_row, ARG(src_row));
  a_.mov(dst_row, ARG(dst_now));
  a_.mov(row_, src_);
  StartResidualRows();
  LoadHeldWeights(num_weights_);
  CallHeldEdgeRows(offsetof(ChannelArgs, held.first_edges), offsetof(ChannelArgs, held.first_before),
                   offsetof(ChannelArgs, held.first_behind));
  EmitHeldFullRows();
  CallHeldEdgeRows(offsetof(ChannelArgs, held.last_edges), offsetof(ChannelArgs, held.last_before),
                   offsetof(ChannelArgs, held.last_behind));
}

void ChannelEmitter::EmitHeldFullRows() {
  Label next_rows, done;
  a_.mov(rows_left_, ARG(held.full));
  a_.test(rows_left_, rows_left_);
  a_.jz(done, a_.T_NEAR);
  a_.L(next_rows);
  std::fill(started_.begin(), started_.end(), false);
  const int input_rows = (spec_.rows - 1) * spec_.row_stride + spec_.kh;
  for (int row = 0; row < input_rows; ++row) {
    if (row == 1) a_.lea(scratch_, a_.ptr[row_ + weights_rows_]);
    if (row > 1) a_.add(scratch_, weights_rows_);
    EmitHeldInputRow(row, spec_.rows, row == 0 ? row_ : scratch_, true);
  }
  for (int i = 0; i < num_accs(); ++i) {
    if (!started_[i]) a_.Zero(a_.vec(i));  // none of its taps lies inside
  }
  for (int row = 0; row < spec_.rows; ++row) FinishRow(row);
  a_.add(row_, ARG(src_tile_rows));
  ReloadHeldWeights();
  a_.dec(rows_left_);
  a_.jnz(next_rows, a_.T_NEAR);
  a_.L(done);
}

void ChannelEmitter::CallHeldEdgeRows(size_t count, size_t before, size_t behind) {
  Label done;
  a_.mov(rows_left_, arg(count));
  a_.test(rows_left_, rows_left_);
  a_.jz(done, a_.T_NEAR);
  a_.mov(scratch_, arg(before));
  a_.mov(ARG(before_now), scratch_);
  a_.mov(scratch_, arg(behind));
  a_.mov(ARG(behind_now), scratch_);
  a_.call(held_edge_rows_);
  a_.L(done);
}

// A routine behind the kernel: rows that lack some of their kernel rows.
void ChannelEmitter::EmitHeldEdgeRows() {
  a_.L(held_edge_rows_);
  for (int column = 0; column < spec_.columns; ++column) a_.Zero(acc(0, column));
  a_.mov(scratch_, row_);
  for (int kernel_row = 0; kernel_row < spec_.kh; ++kernel_row) {
    Label outside;
    a_.cmp(ARG(before_now), kernel_row);
    a_.jg(outside, a_.T_NEAR);
    a_.cmp(ARG(behind_now), kernel_row);
    a_.jle(outside, a_.T_NEAR);
    EmitHeldInputRow(kernel_row, 1, scratch_, false);
    a_.L(outside);
    if (kernel_row + 1 < spec_.kh) a_.add(scratch_, weights_rows_);
  }
  FinishRow(0);
  a_.add(row_, ARG(src_output_row));
  ReloadHeldWeights();
  a_.sub(ARG(before_now), spec_.row_stride);
  a_.sub(ARG(behind_now), spec_.row_stride);
  a_.dec(rows_left_);
  a_.jnz(held_edge_rows_, a_.T_NEAR);
  a_.ret();
}

// Input row `input_row` of a tile of `rows` output rows. From left to right: each input adds to all
// outputs that it reaches, so that every output gets its taps in their order.
void ChannelEmitter::EmitHeldInputRow(int input_row, int rows, const Reg64& at, bool starts) {
  cursor_ = {at, column_, 0, true};
  int next_input = 0;
  const bool is_new = input_row >= spec_.kh - spec_.row_stride;  // no row above looks at it
  if (is_new) EmitPrefetches();
  for (int column = spec_.skip_first; column < spec_.window() - spec_.skip_last; ++column) {
    std::vector<HeldUse> uses;
    for (int row = 0; row < rows; ++row) {
      const int kernel_row = input_row - row * spec_.row_stride;
      for (int output = 0; output < spec_.columns; ++output) {
        const int tap = column - output * spec_.stride;
        if (kernel_row < 0 || kernel_row >= spec_.kh || tap < 0 || tap >= spec_.kw) continue;
        uses.push_back({row * spec_.columns + output, kernel_row * spec_.kw + tap, starts});
      }
    }
    if (!uses.empty()) EmitHeldInput(column, uses, next_input);
  }
}

// The same for a tile that rolls: the output rows that the input row reaches.
void ChannelEmitter::EmitRollingRow(const std::vector<RowUse>& row_uses) {
  int next_input = 0;
  for (int column = spec_.skip_first; column < spec_.window() - spec_.skip_last; ++column) {
    std::vector<HeldUse> uses;
    for (int output = 0; output < spec_.columns; ++output) {
      const int tap = column - output * spec_.stride;
      if (tap < 0 || tap >= spec_.kw) continue;
      for (const RowUse& use : row_uses)
        uses.push_back({acc(use.slot, output).getIdx(), use.kernel_row * spec_.kw + tap, use.starts});
    }
    if (!uses.empty()) EmitHeldInput(column, uses, next_input);
  }
  for (const RowUse& use : row_uses) {
    for (int output = 0; use.starts && output < spec_.columns; ++output) {
      if (!started_[acc(use.slot, output).getIdx()]) a_.Zero(acc(use.slot, output));  // none of its taps lies inside
    }
  }
}

void ChannelEmitter::EmitHeldInput(int column, const std::vector<HeldUse>& uses, int& next_input) {
  const bool held = std::all_of(uses.begin(), uses.end(), [&](const HeldUse& use) { return IsHeld(use.weight); });
  const bool loads = spec_.has(ChannelSpec::kPermuted | ChannelSpec::kMaskedSrc) || !held ||
                     (num_inputs_ > 0 && static_cast<int>(uses.size()) >= kSharedFrom);
  Xmm x;
  if (loads) {
    x = temp(num_weights_ + next_input);
    next_input = (next_input + 1) % num_inputs_;
    LoadInput(x, column);
  }
  for (const HeldUse& use : uses) {
    const Xmm sum = a_.vec(use.sum), first = loads ? x : HeldWeight(use.weight);
    const bool mul = use.starts && !started_[use.sum];
    const auto multiply = [&](const Xbyak::Operand& second) {
      mul ? a_.vmulps(sum, first, second) : a_.vfmadd231ps(sum, first, second);
    };
    if (!loads) {
      multiply(a_.ptr[ColumnAt(cursor_, column) + depth_bytes()]);
    } else if (IsHeld(use.weight)) {
      multiply(HeldWeight(use.weight));
    } else {
      multiply(a_.ptr[weights_ + (use.weight * kTapBytes + depth_bytes())]);
    }
    started_[use.sum] = true;
  }
}

// The weights of both vectors of a pair take turns.
bool ChannelEmitter::IsHeld(int weight) const { return weight * spec_.vecs() + depth_ < num_weights_; }

Xmm ChannelEmitter::HeldWeight(int weight) const { return temp(weight * spec_.vecs() + depth_); }

void ChannelEmitter::ReloadHeldWeights() {
  const bool destroyed =
      spec_.post_ops != 0 || spec_.has(ChannelSpec::kMaskedDst | ChannelSpec::kZeroedDst);
  if (destroyed) LoadHeldWeights(std::min(kDestroyed, num_weights_));
}

void ChannelEmitter::LoadHeldWeights(int count) {
  for (int i = 0; i < count; ++i) {
    const int weight = i / spec_.vecs(), vec = i % spec_.vecs();
    a_.vmovups(temp(i), a_.ptr[weights_ + (weight * kTapBytes + vec * vec_bytes())]);
  }
}

#undef ARG

}  // namespace rafter::depthwise
