// kernels/conv/strip/emitter.cc: the loops of the sum, outermost first. The end of a strip: finish_emitter.cc.
#include "kernels/conv/strip/emitter.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "kernels/conv/strip/piece.h"
#include "kernels/sizes.h"

namespace rafter::strip {

#define ARG(field) arg(offsetof(StripArgs, field))

namespace {

constexpr const char* kFeedNames[] = {"broadcast1", "broadcast2", "vector", "in_lane", "permute", "blend"};

}  // namespace

std::string KernelName(const StripSpec& spec) {
  std::string name = std::string("strip_f32_") + IsaName(spec.isa) + "_px" + std::to_string(spec.px) +
                     "_" + kFeedNames[static_cast<int>(spec.feed)] + std::to_string(spec.vecs);
  if (HoldsGroups(spec.feed)) {
    name += "_g" + std::to_string(spec.groups) + "x" + std::to_string(spec.ic);
  }
  name += "_oc" + std::to_string(spec.channels) + "_k" + std::to_string(spec.columns);
  if (spec.stride != 1) name += "s" + std::to_string(spec.stride);
  if (spec.dilation != 1) name += "d" + std::to_string(spec.dilation);
  if (spec.rest != 0) name += "_rest" + std::to_string(spec.rest);
  if (spec.skip_first + spec.skip_last > 0) {
    name += "_skip" + std::to_string(spec.skip_first) + "+" + std::to_string(spec.skip_last);
  }
  return name + jit::PostOpSuffix(spec.post_ops);
}

Result<jit::KernelPtr> GetStripKernel(const StripSpec& spec) {
  return jit::GetOrCompile("strip", spec, [](const StripSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { StripEmitter(s, a).Emit(); });
  });
}

StripEmitter::StripEmitter(const StripSpec& spec, jit::Assembler& assembler)
    : spec_(spec),
      a_(assembler),
      results_(MapResults({spec.feed, spec.px, spec.vecs, static_cast<int>(spec.channels),
                           assembler.isa().vec_lanes()})),
      args_(a_.rdi),
      src_row_(pool_.Take()),
      src_column_(pool_.Take()),
      src_(pool_.Take()),
      weights_row_(pool_.Take()),
      weights_(pool_.Take()),
      rows_left_(pool_.Take()),
      columns_left_(pool_.Take()),
      chunks_left_(pool_.Take()),
      scratch_(pool_.Take()),
      more_scratch_(pool_.Take()),
      prefetch_(pool_.Take()) {
  if (num_accs() + jit::kPostOpTemps > a_.isa().num_vecs) {
    throw std::length_error("the strip has more accumulators than registers");
  }
}

