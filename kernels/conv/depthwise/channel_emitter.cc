// kernels/conv/depthwise/channel_emitter.cc: loops over tiles, vectors, segments, rows, taps. Which
// input is in which register is decided while emitting: names rotate, nothing is moved.
#include "kernels/conv/depthwise/channel_emitter.h"

#include <algorithm>
#include <stdexcept>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

using jit::Address;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) arg(offsetof(ChannelArgs, field))

std::string ChannelKernelName(const ChannelSpec& spec) {
  std::string name = std::string("dw_f32_") + IsaName(spec.isa) + "_k" + std::to_string(spec.kw);
  if (spec.stride > 0) name += "s" + std::to_string(spec.stride);
  name += "_" + std::to_string(spec.rows) + "x" + std::to_string(spec.columns);
  if (spec.skip_first + spec.skip_last > 0) {
    name += "_edge" + std::to_string(spec.skip_first) + "+" + std::to_string(spec.skip_last);
  }
  if (spec.has(ChannelSpec::kPermuted)) name += "_permuted";
  if (spec.has(ChannelSpec::kMaskedSrc)) name += "_masked";
  if (spec.has(ChannelSpec::kMaskedDst)) name += "_tail";
  if (spec.has(ChannelSpec::kZeroedDst)) name += "_tailz";
  if (spec.has(ChannelSpec::kPartial)) name += "_pieces";
  if (spec.has(ChannelSpec::kHeld)) name += "_held";
  if (spec.access == ChannelSpec::kPairs) name += "_pairs";
  if (spec.streams != 0) name += "_streamed";
  if (spec.blocks == ChannelSpec::kLongBlocks) name += "_long";
  if (spec.blocks == ChannelSpec::kShortBlocks) name += "_short";
  for (uint64_t ops = spec.post_ops; ops != 0; ops >>= 8) {
    name += std::string("_") + PostOpName(static_cast<PostOpKind>(ops & 0xff));
  }
  return name;
}

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec) {
  return jit::GetOrCompile("depthwise_channel", spec, [](const ChannelSpec& s) {
    return jit::Compile(ChannelKernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { ChannelEmitter(a, s).Emit(); });
  });
}

ChannelEmitter::ChannelEmitter(jit::Assembler& a, const ChannelSpec& spec)
    : a_(a),
      spec_(spec),
      src_(pool_.Take()),
      weights_(pool_.Take()),
      row_(pool_.Take()),
      column_(pool_.Take()),
      by_1_(pool_.Take()),
      by_3_(pool_.Take()),
      by_5_(pool_.Take()),
      by_7_(pool_.Take()),
      row_weights_(pool_.Take()),
      weights_rows_(pool_.Take()),
      rows_left_(pool_.Take()),
      vecs_left_(pool_.Take()),
      half_(pool_.Take()),
      scratch_(pool_.Take()) {
  started_.resize(num_accs());
  int next = a_.isa().num_vecs;
  if (spec_.has(ChannelSpec::kPermuted)) permutation_ = a_.vec(--next);
  if (spec_.has(ChannelSpec::kMaskedSrc)) src_mask_ = a_.vec(--next);
  const int temps = next - num_accs();
  const bool rolling = spec_.has(ChannelSpec::kRolling);
  by_inputs_ = rolling && RollsByInputs(temps);
  num_weights_ = HoldsWeights() ? std::min(spec_.kh * spec_.kw * spec_.vecs(), temps - 1)
                 : rolling      ? spec_.rows
                                : std::min<int>(spec_.rows, temps >= 6 ? 2 : 1);
  num_inputs_ = temps - num_weights_;
  if (temps < jit::kPostOpTemps || num_inputs_ < 1) {
    throw std::length_error("the tile has more accumulators than registers");
  }
}

bool ChannelEmitter::RollsByInputs(int temps) const {
  RollingShape shape;
  shape.kh = spec_.kh, shape.kw = spec_.kw, shape.row_stride = spec_.row_stride;
  shape.stride = std::max<int>(1, spec_.stride), shape.columns = spec_.columns, shape.depth = spec_.vecs();
  shape.temps = temps, shape.permuted = spec_.has(ChannelSpec::kPermuted);
  return OrderOf(shape).by_inputs;
}

