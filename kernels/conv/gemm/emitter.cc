// kernels/conv/gemm/emitter.cc
#include "kernels/conv/gemm/emitter.h"

#include <utility>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

#define ARG(field) arg(offsetof(GemmArgs, field))

std::string KernelName(const GemmSpec& spec) {
  std::string name = std::string("gemm_f32_") + IsaName(spec.isa) + "_" + std::to_string(spec.vecs) + "v_oc" +
                     std::to_string(spec.ocs);
  for (const auto& [flag, text] : {std::pair{GemmSpec::kCareful, "_careful"},
                                   {GemmSpec::kInPlace, "_in_place"},
                                   {GemmSpec::kStaged, "_staged"},
                                   {GemmSpec::kTail, "_tail"},
                                   {GemmSpec::kPartial, "_passes"}}) {
    if (spec.has(flag)) name += text;
  }
  return name + jit::PostOpSuffix(spec.post_ops);
}

Result<jit::KernelPtr> GetGemmKernel(const GemmSpec& spec) {
  return jit::GetOrCompile("gemm", spec, [](const GemmSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { GemmEmitter(s, a).Emit(); });
  });
}

GemmEmitter::GemmEmitter(const GemmSpec& spec, jit::Assembler& assembler)
    : spec_(spec),
      a_(assembler),
      args_(a_.rdi),
      src_(pool_.Take()),
      weights_(pool_.Take()),
      steps_left_(pool_.Take()),
      scratch_(pool_.Take()),
      channel_(pool_.Take()),
      channel_step_(pool_.Take()) {
  for (Reg64& steps : panel_steps_) steps = pool_.Take();
  if (spec.has(GemmSpec::kCareful)) line_ = pool_.Take(), masks_ = pool_.Take();
  if (reads_planes()) plane_ = pool_.Take(), plane_step_ = pool_.Take();
  if (spec.has(GemmSpec::kInPlace)) plane_ahead_ = pool_.Take();
  if (spec.copies > 0) copies_left_ = pool_.Take(), copy_ahead_ = pool_.Take();
  if (num_accs() + jit::kPostOpTemps > a_.isa().num_vecs || spec.vecs > kMaxVecs || num_panels() > kMaxPanels) {
    throw std::length_error("the tile has more accumulators than registers");
  }
}

void GemmEmitter::Emit() {
  Label next_tile;
  a_.EnterKernel();
  LoadPanelSteps();
  a_.L(next_tile);
  PrefetchOutput();
  StartSums();
  EmitTaps();
  FinishTile();
  a_.dec(ARG(repeats));
  a_.jnz(next_tile, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

void GemmEmitter::LoadPanelSteps() {
  if (num_panels() > 1) a_.mov(panel_steps_[0], ARG(weights_panel));
  if (num_panels() > 3) a_.lea(panel_steps_[1], a_.ptr[panel_steps_[0] + panel_steps_[0] * 2]);
  if (num_panels() > 5) a_.lea(panel_steps_[2], a_.ptr[panel_steps_[0] + panel_steps_[0] * 4]);
}

// The lines that this tile, or a later one, will write, and those of residuals there: each channel's lie in a page of
// their own.
void GemmEmitter::PrefetchOutput() {
  const int last = spec_.vecs * a_.isa().vec_bytes - 1;
  if (!spec_.has(GemmSpec::kStaged)) {
    PrefetchChannels(offsetof(GemmArgs, dst), offsetof(GemmArgs, dst_channel), [&] {
      a_.prefetchw(a_.ptr[channel_]);
      a_.prefetchw(a_.ptr[channel_ + last]);
    });
  }
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    if (kind != PostOpKind::kResidualAdd) return;
    const size_t at = static_cast<size_t>(op) * sizeof(int64_t);
    PrefetchChannels(offsetof(GemmArgs, residual) + at, offsetof(GemmArgs, residual_channel) + at, [&] {
      a_.prefetcht0(a_.ptr[channel_]);
      a_.prefetcht0(a_.ptr[channel_ + last]);
    });
  });
}

