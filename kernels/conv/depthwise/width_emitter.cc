// kernels/conv/depthwise/width_emitter.cc: loops over channels, tiles and rows; taps; and the end
// of an output row.
#include "kernels/conv/depthwise/width_emitter.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/post_op_emitter.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {


using jit::Address;
using jit::Label;
using jit::Reg64;
using jit::Xmm;

#define ARG(field) arg(offsetof(WidthArgs, field))

namespace {

// "_4v", "_3v7+0t": vectors, masked taps of an edge, a part of a vector at the end.
std::string RunName(const WidthRunSpec& run) {
  std::string name = "_" + std::to_string(run.vecs) + "v";
  if ((run.flags & WidthSpec::kEdge) != 0) {
    name += std::to_string(run.first_taps) + "+" + std::to_string(run.last_taps);
  }
  return (run.flags & WidthSpec::kPartial) != 0 ? name + "t" : name;
}

}  // namespace

std::string WidthKernelName(const WidthSpec& spec) {
  std::string name = std::string("dw_w_f32_") + IsaName(spec.isa) + "_k" + std::to_string(spec.kh) +
                     "x" + std::to_string(spec.kw) + "s" + std::to_string(spec.row_stride) +
                     (spec.has(WidthSpec::kStride2) ? "x2_" : "x1_") + std::to_string(spec.vecs) +
                     "v";
  if (spec.band_runs > 0) name += "_" + std::to_string(spec.rows) + "rows";
  for (int i = 0; i < spec.band_runs; ++i) name += RunName(spec.runs[i]);
  if (spec.has(WidthSpec::kFarAhead)) name += "_far";
  if (spec.has(WidthSpec::kWholeRow)) name += "_row";
  if (spec.plane_rows > 0) {
    name += "_" + std::to_string(spec.first_row) + "+" + std::to_string(spec.plane_rows) + "+" +
            std::to_string(spec.last_rows) + (spec.has(WidthSpec::kPhases) ? "rows_phases" : "rows");
  }
  if (spec.has(WidthSpec::kDilated)) name += "_dilated";
  if (spec.has(WidthSpec::kEdge)) {
    name += "_edge" + std::to_string(spec.first_taps) + "+" + std::to_string(spec.last_taps);
  }
  if (spec.has(WidthSpec::kPartial)) name += spec.has(WidthSpec::kSpills) ? "_spill" : "_tail";
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

WidthEmitter::WidthEmitter(jit::Assembler& a, const WidthSpec& spec)
    : a_(a),
      spec_(spec),
      most_rows_(spec.rows),
      most_vecs_(spec.vecs),
      registers_(ChooseWidthRegisters(a.isa().num_vecs, ShapeOf(spec))),
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
      scratch_(pool_.Take()),
      careful_(pool_.Take()),
      last_row_(pool_.Take()) {
  if (!registers_.fits) throw std::length_error("the tile has more accumulators than registers");
  ListHeldMasks();
}

void WidthEmitter::Emit() {
  Label next_channel, next_tile;
  a_.EnterKernel();
  a_.mov(weights_, ARG(weights));
  a_.mov(channels_left_, ARG(channels));
  a_.mov(src_row_, ARG(src_row));
  a_.mov(tap_step_, ARG(tap_step));
  if (spec_.has(WidthSpec::kFarAhead)) a_.mov(tap_, ARG(ahead));
  if (spec_.has(WidthSpec::kEdge)) {  // of bands each run has its own
    a_.mov(vec_step_, ARG(vec_step));
    a_.mov(masks_, ARG(masks));
  }
  const auto copy = [&](size_t from, size_t to) {
    a_.mov(scratch_, arg(from));
    a_.mov(arg(to), scratch_);
  };
  FindCareful();
  LoadHeldMasks();
  a_.L(next_channel);
  LoadHeldWeights(registers_.held);
  if (registers_.all() && MayBeCareful() && spec_.band_runs == 0) IfCareful([this] { MaskHeldWeights(); }, [] {});
  ForEachResidual([&](size_t at) {
    copy(offsetof(WidthArgs, residual) + at, offsetof(WidthArgs, residual_now) + at);
  });
  if (spec_.band_runs > 0) {
    EmitBands();
  } else if (spec_.plane_rows > 0 && !spec_.has(WidthSpec::kPhases)) {
    EmitTile();
  } else {
    copy(offsetof(WidthArgs, src), offsetof(WidthArgs, src_now));
    copy(offsetof(WidthArgs, dst), offsetof(WidthArgs, dst_now));
    copy(offsetof(WidthArgs, tiles), offsetof(WidthArgs, tiles_left));
    a_.L(next_tile);
    EmitTile();
    NextTile();
    a_.dec(ARG(tiles_left));
    a_.jnz(next_tile, a_.T_NEAR);
  }
  NextChannel();
  a_.dec(channels_left_);
  a_.jnz(next_channel, a_.T_NEAR);
  a_.LeaveKernel();
  EmitAsides();
  a_.EmitConstants();
}

void WidthEmitter::EmitTile() {
  const bool plane = spec_.plane_rows > 0, only = plane && !spec_.has(WidthSpec::kPhases);
  a_.mov(row_, only ? ARG(src) : ARG(src_now));
  a_.mov(dst_row_, only ? ARG(dst) : ARG(dst_now));
  if (spec_.has(WidthSpec::kSpills) && !plane) {
    a_.mov(last_row_, ARG(last_row));
    a_.add(last_row_, dst_row_);
  }
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
  if (plane) return EmitPlane(rolling);
  for (int i = 0; i < spec_.rows * spec_.vecs; ++i) a_.Zero(a_.vec(i));
  rolling.Emit(a_);
}

void WidthEmitter::EmitPlane(const Rolling& rolling) {
  a_.mov(rows_left_, ARG(dst_row));
  const auto rows = [this, rolling](bool careful) {
    plane_is_careful_ = careful;
    rows_to_finish_ = spec_.plane_rows;
    rolling.EmitPlane(a_, spec_.first_row, spec_.plane_rows, spec_.last_rows);
  };
  if (!MayBeCareful()) return rows(false);
  IfCareful([rows] { rows(true); }, [rows] { rows(false); });
}

void WidthEmitter::EmitRow(const std::vector<RowUse>& uses) {
  EmitPrefetches();
  EmitTaps(uses);
}

// A few rows ahead, behind the last row those of the next channel: going down the plane, a tile leaves
// every line after a few vectors, which tells the machine little. In whole planes only loads with masks need it: they
// tell the machine nothing.
void WidthEmitter::EmitPrefetches() {
  if (spec_.plane_rows > 0) {
    const bool all_masked = spec_.vecs == 1 && std::popcount(spec_.first_taps) == spec_.kw;
    if (all_masked) a_.prefetcht0(a_.ptr[row_ + kPlanePrefetchBytes]);
    return;
  }
  if (spec_.has(WidthSpec::kWholeRow)) return;
  const int bytes = tile_bytes();
  if (spec_.has(WidthSpec::kFarAhead)) {
    for (int at = 0; at < bytes; at += kLineBytes) {
      a_.prefetcht0(a_.ptr[row_ + tap_ + at]);
    }
    return;
  }
  for (int at = 0; at < bytes + kLineBytes; at += kLineBytes) {
    a_.prefetcht0(a_.ptr[row_ + src_row_ * kRowsAhead + std::min(at, bytes)]);
  }
}

Xbyak::RegExp WidthEmitter::VecAt(const Xbyak::RegExp& base, int vec, int factor) const {
  if (spec_.has(WidthSpec::kEdge) && vec > 0 && vec + 1 == spec_.vecs)
    return base + vec_step_ * factor;
  return base + factor * vec * vec_bytes();
}

void WidthEmitter::FinishRow(int slot) {
  for (int vec = 0; spec_.has(WidthSpec::kStride2) && vec < spec_.vecs; ++vec)
    a_.OrderEvenLanes(acc(slot, vec));
  AddBias(slot);
  ApplyPostOps(slot);
  Store(slot);
  if (spec_.post_ops != 0 && spec_.band_runs == 0) LoadHeldWeights(std::min(registers_.held, jit::kPostOpTemps));
  if (spec_.is_lines()) {
    a_.add(dst_row_, spec_.vecs * vec_bytes());
    return ForEachResidual([&](size_t at) {
      a_.add(arg(offsetof(WidthArgs, residual_row_now) + at), spec_.vecs * vec_bytes());
    });
  }
  spec_.plane_rows > 0 ? a_.add(dst_row_, rows_left_) : a_.add(dst_row_, ARG(dst_row));
  ForEachResidual([&](size_t at) {
    Advance(offsetof(WidthArgs, residual_row_now) + at, offsetof(WidthArgs, residual_row) + at);
  });
}

void WidthEmitter::AddBias(int slot) {
  a_.vbroadcastss(input(0), a_.dword[weights_ - kTapBytes]);
  for (int vec = 0; vec < spec_.vecs; ++vec) a_.vaddps(acc(slot, vec), acc(slot, vec), input(0));
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
  const int last = spec_.vecs - 1;
  for (int vec = 0; vec <= last - partial; ++vec) a_.vmovups(a_.ptr[VecAt(dst_row_, vec)], acc(slot, vec));
  if (!partial) return;
  const bool plane = spec_.plane_rows > 0, last_row = plane && --rows_to_finish_ == 0;
  if (!spec_.has(WidthSpec::kSpills) || last_row) return StorePartial(slot);
  if (plane) return a_.vmovups(a_.ptr[VecAt(dst_row_, last)], acc(slot, last));
  a_.cmp(dst_row_, last_row_);
  Aside& aside = asides_.emplace_back();
  aside.spec = spec_, aside.emit = [this, slot] { StorePartial(slot); };
  a_.je(aside.enter, a_.T_NEAR);
  a_.vmovups(a_.ptr[VecAt(dst_row_, last)], acc(slot, last));
  a_.L(aside.leave);
}

void WidthEmitter::StorePartial(int slot) {
  a_.mov(scratch_, ARG(last_mask));
  a_.LoadTailMask(a_.ptr[scratch_], input(0));
  a_.mov(scratch_, dst_row_);
  if (spec_.vecs > 1) a_.add(scratch_, vec_step_);
  a_.mov(lanes_, ARG(last_lanes));
  a_.StoreFirstLanes(scratch_, acc(slot, spec_.vecs - 1), lanes_);
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