void ChannelEmitter::Emit() {
  Label next_tile, next_vector;
  a_.EnterKernel();
  if (spec_.rows > 1 && !spec_.goes_down()) a_.mov(weights_rows_, ARG(weights_rows));
  a_.L(next_tile);
  StartVector();
  a_.L(next_vector);
  EmitVector();
  NextVector();
  a_.dec(vecs_left_);
  a_.jnz(next_vector, a_.T_NEAR);
  NextTile();
  a_.dec(ARG(tiles));
  a_.jnz(next_tile, a_.T_NEAR);
  a_.LeaveKernel();
  if (spec_.has(ChannelSpec::kHeld)) EmitHeldEdgeRows();
  a_.EmitConstants();
}

// All pointers to the first vector of the tile.
void ChannelEmitter::StartVector() {
  const auto copy = [&](size_t from, size_t to) {
    a_.mov(scratch_, arg(from));
    a_.mov(arg(to), scratch_);
  };
  a_.mov(src_, ARG(src));
  a_.mov(weights_, ARG(weights));
  a_.mov(vecs_left_, ARG(vecs));
  a_.xor_(half_.cvt32(), half_.cvt32());
  copy(offsetof(ChannelArgs, dst), offsetof(ChannelArgs, dst_now));
  if (spec_.has(ChannelSpec::kPermuted)) {
    copy(offsetof(ChannelArgs, lanes), offsetof(ChannelArgs, lanes_now));
  }
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const size_t at = op * sizeof(float*);
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kChannelScale) {
      copy(offsetof(ChannelArgs, scale) + at, offsetof(ChannelArgs, scale_now) + at);
    } else if (kind == PostOpKind::kResidualAdd) {
      copy(offsetof(ChannelArgs, residual) + at, offsetof(ChannelArgs, residual_now) + at);
    }
  }
}

// The distances that rows of `columns` columns need.
void ChannelEmitter::LoadColumnSteps(size_t offset, int columns) {
  const auto step = [&](size_t field) { return arg(offset + field); };
  if (columns > 1) a_.mov(by_1_, step(offsetof(ColumnSteps, by_1)));
  if (columns > 3) a_.mov(by_3_, step(offsetof(ColumnSteps, by_3)));
  if (columns > 5) a_.mov(by_5_, step(offsetof(ColumnSteps, by_5)));
  if (columns > 7) a_.mov(by_7_, step(offsetof(ColumnSteps, by_7)));
}

void ChannelEmitter::LoadSrcSteps() {
  const bool next_tile = spec_.prefetch == ChannelSpec::kNextTile;
  LoadColumnSteps(offsetof(ChannelArgs, src_columns),
                  spec_.window() + (next_tile ? spec_.columns * spec_.stride : 0));
}

void ChannelEmitter::EmitVector() {
  LoadSrcSteps();
  if (spec_.has(ChannelSpec::kPermuted)) {
    a_.mov(scratch_, ARG(lanes_now));
    a_.mov(src_, ARG(src));
    a_.add(src_, a_.ptr[scratch_ + static_cast<int>(offsetof(LaneSource, src))]);
    a_.vmovups(permutation_, a_.ptr[scratch_ + static_cast<int>(offsetof(LaneSource, lanes))]);
  }
  if (spec_.has(ChannelSpec::kMaskedSrc)) LoadSrcMask();
  if (spec_.has(ChannelSpec::kHeld)) {
    EmitHeld();
    return;
  }
  StartSums();
  if (spec_.has(ChannelSpec::kRolling)) {
    EmitRolling();
    return;
  }
  for (int segment = 0; segment < 2 * spec_.rows - 1; ++segment) EmitSegment(segment);
  FinishSums();
}

void ChannelEmitter::LoadSrcMask() {
  a_.mov(scratch_, ARG(src_mask));
  a_.LoadTailMask(a_.ptr[scratch_], src_mask_);
}