void StripEmitter::Emit() {
  Label next_strip, finish;
  a_.EnterKernel();
  if (spec_.feed == Feed::kBlend) {
    const int channels = static_cast<int>(spec_.channels) / spec_.groups;
    for (int g = 1; g < spec_.groups; ++g) a_.PrepareLanes(g - 1, g * channels, channels, scratch_);
  }
  a_.L(next_strip);
  for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
  a_.mov(rows_left_, ARG(rows));
  a_.test(rows_left_, rows_left_);
  a_.jz(finish, a_.T_NEAR);
  EmitRows();
  a_.L(finish);
  FinishStrip();
  a_.dec(ARG(strips));
  a_.jnz(next_strip, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

void StripEmitter::EmitRows() {
  Label next_row, next_column;
  a_.mov(src_row_, ARG(src));
  a_.mov(weights_row_, ARG(weights));
  if (spec_.prefetch > 0) StartPrefetch();
  a_.L(next_row);
  a_.mov(src_column_, src_row_);
  a_.mov(weights_, weights_row_);
  a_.mov(columns_left_, ARG(column_groups));
  a_.L(next_column);
  a_.mov(src_, src_column_);
  EmitSteps();
  a_.add(src_column_, ARG(src_column_step));
  a_.dec(columns_left_);
  a_.jnz(next_column, a_.T_NEAR);
  a_.add(src_row_, ARG(src_row_step));
  a_.add(weights_row_, ARG(weights_row_step));
  a_.dec(rows_left_);
  a_.jnz(next_row, a_.T_NEAR);
}

void StripEmitter::StartPrefetch() {
  a_.mov(prefetch_, ARG(prefetch_offset));
  a_.add(prefetch_, src_row_);
  if (spec_.prefetch != kPrefetchUnits) return;  // in the steps
  int64_t last = -kLineBytes;
  for (int64_t position = 0; position <= Position(spec_.px - 1, spec_.columns - 1); ++position) {
    const int64_t at = position * spec_.src_px;
    if (at - last < kLineBytes) continue;
    a_.prefetcht0(a_.ptr[prefetch_ + static_cast<int>(at)]);
    last = at;
  }
  a_.mov(scratch_, ARG(dst));
  a_.add(scratch_, ARG(dst_prefetch_offset));
  for (int p = 0; p < spec_.px; ++p) {
    a_.prefetchw(a_.ptr[scratch_ + static_cast<int>(p * spec_.dst_px)]);
  }
}

// All input channels of the current columns.
void StripEmitter::EmitSteps() {
  const int weights_bytes = spec_.columns * spec_.vecs * a_.isa().vec_bytes;
  if (HoldsGroups(spec_.feed)) {
    for (int step = 0; step < spec_.ic; ++step) EmitStep(step, false);
    a_.add(weights_, spec_.ic * weights_bytes);
    return;
  }
  Label next, done;
  a_.mov(chunks_left_, ARG(chunks));
  a_.test(chunks_left_, chunks_left_);
  a_.jz(done, a_.T_NEAR);
  a_.L(next);
  if (spec_.prefetch > 0 && spec_.prefetch != kPrefetchUnits) {
    for (int i = 0; i < spec_.prefetch; ++i) a_.prefetcht0(a_.ptr[prefetch_ + i * kLineBytes]);
    a_.add(prefetch_, ARG(prefetch_step));
  }
  EmitStep(0, false);
  a_.add(src_, ChannelsPerStep(spec_.feed, lanes()) * kFloat);
  a_.add(weights_, weights_bytes);
  a_.dec(chunks_left_);
  a_.jnz(next, a_.T_NEAR);
  a_.L(done);
  if (spec_.rest == 0) return;
  EmitStep(0, true);
  a_.add(weights_, weights_bytes);
}

StripEmitter::StepRegs StripEmitter::TakeStepRegs(int step, bool is_rest) {
  StepRegs regs;
  int next = num_accs();
  regs.input = a_.vec(next++);
  if (spec_.feed == Feed::kBlend) regs.other = a_.vec(next++);
  if (spec_.feed == Feed::kPermute) {
    regs.index = a_.vec(next++);
    const int channels = static_cast<int>(spec_.channels) / spec_.groups;
    std::vector<uint32_t> index;
    for (int lane = 0; lane < lanes(); ++lane) {
      const int group = std::min(lane / channels, spec_.groups - 1);
      index.push_back(static_cast<uint32_t>(group * spec_.ic + step));
    }
    a_.vmovups(regs.index, a_.constant_lanes(std::move(index)));
  }
  const bool masked = spec_.feed == Feed::kVector ? is_rest
                                                  : spec_.feed != Feed::kBlend && LoadsPart();
  if (masked) {
    regs.mask = a_.vec(next++);
    a_.mov(scratch_, ARG(rest_mask));
    a_.LoadTailMask(a_.ptr[scratch_], regs.mask);
  }
  regs.first_free = next, regs.count_free = a_.isa().num_vecs - next;
  return regs;
}

void StripEmitter::EmitStep(int step, bool is_rest) {
  const StepRegs regs = TakeStepRegs(step, is_rest);
  if (spec_.vecs == 1) {
    EmitSharedColumns(step, is_rest, regs);
    return;
  }
  for (int column = 0; column < spec_.columns; ++column) EmitColumn(column, step, is_rest, regs);
}

void StripEmitter::EmitSharedColumns(int step, bool is_rest, const StepRegs& regs) {
  const auto weight = [&](int i) { return a_.vec(regs.first_free + i); };
  if (regs.count_free < 1) throw std::length_error("no register is left for weights");
  for (int first = 0; first < spec_.columns; first += regs.count_free) {
    const int count = std::min<int>(spec_.columns - first, regs.count_free);
    // Who uses the input at each position, in order of the columns.
    std::map<int64_t, std::vector<std::pair<int, int>>> users;
    for (int i = 0; i < count; ++i) {
      bool used = false;
      for (int p = 0; p < spec_.px; ++p) {
        if (!Reaches(p, first + i)) continue;
        used = true;
        users[Position(p, first + i)].push_back({p, i});
      }
      if (used) a_.vmovups(weight(i), WeightsAt(step, first + i, 0));
    }
    for (const auto& [position, pairs] : users) {
      EmitFeed(regs.input, position, step, is_rest, regs);
      for (const auto& [p, i] : pairs) a_.vfmadd231ps(acc(p, 0), regs.input, weight(i));
    }
  }
}

void StripEmitter::EmitColumn(int column, int step, bool is_rest, const StepRegs& regs) {
  const int vecs = spec_.vecs;
  const auto free = [&](int i) { return a_.vec(regs.first_free + i); };
  std::vector<int> pixels;
  for (int p = 0; p < spec_.px; ++p) {
    if (Reaches(p, column)) pixels.push_back(p);
  }
  if (pixels.empty()) return;
  const int count = static_cast<int>(pixels.size());
  if (count > 1 && vecs <= count && vecs <= regs.count_free) {
    for (int v = 0; v < vecs; ++v) a_.vmovups(free(v), WeightsAt(step, column, v));
    for (const int p : pixels) {
      EmitFeed(regs.input, Position(p, column), step, is_rest, regs);
      for (int v = 0; v < vecs; ++v) a_.vfmadd231ps(acc(p, v), regs.input, free(v));
    }
  } else if (count > 1 && count <= regs.count_free) {
    for (int i = 0; i < count; ++i) {
      EmitFeed(free(i), Position(pixels[i], column), step, is_rest, regs);
    }
    for (int v = 0; v < vecs; ++v) {
      a_.vmovups(regs.input, WeightsAt(step, column, v));
      for (int i = 0; i < count; ++i) a_.vfmadd231ps(acc(pixels[i], v), free(i), regs.input);
    }
  } else {
    for (const int p : pixels) {
      EmitFeed(regs.input, Position(p, column), step, is_rest, regs);
      for (int v = 0; v < vecs; ++v) {
        a_.vfmadd231ps(acc(p, v), regs.input, WeightsAt(step, column, v));
      }
    }
  }
}

void StripEmitter::EmitFeed(const Xmm& to, int64_t position, int step, bool is_rest,
                            const StepRegs& regs) {
  const Xbyak::RegExp at = src_ + static_cast<int>(position * spec_.src_px);
  switch (spec_.feed) {
    case Feed::kBroadcast1: a_.vbroadcastss(to, a_.dword[at]); return;
    case Feed::kBroadcast2:
      if (is_rest) {  // the other channel's lanes are zero, as are its weights
        a_.vmovss(Xmm(to.getIdx()), a_.dword[at]);
        a_.BroadcastPairs(to, Xmm(to.getIdx()));
      } else {
        a_.BroadcastPairs(to, a_.qword[at]);
      }
      return;
    case Feed::kVector:
      if (is_rest) {
        a_.LoadTail(to, a_.ptr[at], regs.mask);
      } else {
        a_.vmovups(to, a_.ptr[at]);
      }
      return;
    case Feed::kInLane:
    case Feed::kPermute: {
      if (LoadsPart()) a_.LoadTail(to, a_.ptr[at], regs.mask);
      const Address memory = a_.ptr[at];
      const Xbyak::Operand& from = LoadsPart() ? static_cast<const Xbyak::Operand&>(to) : memory;
      if (spec_.feed == Feed::kPermute) {
        a_.PermuteLanes(to, regs.index, from);
      } else if (step >= 2) {
        int order = 0;
        for (int lane = 0; lane < 4; ++lane) order |= InLaneInput(4, step, lane) << (2 * lane);
        a_.vpermilps(to, from, static_cast<uint8_t>(order));
      } else if (step == 0) {
        a_.vmovsldup(to, from);
      } else {
        a_.vmovshdup(to, from);
      }
      return;
    }
    case Feed::kBlend: {
      const int channels = static_cast<int>(spec_.channels) / spec_.groups;
      a_.vbroadcastss(to, a_.dword[at + step * kFloat]);
      for (int g = 1; g < spec_.groups; ++g) {
        a_.BroadcastIntoLanes(to, at + (g * spec_.ic + step) * kFloat, g - 1, g * channels, channels,
                              regs.other);
      }
      return;
    }
  }
}

bool StripEmitter::Reaches(int p, int column) const {
  const int64_t position = Position(p, column);
  const int64_t end = Position(spec_.px - 1, spec_.columns - 1) + 1 - spec_.skip_last;
  return position >= spec_.skip_first && position < end;
}

StripEmitter::Address StripEmitter::WeightsAt(int step, int column, int v) const {
  return a_.ptr[weights_ +
                ((step * spec_.columns + column) * spec_.vecs + v) * a_.isa().vec_bytes];
}

#undef ARG

}  // namespace rafter::strip