template <typename Fetch>
void GemmEmitter::PrefetchChannels(size_t tensor, size_t channel_step, const Fetch& fetch) {
  a_.mov(channel_, arg(tensor));
  a_.mov(channel_step_, arg(channel_step));
  a_.add(channel_, ARG(dst_ahead));
  for (int o = 0; o < spec_.ocs; ++o) {
    if (o > 0) a_.add(channel_, channel_step_);
    fetch();
  }
}

// Lines of the next segment go to its stage while sums are computed, a few at a time: bursts would wait for the memory,
// and prefetches of a burst are dropped where too many are under way.
void GemmEmitter::StartCopies() {
  a_.mov(copy_from(), ARG(copy_from));
  a_.mov(copy_to(), ARG(copy_to));
  a_.mov(run_left(), ARG(copy_left));
  a_.mov(copies_left_, ARG(copy_passes));
  a_.mov(copy_ahead_, ARG(copy_ahead));
}

void GemmEmitter::EmitCopies() {
  Label none;
  a_.dec(copies_left_);
  a_.js(none, a_.T_NEAR);
  for (int i = 0; i < spec_.copies; ++i) {
    Label same_run;
    a_.prefetcht0(a_.ptr[copy_from() + copy_ahead_]);
    for (int at = 0; at < kLineBytes; at += a_.isa().vec_bytes) {
      a_.vmovups(weight(), a_.ptr[copy_from() + at]);
      a_.vmovups(a_.ptr[copy_to() + at], weight());
    }
    a_.add(copy_from(), static_cast<int>(kLineBytes));
    a_.add(copy_to(), static_cast<int>(kLineBytes));
    a_.dec(run_left());
    a_.jnz(same_run);
    a_.add(copy_from(), ARG(copy_from_step));
    a_.add(copy_to(), ARG(copy_to_step));
    a_.mov(run_left(), ARG(copy_run));
    a_.L(same_run);
  }
  a_.L(none);
}

void GemmEmitter::EndCopies() {
  a_.mov(ARG(copy_from), copy_from());
  a_.mov(ARG(copy_to), copy_to());
  a_.mov(ARG(copy_left), run_left());
}

void GemmEmitter::StartSums() {
  Label from_zero, done;
  if (spec_.has(GemmSpec::kPartial)) {
    a_.cmp(ARG(load_partial), 0);
    a_.jz(from_zero, a_.T_NEAR);
    a_.mov(scratch_, ARG(partial));
    for (int i = 0; i < num_accs(); ++i) a_.vmovups(a_.vec(i), a_.ptr[scratch_ + i * a_.isa().vec_bytes]);
    a_.jmp(done, a_.T_NEAR);
    a_.L(from_zero);
  }
  for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
  a_.L(done);
}

GemmEmitter::Address GemmEmitter::weight_addr(int o, int k) const {
  const int displacement = (k * kPanelChannels + o % kPanelChannels) * kFloat;
  switch (o / kPanelChannels) {
    case 0: return a_.dword[weights_ + displacement];
    case 1: return a_.dword[weights_ + panel_steps_[0] + displacement];
    case 2: return a_.dword[weights_ + panel_steps_[0] * 2 + displacement];
    case 3: return a_.dword[weights_ + panel_steps_[1] + displacement];
    case 4: return a_.dword[weights_ + panel_steps_[0] * 4 + displacement];
    default: return a_.dword[weights_ + panel_steps_[2] + displacement];
  }
}

