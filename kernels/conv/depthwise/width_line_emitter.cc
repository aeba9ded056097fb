// kernels/conv/depthwise/width_line_emitter.cc: lines of the width kernel: kernels of one row, tile after tile along
// the row. As bands of one row (width_band_emitter.cc), but what a run needs stays in registers: a row of 26 vectors
// takes about 150 cycles, and has four or five runs.
//
//   for each channel: for each row: for each run: for each tile: taps, bias, post-ops, stores
#include <algorithm>

#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/width_emitter.h"

namespace rafter::depthwise {

using jit::Label;

#define ARG(field) arg(offsetof(WidthArgs, field))

// last_row_ and tap_step_: the start of the row, of inputs and outputs. Rows outside of the image have no taps.
void WidthEmitter::EmitLine() {
  Aside& outside = asides_.emplace_back();
  outside.spec = spec_, outside.emit = [this] {
    for (int run = 0; run < spec_.band_runs; ++run) EmitLineRun(run, false);
  };
  a_.mov(last_row_, ARG(band_src));
  a_.mov(tap_step_, ARG(band_dst));
  a_.cmp(ARG(above_now), 0);
  a_.jg(outside.enter, a_.T_NEAR);
  a_.cmp(ARG(inside_now), 0);
  a_.jle(outside.enter, a_.T_NEAR);
  for (int run = 0; run < spec_.band_runs; ++run) EmitLineRun(run, true);
  a_.L(outside.leave);
}

void WidthEmitter::EmitLineRun(int index, bool inside) {
  const WidthRunSpec& run = spec_.runs[index];
  const uint8_t shared = spec_.flags;
  spec_.vecs = run.vecs, spec_.flags = static_cast<uint8_t>(shared | run.flags);
  spec_.first_taps = run.first_taps, spec_.last_taps = run.last_taps;
  Label next;
  StartLineRun(index);
  a_.L(next);
  if (inside) {
    EmitTaps({{0, 0, true}});
    a_.add(row_, tile_bytes());
  } else {
    for (int vec = 0; vec < spec_.vecs; ++vec) a_.Zero(acc(0, vec));
  }
  FinishRow(0);
  if (spec_.post_ops != 0) LoadHeldWeights(std::min(registers_.held, jit::kPostOpTemps));
  if (!spec_.has(WidthSpec::kEdge)) {  // those are one tile
    a_.dec(tap_);
    a_.jnz(next, a_.T_NEAR);
  }
  spec_.vecs = static_cast<uint8_t>(most_vecs_), spec_.flags = shared, spec_.first_taps = spec_.last_taps = 0;
}

void WidthEmitter::StartLineRun(int index) {
  const auto field = [&](size_t offset) { return RunField(index, offset); };
  const auto copy = [&](size_t from, size_t to) { CopyRunField(index, from, to); };
  a_.mov(scratch_, ARG(runs));
  a_.mov(row_, field(offsetof(WidthBandRun, src_begin)));
  a_.mov(dst_row_, field(offsetof(WidthBandRun, dst_begin)));
  ForEachResidual([&](size_t at) {
    a_.mov(lanes_, arg(offsetof(WidthArgs, band_residual) + at));
    a_.add(lanes_, dst_row_);
    a_.mov(arg(offsetof(WidthArgs, residual_row_now) + at), lanes_);
  });
  a_.add(row_, last_row_);
  a_.add(dst_row_, tap_step_);
  if (spec_.has(WidthSpec::kPartial)) {
    copy(offsetof(WidthBandRun, last_mask), offsetof(WidthArgs, last_mask));
    copy(offsetof(WidthBandRun, last_lanes), offsetof(WidthArgs, last_lanes));
  }
  if (spec_.has(WidthSpec::kEdge)) {
    a_.mov(vec_step_, field(offsetof(WidthBandRun, vec_step)));
    a_.mov(masks_, field(offsetof(WidthBandRun, masks)));
  } else {
    a_.mov(tap_, field(offsetof(WidthBandRun, tiles)));
  }
}

#undef ARG

}  // namespace rafter::depthwise