void ChannelEmitter::EmitSegment(int index) {
  const int first = std::max(0, index - (spec_.rows - 1));
  const int last = std::min<int>(index, spec_.rows - 1);
  const size_t at = offsetof(ChannelArgs, segments) + index * sizeof(Segment);
  Label next_row, done;
  a_.mov(rows_left_, arg(at + offsetof(Segment, rows)));
  a_.test(rows_left_, rows_left_);
  a_.jz(done, a_.T_NEAR);
  a_.mov(row_, arg(at + offsetof(Segment, src)));
  a_.add(row_, src_);
  a_.mov(row_weights_, arg(at + offsetof(Segment, weights)));
  a_.add(row_weights_, weights_);
  std::vector<RowUse> uses;
  for (int row = first; row <= last; ++row) uses.push_back({row, first - row, false});
  a_.L(next_row);
  EmitRow(uses);
  a_.add(row_, ARG(src_row));
  a_.add(row_weights_, spec_.kw * kTapBytes);
  a_.dec(rows_left_);
  a_.jnz(next_row, a_.T_NEAR);
  a_.L(done);
}

// The tile rolls down the image (rolling.h). Registers that count segments serve the rows.
void ChannelEmitter::EmitRolling() {
  const Reg64 &src_row = weights_rows_, &dst_row = row_weights_;
  a_.mov(src_row, ARG(src_row));
  a_.mov(dst_row, ARG(dst_now));
  a_.mov(row_, src_);
  StartResidualRows();
  if (by_inputs_) LoadHeldWeights(num_weights_);
  Rolling rolling;
  rolling.kh = spec_.kh, rolling.stride = spec_.row_stride, rolling.slots = spec_.rows;
  rolling.row = row_, rolling.row_step = src_row, rolling.counter = rows_left_,
  rolling.scratch = scratch_;
  rolling.counts = offsetof(ChannelArgs, rolling);
  rolling.long_blocks = spec_.blocks == ChannelSpec::kLongBlocks;
  rolling.short_blocks = spec_.blocks == ChannelSpec::kShortBlocks;
  rolling.emit_row = [this](const std::vector<RowUse>& uses) { EmitRow(uses); };
  rolling.finish_row = [this](int row) {
    FinishRow(row);
    if (by_inputs_) ReloadHeldWeights();
  };
  rolling.Emit(a_);
}

void ChannelEmitter::EmitRow(const std::vector<RowUse>& uses) {
  cursor_ = {row_, column_, 0, true};
  EmitPrefetches();
  for (depth_ = 0; depth_ < spec_.vecs(); ++depth_) EmitVectorRow(uses);
  depth_ = 0;
}

void ChannelEmitter::EmitVectorRow(const std::vector<RowUse>& uses) {
  cursor_ = {row_, column_, 0, true};
  std::fill(started_.begin(), started_.end(), false);
  if (by_inputs_) {
    EmitRollingRow(uses);
    return;
  }
  held_.assign(num_inputs_, -1);
  for (int tap = 0; tap < spec_.kw; ++tap) EmitTap(tap, uses);
  for (const RowUse& use : uses) {
    for (int column = 0; use.starts && column < spec_.columns; ++column) {
      if (!started_[column]) a_.Zero(acc(use.slot, column));  // none of its taps lies inside
    }
  }
}

// For what comes after the current vector: nothing but the order of memory tells the machine what a tile
// reads next, since many lines of a tile are walked through side by side.
void ChannelEmitter::EmitPrefetches() {
  if (spec_.prefetch == 0) return;
  const RowCursor row = cursor_;
  const bool next_tile = spec_.prefetch == ChannelSpec::kNextTile;
  const int first = next_tile ? spec_.window() : spec_.skip_first;
  const int count = next_tile ? spec_.columns * spec_.stride : spec_.window() - spec_.skip_last - first;
  const int distance = next_tile ? spec_.ahead * 1024 : spec_.prefetch * kLineBytes;
  for (int column = first; column < first + count; ++column) {
    a_.prefetcht0(a_.ptr[ColumnAt(cursor_, column) + distance]);
  }
  cursor_ = row;
}

bool ChannelEmitter::HasTap(int column, int tap) const {
  if (tap < 0 || tap >= spec_.kw) return false;
  const int at = column * spec_.stride + tap;
  return at >= spec_.skip_first && at < spec_.window() - spec_.skip_last;
}

