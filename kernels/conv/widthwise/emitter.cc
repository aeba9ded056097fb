// kernels/conv/widthwise/emitter.cc: the loops of the sum, outermost first. The innermost one:
// line_emitter.cc; the end of a tile: store_emitter.cc.
#include "kernels/conv/widthwise/emitter.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "kernels/sizes.h"

namespace rafter::widthwise {

#define ARG(field) arg(offsetof(WidthArgs, field))

std::string KernelName(const WidthSpec& spec) {
  std::string name = std::string("width_f32_") + IsaName(spec.isa) + "_" +
                     std::to_string(spec.vecs) + "v_oc" + std::to_string(spec.ocs) + "_rows" +
                     std::to_string(spec.rows);
  if (spec.rows > 1 && spec.row_distance > 1)
    name += "_distance" + std::to_string(spec.row_distance);
  if (spec.columns > 0) name += "_columns" + std::to_string(spec.columns);
  name += "_line" + std::to_string(spec.unroll);
  for (const auto& [flag, text] : {std::pair{WidthSpec::kWhole, ""},
                                   {WidthSpec::kRest, "_rest"},
                                   {WidthSpec::kStride2, "_stride2"},
                                   {WidthSpec::kTable, "_table"},
                                   {WidthSpec::kEdge, "_edge"},
                                   {WidthSpec::kShift, "_shift"},
                                   {WidthSpec::kTail, "_tail"},
                                   {WidthSpec::kPartial, "_passes"}}) {
    if (spec.has(flag)) name += text;
  }
  if (!spec.has(WidthSpec::kWhole)) name += "_loop";
  if (spec.tiles_ahead > 0) name += "_ahead";
  if (spec.over_channels > 0) name += "_channels";
  for (int i = 0; i < spec.columns && spec.has(WidthSpec::kEdge);
       ++i) {  // inside, first, last, masked, none
    name += (i == 0 ? "_" : "") +
            std::string(1, "iflmn"[std::min<uint32_t>(spec.tap_codes >> (4 * i) & 15, 4)]);
  }
  return name + jit::PostOpSuffix(spec.post_ops);
}

Result<jit::KernelPtr> GetWidthKernel(const WidthSpec& spec) {
  return jit::GetOrCompile("width", spec, [](const WidthSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { WidthEmitter(s, a).Emit(); });
  });
}

WidthEmitter::WidthEmitter(const WidthSpec& spec, jit::Assembler& assembler)
    : spec_(spec),
      a_(assembler),
      args_(a_.rdi),
      src_row_(pool_.Take()),
      src_column_(pool_.Take()),
      src_(pool_.Take()),
      weights_(pool_.Take()),
      rows_left_(pool_.Take()),
      columns_left_(pool_.Take()),
      line_left_(pool_.Take()),
      line_step_(pool_.Take()),
      column_step_(pool_.Take()),
      scratch_(pool_.Take()) {
  if (spec.rows > 1) row_back_ = pool_.Take();
  if (spec.has(WidthSpec::kEdge)) tap_code_ = pool_.Take(), masks_ = pool_.Take();
  if (spec.has(WidthSpec::kShift)) shift_ = pool_.Take();
  if (temps() < jit::kPostOpTemps) {
    throw std::length_error("the tile has more accumulators than registers");
  }
}

