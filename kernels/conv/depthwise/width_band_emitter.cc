// kernels/conv/depthwise/width_band_emitter.cc: bands of the width kernel: a few output rows, tile after tile along the
// row, then the next band. The input rows of a tile are one piece of code without loops, which bands at the upper
// border of the image enter later and those at the lower one leave early.
//
//   for each channel: for each band: for each run: for each tile: input rows, then bias, post-ops, stores
#include <algorithm>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/conv/depthwise/width_emitter.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

using jit::Label;

namespace {

// More input rows above the image than a tile has make no difference.
constexpr int kFarAbove = 255;

}  // namespace

#define ARG(field) arg(offsetof(WidthArgs, field))

// Of a channel: bands of most_rows_ rows, then of one.
void WidthEmitter::EmitBands() {
  const auto start = [this](size_t from, size_t to) {
    a_.mov(scratch_, arg(from));
    a_.mov(arg(to), scratch_);
  };
  start(offsetof(WidthArgs, src), offsetof(WidthArgs, band_src));
  start(offsetof(WidthArgs, dst), offsetof(WidthArgs, band_dst));
  start(offsetof(WidthArgs, above), offsetof(WidthArgs, above_now));
  start(offsetof(WidthArgs, inside), offsetof(WidthArgs, inside_now));
  ForEachResidual([&](size_t at) {
    start(offsetof(WidthArgs, residual) + at, offsetof(WidthArgs, band_residual) + at);
  });
  const auto bands = [&](int rows, size_t count) {
    Label next, none;
    a_.mov(scratch_, arg(count));
    a_.mov(ARG(bands_left), scratch_);
    a_.test(scratch_, scratch_);
    a_.jz(none, a_.T_NEAR);
    a_.L(next);
    spec_.rows = static_cast<uint8_t>(rows);
    if (spec_.is_lines()) {
      EmitLine();
    } else {
      StartBand();
      for (int run = 0; run < spec_.band_runs; ++run) EmitRun(run);
    }
    NextBand(rows);
    a_.dec(ARG(bands_left));
    a_.jnz(next, a_.T_NEAR);
    a_.L(none);
  };
  bands(most_rows_, offsetof(WidthArgs, bands));
  if (most_rows_ > 1) bands(1, offsetof(WidthArgs, rest));
  spec_.rows = static_cast<uint8_t>(most_rows_);
}

// last_row_: whether some input rows of the band lie outside; band_row: the first one inside.
void WidthEmitter::StartBand() {
  Label inside, known;
  const int rows = (spec_.rows - 1) * spec_.row_stride + spec_.kh;
  a_.mov(rows_left_, ARG(inside_now));
  a_.mov(lanes_, ARG(band_src));
  a_.xor_(last_row_, last_row_);
  a_.mov(scratch_, ARG(above_now));
  a_.test(scratch_, scratch_);
  a_.jle(inside);
  a_.mov(last_row_, kFarAbove);
  a_.cmp(scratch_, last_row_);
  a_.cmovl(last_row_, scratch_);
  a_.imul(scratch_, src_row_);
  a_.add(lanes_, scratch_);
  a_.L(inside);
  a_.mov(ARG(band_row), lanes_);
  a_.cmp(rows_left_, rows);
  a_.jge(known);
  a_.or_(last_row_, kFarAbove + 1);
  a_.L(known);
}

void WidthEmitter::NextBand(int rows) {
  const int taps = rows * spec_.row_stride;
  a_.imul(scratch_, src_row_, taps);
  a_.add(ARG(band_src), scratch_);
  a_.sub(ARG(above_now), taps);
  a_.sub(ARG(inside_now), taps);
  a_.imul(scratch_, ARG(dst_row), rows);
  a_.add(ARG(band_dst), scratch_);
  ForEachResidual([&](size_t at) {
    a_.imul(scratch_, arg(offsetof(WidthArgs, residual_row) + at), rows);
    a_.add(arg(offsetof(WidthArgs, band_residual) + at), scratch_);
  });
}

void WidthEmitter::EmitRun(int index) {
  const WidthRunSpec& run = spec_.runs[index];
  const uint8_t shared = spec_.flags;
  spec_.vecs = run.vecs, spec_.flags = static_cast<uint8_t>(shared | run.flags);
  spec_.first_taps = run.first_taps, spec_.last_taps = run.last_taps;
  const int input_rows = (spec_.rows - 1) * spec_.row_stride + spec_.kh;
  std::deque<Label> enter(input_rows);
  Label finish, next;
  StartRun(index, enter, finish);
  a_.L(next);
  EmitBandTile(enter, finish);
  a_.L(finish);
  FinishBand();
  NextBandTile();
  a_.dec(ARG(tiles_left));
  a_.jnz(next, a_.T_NEAR);
  spec_.vecs = static_cast<uint8_t>(most_vecs_), spec_.flags = shared, spec_.first_taps = spec_.last_taps = 0;
}

jit::Address WidthEmitter::RunField(int index, size_t offset) const {
  return a_.qword[scratch_ + static_cast<int>(static_cast<size_t>(index) * sizeof(WidthBandRun) + offset)];
}

void WidthEmitter::CopyRunField(int index, size_t from, size_t to) {
  a_.mov(lanes_, RunField(index, from));
  a_.mov(arg(to), lanes_);
}