// One kernel column: its weights once, its inputs from registers where an earlier column has loaded
// them.
void ChannelEmitter::EmitTap(int tap, const std::vector<RowUse>& uses) {
  std::vector<int> columns;
  for (int column = 0; column < spec_.columns; ++column) {
    if (HasTap(column, tap)) columns.push_back(column);
  }
  // First those whose inputs earlier taps have left in registers.
  std::stable_partition(columns.begin(), columns.end(), [&](int column) {
    return std::find(held_.begin(), held_.end(), column * spec_.stride + tap) != held_.end();
  });
  const int in_registers =
      columns.size() > 1 ? std::min<int>(num_weights_, static_cast<int>(uses.size())) : 0;
  const auto weight = [&](int i) {
    return a_.ptr[WeightsAt(uses[i].kernel_row) + (tap * kTapBytes + depth_bytes())];
  };
  for (int i = 0; i < in_registers; ++i) a_.vmovups(temp(num_inputs_ + i), weight(i));
  for (int column : columns) {
    const Xmm x = Input(column * spec_.stride + tap, tap);
    for (int i = 0; i < static_cast<int>(uses.size()); ++i) {
      const Xmm sum = acc(uses[i].slot, column), w = temp(num_inputs_ + i);
      const bool mul = uses[i].starts && !started_[column];
      if (i < in_registers) {
        mul ? a_.vmulps(sum, x, w) : a_.vfmadd231ps(sum, x, w);
      } else {
        mul ? a_.vmulps(sum, x, weight(i)) : a_.vfmadd231ps(sum, x, weight(i));
      }
    }
    started_[column] = true;
  }
}

// The weights of a kernel row: by its number while the tile rolls, else relative to that of the
// segment's first output.
Xbyak::RegExp ChannelEmitter::WeightsAt(int kernel_row) const {
  if (spec_.has(ChannelSpec::kRolling)) return weights_ + kernel_row * spec_.kw * kTapBytes;
  return kernel_row == 0 ? Xbyak::RegExp(row_weights_) : row_weights_ + weights_rows_ * -kernel_row;
}

// The register that holds window column `at`, loaded if it is in none.
Xmm ChannelEmitter::Input(int at, int tap) {
  const auto found = std::find(held_.begin(), held_.end(), at);
  if (found != held_.end()) return temp(static_cast<int>(found - held_.begin()));
  const int victim = VictimFor(at, tap);
  held_[victim] = at;
  LoadInput(temp(victim), at);
  return temp(victim);
}

// The register whose column is needed last, or never again.
int ChannelEmitter::VictimFor(int at, int tap) const {
  int victim = 0, latest = -1;
  for (int i = 0; i < num_inputs_; ++i) {
    const int use = held_[i] < 0 ? spec_.kw * spec_.columns + 1 : NextUse(held_[i], at, tap);
    if (use > latest) victim = i, latest = use;
  }
  return victim;
}

// When window column `held` is used next after column `at` at `tap`, in steps of (tap, output
// column).
int ChannelEmitter::NextUse(int held, int at, int tap) const {
  const int now = tap * spec_.columns + (spec_.stride > 0 ? (at - tap) / spec_.stride : 0);
  for (int later = tap; later < spec_.kw; ++later) {
    const int distance = held - later;
    if (distance < 0) break;
    const int column = spec_.stride > 0 ? distance / spec_.stride : 0;
    if (column * spec_.stride != distance || column >= spec_.columns) continue;
    const int use = later * spec_.columns + column;
    if (use > now && HasTap(column, later)) return use;
  }
  return spec_.kw * spec_.columns;
}

void ChannelEmitter::LoadInput(const Xmm& x, int at) {
  const Address address = a_.ptr[ColumnAt(cursor_, at) + depth_bytes()];
  const bool permuted = spec_.has(ChannelSpec::kPermuted);
  if (spec_.has(ChannelSpec::kMaskedSrc)) {
    a_.LoadTail(x, address, src_mask_);
  } else if (!permuted) {
    a_.vmovups(x, address);
    return;
  }
  if (!permuted) return;
  if (spec_.access == ChannelSpec::kQuarters) {
    // Within halves: does not take the place of an FMA, as vpermps does on AMD.
    a_.vbroadcastf128(Xbyak::Ymm(x.getIdx()), address);
    a_.vpermilps(x, x, permutation_);
    return;
  }
  const bool masked = spec_.has(ChannelSpec::kMaskedSrc);
  const Xbyak::Operand& source = masked ? static_cast<const Xbyak::Operand&>(x) : address;
  if (vec_bytes() == 64) {
    a_.vpermps(Xbyak::Zmm(x.getIdx()), Xbyak::Zmm(permutation_.getIdx()), source);
  } else {
    a_.vpermps(Xbyak::Ymm(x.getIdx()), Xbyak::Ymm(permutation_.getIdx()), source);
  }
}

