// kernels/conv/depthwise/rolling.cc
#include "kernels/conv/depthwise/rolling.h"

#include <algorithm>

namespace rafter::depthwise {

using jit::Assembler;
using jit::Label;

RollingOrder OrderOf(const RollingShape& s) {
  constexpr double kSlack = 1.15;  // of loads, for fewer instructions
  // All per input row, on average over the rows of a stride, and per vector of channels.
  const double taps = static_cast<double>(s.kh * s.kw) / s.row_stride;
  const double fmas = taps * s.columns;
  const double held = std::min(1.0, static_cast<double>(s.temps - 1) / (s.kh * s.kw * s.depth));
  const double input_cost = s.permuted ? 2 : 1;
  const int window = (s.columns - 1) * s.stride + s.kw;
  const double by_inputs = window * input_cost + fmas * (1 - held);
  // Inputs that an earlier kernel column has left in registers, of each column behind the first ones.
  const int kept = std::min(s.columns - 1, std::max(1, s.temps - s.slots()) / s.stride);
  const double inputs =
      s.columns * std::min(s.stride, s.kw) + std::max(0, s.kw - s.stride) * static_cast<double>(s.columns - kept);
  const double by_taps = taps + inputs * input_cost;
  if (by_inputs <= kSlack * by_taps) return {true, (fmas + window * input_cost) / fmas};
  return {false, (fmas + by_taps) / fmas};
}

// The output rows up to `last` that input row `input_row` reaches.
std::vector<RowUse> Rolling::Uses(int input_row, int last, bool have_values) const {
  std::vector<RowUse> uses;
  for (int output = 0; output <= last; ++output) {
    const int kernel_row = input_row - output * stride;
    if (kernel_row < kh)
      uses.push_back({output % slots, kernel_row, kernel_row == 0 && !have_values});
  }
  return uses;
}

void Rolling::Emit(Assembler& a) const {
  const int head = kh - 1, lap = slots * stride, rows = short_blocks ? head : head + lap;
  std::vector<Label> enter(kh), leave(head + lap), finish(slots);
  Label done;
  EmitStart(a, enter);
  for (int input_row = 0; input_row < rows; ++input_row) {
    if (input_row <= head) a.L(enter[input_row]);
    emit_row(Uses(input_row, input_row / stride, input_row < head));
    if (input_row >= head && (input_row - head) % stride == 0) {
      finish_row((input_row - head) / stride % slots);
    }
    a.add(row, row_step);
    if (input_row % stride != 0) continue;
    a.dec(counter);
    if (MayEndAt(input_row)) a.jz(leave[input_row], a.T_NEAR);
  }
  if (!short_blocks) a.jmp(enter[head], a.T_NEAR);
  for (int input_row = 0; input_row < rows; input_row += stride) {
    if (!MayEndAt(input_row)) continue;
    a.L(leave[input_row]);
    EmitLastRows(a, input_row, finish, done);
  }
  for (int slot = 0; slot < slots; ++slot) {
    a.L(finish[slot]);
    finish_row(slot);
    a.ret();
  }
  a.L(done);
}

void Rolling::EmitPlane(Assembler& a, int first_row, int outputs, int last_rows) const {
  const int end = (outputs - 1) * stride + last_rows;
  for (int i = 0; i < first_row; ++i) a.add(row, row_step);
  for (int input_row = first_row; input_row <= end; ++input_row) {
    std::vector<RowUse> uses;
    for (int output = 0; output < outputs; ++output) {
      const int kernel_row = input_row - output * stride;
      if (kernel_row < 0 || kernel_row >= kh) continue;
      uses.push_back({output % slots, kernel_row, kernel_row == 0 || input_row == first_row});
    }
    emit_row(uses);
    for (int output = 0; output < outputs; ++output) {
      if (std::min(output * stride + kh - 1, end) == input_row) finish_row(output % slots);
    }
    if (input_row < end) a.add(row, row_step);
  }
}

// Whether the last output of a block may start at `input_row`.
bool Rolling::MayEndAt(int input_row) const { return input_row >= kh - 1 || !long_blocks; }

// To the first input row inside the image.
void Rolling::EmitStart(Assembler& a, std::vector<Label>& enter) const {
  a.mov(counter, Count(a, counts + offsetof(RollingCounts, first_row)));
  a.mov(scratch, counter);
  a.imul(scratch, row_step);
  a.add(row, scratch);
  a.mov(scratch, counter);
  a.mov(counter, Count(a, counts + offsetof(RollingCounts, starting_rows)));
  for (int input_row = 1; input_row < (short_blocks ? kh - 1 : kh); ++input_row) {
    a.cmp(scratch, input_row);
    a.je(enter[input_row], a.T_NEAR);
  }
}

// Input rows behind `input_row`, which has started the last output; the image may end at any of
// them.
void Rolling::EmitLastRows(Assembler& a, int input_row, std::vector<Label>& finish,
                           Label& done) const {
  const int last = input_row / stride;
  std::vector<Label> end(kh);
  const auto first_unfinished = [&](int at) {
    const int behind = at - kh + 1;
    return behind < 0 ? 0 : behind / stride + 1;
  };
  const auto finish_outputs = [&](int first, int behind) {
    for (int output = first; output < behind; ++output) a.call(finish[output % slots]);
  };
  a.mov(counter, Count(a, counts + offsetof(RollingCounts, last_rows)));
  a.test(counter, counter);
  a.jz(end[0], a.T_NEAR);
  for (int i = 1; i < kh; ++i) {
    emit_row(Uses(input_row + i, last, true));
    finish_outputs(first_unfinished(input_row + i - 1), first_unfinished(input_row + i));
    if (i + 1 == kh) break;
    a.add(row, row_step);
    a.dec(counter);
    a.jz(end[i], a.T_NEAR);
  }
  a.jmp(done, a.T_NEAR);
  for (int i = 0; i < std::max(1, kh - 1); ++i) {
    a.L(end[i]);
    finish_outputs(first_unfinished(input_row + i), last + 1);
    a.jmp(done, a.T_NEAR);
  }
}

}  // namespace rafter::depthwise