void WidthEmitter::Emit() {
  Label next_tile, finish;
  a_.EnterKernel();
  a_.L(next_tile);
  LoadConstants();
  if (spec_.tiles_ahead > 0) PrefetchOutput();
  StartSums();
  a_.cmp(ARG(has_taps), 0);
  a_.jz(finish, a_.T_NEAR);
  EmitInputRows();
  a_.L(finish);
  FinishTile();
  a_.dec(ARG(repeats));
  a_.jnz(next_tile, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

// Registers that the sum does not change.
void WidthEmitter::LoadConstants() {
  a_.mov(line_step_, ARG(src_line));
  if (!spec_.has(WidthSpec::kTable)) a_.mov(column_step_, ARG(src_column));
  if (spec_.rows > 1) a_.mov(row_back_, ARG(weights_row));
  if (spec_.has(WidthSpec::kShift)) a_.mov(shift_, ARG(src_shift));
}

// Lines of large outputs come in time only when they are asked for early: each channel has its own pages.
void WidthEmitter::PrefetchOutput() {
  const Reg64 &row = src_column_, &at = src_;  // free before the sums
  a_.imul(row, ARG(dst_repeat), static_cast<int>(spec_.tiles_ahead));
  a_.add(row, ARG(dst));
  for (int r = 0; r < spec_.rows; ++r) {
    if (r > 0) a_.add(row, ARG(dst_row));
    a_.mov(at, row);
    for (int o = 0; o < spec_.ocs; ++o) {
      if (o > 0) a_.add(at, ARG(dst_channel));
      for (int byte = 0; byte < spec_.vecs * a_.isa().vec_bytes; byte += kLineBytes) a_.prefetchw(a_.ptr[at + byte]);
    }
  }
}

void WidthEmitter::StartSums() {
  Label from_zero, done;
  if (spec_.has(WidthSpec::kPartial)) {
    a_.cmp(ARG(load_partial), 0);
    a_.jz(from_zero, a_.T_NEAR);
    a_.mov(scratch_, ARG(partial));
    for (int i = 0; i < num_accs(); ++i)
      a_.vmovups(a_.vec(i), a_.ptr[scratch_ + i * a_.isa().vec_bytes]);
    a_.jmp(done, a_.T_NEAR);
    a_.L(from_zero);
  }
  for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
  a_.L(done);
}

void WidthEmitter::EmitInputRows() {
  Label next_row, done;
  a_.mov(src_row_, ARG(src));
  a_.mov(weights_, ARG(weights));
  if (rows_before() > 0) EmitRowsBefore();
  a_.mov(rows_left_, ARG(rows));
  if (rows_before() > 0) {
    a_.test(rows_left_, rows_left_);
    a_.jz(done, a_.T_NEAR);
  }
  a_.L(next_row);
  EmitInputRow({0, spec_.rows - 1});
  a_.dec(rows_left_);
  a_.jnz(next_row, a_.T_NEAR);
  a_.L(done);
  if (rows_before() > 0) EmitRowsBehind();
}

// The input rows that only the first output rows use; at the top of the image the first ones may be
// outside.
void WidthEmitter::EmitRowsBefore() {
  std::deque<Label> rows(static_cast<size_t>(rows_before()) + 1);
  a_.mov(scratch_, ARG(rows_skipped));
  for (int skipped = 1; skipped <= rows_before(); ++skipped) {
    a_.cmp(scratch_, skipped);
    a_.je(rows[static_cast<size_t>(skipped)], a_.T_NEAR);
  }
  for (int j = 0; j < rows_before(); ++j) {
    a_.L(rows[static_cast<size_t>(j)]);
    EmitInputRow({0, j / spec_.row_distance});
  }
  a_.L(rows.back());
}

// The input rows that only the last output rows use; at the bottom of the image the last ones may
// be outside.
void WidthEmitter::EmitRowsBehind() {
  Label done;
  for (int j = 0; j < rows_before(); ++j) {
    a_.cmp(ARG(rows_behind), j);
    a_.je(done, a_.T_NEAR);
    EmitInputRow({j / spec_.row_distance + 1, spec_.rows - 1});
  }
  a_.L(done);
}

void WidthEmitter::EmitInputRow(RowRange rows) {
  if (spec_.has(WidthSpec::kTable)) {
    a_.mov(column_step_, ARG(column_table));
  } else {
    a_.mov(src_column_, src_row_);
  }
  if (spec_.has(WidthSpec::kEdge)) a_.mov(masks_, ARG(masks));
  if (spec_.columns > 0) {
    EmitColumns(rows);
  } else {
    EmitColumnLoop(rows);
  }
  a_.add(src_row_, ARG(src_row));
}

// The kernel columns written out, each with its code.
void WidthEmitter::EmitColumns(RowRange rows) {
  const bool table = spec_.has(WidthSpec::kTable);
  for (int i = 0; i < spec_.columns; ++i) {
    const auto code = static_cast<TapCode>(spec_.tap_codes >> (4 * i) & 15);
    if (code == kNoLanes) {
      a_.add(weights_, ARG(weights_column));
    } else {
      if (table) {
        a_.mov(src_, a_.qword[column_step_ + i * static_cast<int>(sizeof(int64_t))]);
        a_.add(src_, src_row_);
      } else {
        a_.mov(src_, src_column_);
      }
      EmitLine(rows, code, i);
    }
    if (!table) a_.add(src_column_, column_step_);
  }
}

void WidthEmitter::EmitColumnLoop(RowRange rows) {
  const bool edge = spec_.has(WidthSpec::kEdge);
  Label next, column_end;
  a_.mov(columns_left_, ARG(columns));
  if (edge) a_.mov(tap_code_, ARG(tap_codes));
  a_.L(next);
  if (spec_.has(WidthSpec::kTable)) {
    a_.mov(src_, a_.qword[column_step_]);
    a_.add(src_, src_row_);
    a_.add(column_step_, static_cast<int>(sizeof(int64_t)));
  } else {
    a_.mov(src_, src_column_);
    a_.add(src_column_, column_step_);
  }
  if (edge) {
    EmitCodeDispatch(rows, column_end);
  } else {
    EmitLine(rows, kFull, 0);
  }
  a_.L(column_end);
  if (edge) a_.add(masks_, mask_bytes());
  a_.dec(columns_left_);
  a_.jnz(next, a_.T_NEAR);
}

void WidthEmitter::EmitCodeDispatch(RowRange rows, const Label& column_end) {
  Label labels[4];
  a_.movzx(scratch_.cvt32(), a_.byte[tap_code_]);
  a_.inc(tap_code_);
  const int codes = spec_.vecs > 1 ? kAllMasked + 1 : kFirstMasked + 1;
  for (int code = 0; code < codes; ++code) {
    a_.cmp(scratch_.cvt32(), code);
    a_.je(labels[code], a_.T_NEAR);
  }
  a_.add(weights_, ARG(weights_column));
  a_.jmp(column_end, a_.T_NEAR);
  for (int code = codes - 1; code >= 0; --code) {
    a_.L(labels[code]);
    EmitLine(rows, static_cast<TapCode>(code), 0);
    if (code > 0) a_.jmp(column_end, a_.T_NEAR);
  }
}

#undef ARG

}  // namespace rafter::widthwise