Xbyak::RegExp ChannelEmitter::ColumnAt(RowCursor& cursor, int column) {
  // The base moves in steps of 8 columns.
  const int base = column <= 8 ? 0 : column / 8 * 8;
  if (base > 0 && (cursor.at_start || cursor.column != base)) {
    if (cursor.at_start || cursor.column > base) {
      a_.lea(cursor.base, a_.ptr[cursor.start + by_1_ * 8]);
      cursor.column = 8;
      cursor.at_start = false;
    }
    for (; cursor.column < base; cursor.column += 8) {
      a_.lea(cursor.base, a_.ptr[cursor.base + by_1_ * 8]);
    }
  }
  const Reg64& from = base > 0 ? cursor.base : cursor.start;
  switch (column - base) {
    case 0:
      return from;
    case 1:
    case 2:
    case 4:
    case 8:
      return from + by_1_ * (column - base);
    case 3:
      return from + by_3_;
    case 6:
      return from + by_3_ * 2;
    case 5:
      return from + by_5_;
    default:
      return from + by_7_;
  }
}

// Residuals follow the outputs from row to row.
void ChannelEmitter::StartResidualRows() {
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    if (static_cast<PostOpKind>(ops & 0xff) != PostOpKind::kResidualAdd) continue;
    const size_t at = op * sizeof(float*);
    a_.mov(scratch_, arg(offsetof(ChannelArgs, residual_now) + at));
    a_.mov(arg(offsetof(ChannelArgs, residual_row_now) + at), scratch_);
  }
}

void ChannelEmitter::Advance(size_t pointer, size_t step) {
  a_.mov(scratch_, arg(step));
  a_.add(arg(pointer), scratch_);
}

// The next vector lies behind this one; behind a block of 16 channels the distances of the layout
// come on top.
void ChannelEmitter::NextVector() {
  Label same_block;
  const int bytes = spec_.vecs() * vec_bytes();
  a_.add(src_, ARG(src_vec));
  a_.add(weights_, bytes);
  Advance(offsetof(ChannelArgs, dst_now), offsetof(ChannelArgs, dst_vec));
  if (spec_.has(ChannelSpec::kPermuted))
    a_.add(ARG(lanes_now), static_cast<int>(sizeof(LaneSource)));
  std::vector<size_t> residuals;
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    const size_t at = op * sizeof(float*);
    const auto kind = static_cast<PostOpKind>(ops & 0xff);
    if (kind == PostOpKind::kChannelScale)
      a_.add(arg(offsetof(ChannelArgs, scale_now) + at), bytes);
    if (kind != PostOpKind::kResidualAdd) continue;
    Advance(offsetof(ChannelArgs, residual_now) + at, offsetof(ChannelArgs, residual_vec) + at);
    residuals.push_back(at);
  }
  if (bytes < kTapBytes) {
    a_.xor_(half_.cvt32(), 1);
    a_.jnz(same_block, a_.T_NEAR);
  }
  a_.add(src_, ARG(src_block));
  a_.add(weights_, ARG(weights_block));
  Advance(offsetof(ChannelArgs, dst_now), offsetof(ChannelArgs, dst_block));
  for (size_t at : residuals) {
    Advance(offsetof(ChannelArgs, residual_now) + at, offsetof(ChannelArgs, residual_block) + at);
  }
  a_.L(same_block);
}

void ChannelEmitter::NextTile() {
  Advance(offsetof(ChannelArgs, src), offsetof(ChannelArgs, src_tile));
  Advance(offsetof(ChannelArgs, dst), offsetof(ChannelArgs, dst_tile));
  int op = 0;
  for (uint64_t ops = spec_.post_ops; ops != 0; ops >>= 8, ++op) {
    if (static_cast<PostOpKind>(ops & 0xff) != PostOpKind::kResidualAdd) continue;
    const size_t at = op * sizeof(int64_t);
    Advance(offsetof(ChannelArgs, residual) + at, offsetof(ChannelArgs, residual_tile) + at);
  }
}

#undef ARG

}  // namespace rafter::depthwise