// acc(v, o) += X[k][v] * weights[o][k] over the k of the pass, in their order.
void GemmEmitter::EmitTaps() {
  const bool careful = spec_.has(GemmSpec::kCareful);
  const auto loop = [&](const Address& count, int unroll) {
    Label next, done;
    a_.mov(steps_left_, count);
    a_.test(steps_left_, steps_left_);
    a_.jz(done, a_.T_NEAR);
    a_.L(next);
    for (int k = 0; k < unroll; ++k) {
      if (careful) {
        EmitCarefulTap();
      } else {
        EmitTap(k);
      }
    }
    if (unroll > 1 && spec_.copies > 0) EmitCopies();
    if (!careful && !spec_.has(GemmSpec::kStaged)) a_.add(src_, unroll * spec_.vecs * a_.isa().vec_bytes);
    a_.add(weights_, unroll * kPanelChannels * kFloat);
    a_.dec(steps_left_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  };
  a_.mov(src_, ARG(src));
  a_.mov(weights_, ARG(weights));
  if (careful) a_.mov(line_, ARG(line)), a_.mov(masks_, ARG(mask_offset));
  if (spec_.has(GemmSpec::kInPlace)) a_.mov(plane_ahead_, ARG(plane_ahead));
  if (reads_planes()) {
    a_.mov(plane_, ARG(plane)), a_.mov(plane_step_, ARG(plane_step));
    if (spec_.has(GemmSpec::kTail)) a_.mov(scratch_, ARG(tail_mask));
  }
  if (spec_.copies > 0) StartCopies();
  loop(ARG(steps), static_cast<int>(spec_.unroll));
  if (spec_.copies > 0) EndCopies();
  if (spec_.unroll > 1) loop(ARG(rest), 1);
}

// From the panel; or from the planes, and into the panel; or from the stage.
void GemmEmitter::LoadInputs(int k) {
  const bool in_place = spec_.has(GemmSpec::kInPlace);
  if (in_place) {
    a_.prefetcht0(a_.ptr[plane_ + plane_ahead_]);
    a_.prefetcht0(a_.ptr[plane_ + plane_ahead_ + (spec_.vecs * a_.isa().vec_bytes - 1)]);
  }
  for (int v = 0; v < spec_.vecs; ++v) {
    const Address in_panel = a_.ptr[src_ + (k * spec_.vecs + v) * a_.isa().vec_bytes];
    if (!reads_planes()) {
      a_.vmovups(input(v), in_panel);
      continue;
    }
    const Address in_plane = a_.ptr[plane_ + v * a_.isa().vec_bytes];
    if (IsTail(v)) {  // the plane may end behind the last pixel
      a_.LoadTailMask(a_.ptr[scratch_], input(v));
      a_.LoadTail(input(v), in_plane, input(v));
    } else {
      a_.vmovups(input(v), in_plane);
    }
    if (in_place) a_.vmovups(in_panel, input(v));
  }
  if (reads_planes()) a_.add(plane_, plane_step_);
}

void GemmEmitter::EmitTap(int k) {
  LoadInputs(k);
  for (int o = 0; o < spec_.ocs; ++o) {
    a_.vbroadcastss(weight(), weight_addr(o, k));
    for (int v = 0; v < spec_.vecs; ++v) a_.vfmadd231ps(acc(v, o), input(v), weight());
  }
}

// The sum changes in the lanes whose tap is inside only: their new bits replace the old ones.
void GemmEmitter::EmitCarefulTap() {
  const Xmm &sum = temp(1), &mask = temp(2);
  a_.vbroadcastss(temp(3), weight_addr(0, 0));
  a_.vmovups(mask, a_.ptr[src_ + masks_]);
  a_.vmovaps(sum, acc(0, 0));
  a_.vfmadd231ps(sum, temp(3), a_.ptr[src_]);
  a_.vxorps(sum, sum, acc(0, 0));
  a_.vandps(sum, sum, mask);
  a_.vxorps(acc(0, 0), acc(0, 0), sum);
  a_.add(src_, line_);
}

void GemmEmitter::FinishTile() {
  Label finish, next;
  if (spec_.has(GemmSpec::kPartial)) {
    a_.cmp(ARG(store_partial), 0);
    a_.jz(finish, a_.T_NEAR);
    a_.mov(scratch_, ARG(partial));
    for (int i = 0; i < num_accs(); ++i) a_.vmovups(a_.ptr[scratch_ + i * a_.isa().vec_bytes], a_.vec(i));
    a_.jmp(next, a_.T_NEAR);
  }
  a_.L(finish);
  AddBias();
  ApplyPostOps();
  StoreOutput();
  a_.L(next);
  NextTile();
}

void GemmEmitter::AddBias() {
  a_.mov(scratch_, ARG(bias));
  for (int o = 0; o < spec_.ocs; ++o) {
    a_.vbroadcastss(temp(0), a_.dword[scratch_ + o * kFloat]);
    for (int v = 0; v < spec_.vecs; ++v) a_.vaddps(acc(v, o), acc(v, o), temp(0));
  }
}

void GemmEmitter::ApplyPostOps() {
  std::vector<Xmm> values;
  for (int i = 0; i < num_accs(); ++i) values.push_back(a_.vec(i));
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  jit::ApplyPostOps(
      a_, spec_.post_ops, values, temps, scratch_, ARG(post_params), [&](int op) { AddResidual(op); },
      [&](int op) { ApplyChannelScale(op); });
}

void GemmEmitter::ApplyChannelScale(int op) {
  a_.mov(scratch_, arg(offsetof(GemmArgs, scale) + static_cast<size_t>(op) * sizeof(float*)));
  for (int o = 0; o < spec_.ocs; ++o) {
    a_.vbroadcastss(temp(0), a_.dword[scratch_ + o * kFloat]);
    for (int v = 0; v < spec_.vecs; ++v) a_.vmulps(acc(v, o), acc(v, o), temp(0));
  }
}

template <typename EmitAccess>
void GemmEmitter::ForEachVector(size_t tensor, size_t channel_step, const EmitAccess& emit) {
  a_.mov(channel_, arg(tensor));
  a_.mov(channel_step_, arg(channel_step));
  for (int o = 0; o < spec_.ocs; ++o) {
    if (o > 0) a_.add(channel_, channel_step_);
    for (int v = 0; v < spec_.vecs; ++v) emit(channel_ + v * a_.isa().vec_bytes, v, o);
  }
}

void GemmEmitter::AddResidual(int op) {
  const size_t i = static_cast<size_t>(op) * sizeof(int64_t);
  if (spec_.has(GemmSpec::kTail)) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(1));
  }
  ForEachVector(offsetof(GemmArgs, residual) + i, offsetof(GemmArgs, residual_channel) + i,
                [&](const RegExp& address, int v, int o) {
                  if (IsTail(v)) {
                    a_.LoadTail(temp(0), a_.ptr[address], temp(1));
                    a_.vaddps(acc(v, o), acc(v, o), temp(0));
                  } else {
                    a_.vaddps(acc(v, o), acc(v, o), a_.ptr[address]);
                  }
                });
}