// Where tiles of bands that reach outside enter: at the first input row inside the image, or, without any, at the end.
void WidthEmitter::StartRun(int index, const std::deque<Label>& enter, const Label& finish) {
  const int rows = static_cast<int>(enter.size());
  const auto field = [&](size_t offset) { return RunField(index, offset); };
  const auto copy = [&](size_t from, size_t to) { CopyRunField(index, from, to); };
  a_.mov(scratch_, ARG(runs));
  copy(offsetof(WidthBandRun, tiles), offsetof(WidthArgs, tiles_left));
  a_.mov(lanes_, field(offsetof(WidthBandRun, src_begin)));
  a_.add(lanes_, ARG(band_row));
  a_.mov(ARG(src_now), lanes_);
  a_.mov(lanes_, field(offsetof(WidthBandRun, dst_begin)));
  ForEachResidual([&](size_t at) {
    a_.mov(row_, arg(offsetof(WidthArgs, band_residual) + at));
    a_.add(row_, lanes_);
    a_.mov(arg(offsetof(WidthArgs, residual_now) + at), row_);
  });
  a_.add(lanes_, ARG(band_dst));
  a_.mov(ARG(dst_now), lanes_);
  if (spec_.has(WidthSpec::kEdge)) {
    a_.mov(vec_step_, field(offsetof(WidthBandRun, vec_step)));
    a_.mov(masks_, field(offsetof(WidthBandRun, masks)));
  }
  if (spec_.has(WidthSpec::kPartial)) {
    copy(offsetof(WidthBandRun, last_mask), offsetof(WidthArgs, last_mask));
    copy(offsetof(WidthBandRun, last_lanes), offsetof(WidthArgs, last_lanes));
  }
  Label known;
  a_.test(last_row_, last_row_);
  a_.jz(known, a_.T_NEAR);
  Label found;
  a_.movzx(scratch_.cvt32(), last_row_.cvt8());
  a_.lea(lanes_, a_.ptr[a_.rip + finish]);
  a_.cmp(scratch_, rows_left_);
  a_.jge(found, a_.T_NEAR);
  for (int i = 0; i < rows; ++i) {
    Label other;
    a_.cmp(scratch_, i);
    a_.jne(other);
    a_.lea(lanes_, a_.ptr[a_.rip + enter[static_cast<size_t>(i)]]);
    a_.L(other);
  }
  a_.L(found);
  a_.mov(ARG(enter), lanes_);
  a_.L(known);
}

void WidthEmitter::EmitBandTile(std::deque<Label>& enter, Label& finish) {
  const int rows = static_cast<int>(enter.size());
  a_.mov(row_, ARG(src_now));
  a_.test(last_row_, last_row_);
  Aside& border = asides_.emplace_back();
  const int sums = spec_.rows, vecs = spec_.vecs;
  border.spec = spec_, border.emit = [this, sums, vecs] {
    for (int slot = 0; slot < sums; ++slot)
      for (int vec = 0; vec < vecs; ++vec) a_.Zero(acc(slot, vec));
    a_.jmp(ARG(enter));
  };
  a_.jnz(border.enter, a_.T_NEAR);
  a_.L(border.leave);
  for (int input_row = 0; input_row < rows; ++input_row) {
    a_.L(enter[static_cast<size_t>(input_row)]);
    std::vector<RowUse> uses;
    for (int output = 0; output < spec_.rows; ++output) {
      const int kernel_row = input_row - output * spec_.row_stride;
      if (kernel_row >= 0 && kernel_row < spec_.kh) uses.push_back({output, kernel_row, kernel_row == 0});
    }
    // The rows that the bands below need first.
    if (input_row >= rows - spec_.rows * spec_.row_stride) PrefetchRow(kBandRowsAhead);
    EmitTaps(uses);
    if (input_row + 1 == rows) break;
    a_.add(row_, src_row_);
    a_.cmp(rows_left_, input_row + 1);
    a_.je(finish, a_.T_NEAR);
  }
}

void WidthEmitter::PrefetchRow(int rows_ahead) {
  for (int at = 0; at < tile_bytes(); at += kLineBytes) a_.prefetcht0(a_.ptr[row_ + src_row_ * rows_ahead + at]);
}

void WidthEmitter::FinishBand() {
  a_.mov(dst_row_, ARG(dst_now));
  ForEachResidual([&](size_t at) {
    a_.mov(scratch_, arg(offsetof(WidthArgs, residual_now) + at));
    a_.mov(arg(offsetof(WidthArgs, residual_row_now) + at), scratch_);
  });
  for (int slot = 0; slot < spec_.rows; ++slot) FinishRow(slot);
  if (spec_.post_ops != 0) LoadHeldWeights(std::min(registers_.held, jit::kPostOpTemps));
}

void WidthEmitter::NextBandTile() {
  const int bytes = spec_.vecs * vec_bytes();
  a_.add(ARG(src_now), spec_.has(WidthSpec::kStride2) ? 2 * bytes : bytes);
  a_.add(ARG(dst_now), bytes);
  ForEachResidual([&](size_t at) { a_.add(arg(offsetof(WidthArgs, residual_now) + at), bytes); });
}

#undef ARG

}  // namespace rafter::depthwise