void GemmEmitter::StoreOutput() {
  const Reg64& lanes = steps_left_;
  if (spec_.has(GemmSpec::kTail)) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(0));
    a_.mov(lanes, ARG(tail_lanes));
  }
  ForEachVector(offsetof(GemmArgs, dst), offsetof(GemmArgs, dst_channel),
                [&](const RegExp& address, int v, int o) {
                  if (IsTail(v)) {
                    a_.lea(scratch_, a_.ptr[address]);
                    a_.StoreFirstLanes(scratch_, acc(v, o), lanes);
                  } else {
                    a_.vmovups(a_.ptr[address], acc(v, o));
                  }
                });
}

void GemmEmitter::NextTile() {
  const auto advance = [&](size_t pointer, size_t step) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  };
  advance(offsetof(GemmArgs, weights), offsetof(GemmArgs, weights_repeat));
  advance(offsetof(GemmArgs, dst), offsetof(GemmArgs, dst_repeat));
  a_.add(ARG(bias), spec_.ocs * kFloat);
  if (spec_.has(GemmSpec::kPartial)) a_.add(ARG(partial), num_accs() * a_.isa().vec_bytes);
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    const size_t at = static_cast<size_t>(op) * sizeof(int64_t);
    if (kind == PostOpKind::kResidualAdd) {
      advance(offsetof(GemmArgs, residual) + at, offsetof(GemmArgs, residual_repeat) + at);
    } else if (kind == PostOpKind::kChannelScale) {
      a_.add(arg(offsetof(GemmArgs, scale) + at), spec_.ocs * kFloat);
    }
  });
}

#undef ARG

}  // namespace rafter::gemm
