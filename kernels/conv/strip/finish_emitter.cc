// kernels/conv/strip/finish_emitter.cc: what happens to a strip when its sum is complete: adding the parts of each
// sum, bias, post-ops, store. Registers of weights and inputs are free by then and serve as temporaries.
#include <array>
#include <cstddef>

#include "kernels/conv/strip/emitter.h"
#include "kernels/sizes.h"

namespace rafter::strip {

#define ARG(field) arg(offsetof(StripArgs, field))

namespace {

constexpr int kSlots = 8;  // sums per result register

}  // namespace

jit::Xmm StripEmitter::result(const ResultVector& r) const {
  if (ResultLanes(spec_.feed, lanes()) == lanes()) return a_.vec(r.acc);
  return Xmm(Xbyak::Operand::YMM, r.acc);
}

void StripEmitter::FinishStrip() {
  AddParts();
  AddBias();
  ApplyPostOps();
  Store();
  NextStrip();
}

void StripEmitter::AddParts() {
  if (spec_.feed == Feed::kVector) {
    for (int i = 0; i < num_accs(); ++i) a_.FoldToEightLanes(a_.vec(i), temp(0));
    const int pixels = kSlots / SlotsPerPixel(spec_.vecs);
    for (int p = 0; p < spec_.px; p += pixels) AddPartsOfVectors(p);
  }
  if (spec_.feed != Feed::kBroadcast2) return;
  for (const ResultVector& r : results_) {
    // Two of one pixel; or an odd last one with that of the next pixel, or alone.
    int other = r.acc + 1;
    if (lanes() == kSlots && 2 * r.pattern + 1 == spec_.vecs) {
      other = r.acc + spec_.vecs < num_accs() ? r.acc + spec_.vecs : r.acc;
    }
    if (lanes() != kSlots) other = r.acc;
    a_.AddNeighbours(a_.vec(r.acc), a_.vec(other), temp(0));
  }
}

// Up to 8 accumulators, beginning with pixel p, become the 8 lanes of the first one.
void StripEmitter::AddPartsOfVectors(int first_px) {
  const int per_px = SlotsPerPixel(spec_.vecs);
  std::array<int, kSlots> slots;  // accumulators; -1: none
  for (int s = 0; s < kSlots; ++s) {
    const int p = first_px + s / per_px, v = s % per_px;
    slots[s] = p < spec_.px && v < spec_.vecs ? AccIndex(p, v, spec_.vecs) : -1;
  }
  // Missing partners are replaced by the register itself: its lanes are not stored.
  const auto pair_up = [&](int distance, auto add) {
    for (int s = 0; s < kSlots; s += 2 * distance) {
      if (slots[s] < 0) continue;
      const int other = slots[s + distance] < 0 ? slots[s] : slots[s + distance];
      (a_.*add)(a_.vec(slots[s]), a_.vec(other), temp(0));
    }
  };
  pair_up(1, &jit::Assembler::AddQuartersOfTwo);
  pair_up(2, &jit::Assembler::AddPairsOfTwo);
  pair_up(4, &jit::Assembler::AddHalvesOfTwo);
}

void StripEmitter::AddBias() {
  a_.mov(scratch_, ARG(bias));
  int loaded = -1;
  for (const ResultVector& r : results_) {
    const Xmm bias(result(r).getKind(), temp(0).getIdx());
    if (loaded != r.pattern) a_.vmovups(bias, a_.ptr[scratch_ + r.pattern * a_.isa().vec_bytes]);
    loaded = r.pattern;
    a_.vaddps(result(r), result(r), bias);
  }
}

void StripEmitter::ApplyPostOps() {
  std::vector<Xmm> values;
  for (const ResultVector& r : results_) values.push_back(result(r));
  jit::PostOpTemps temps;
  for (int i = 0; i < jit::kPostOpTemps; ++i) temps[i] = Xmm(values[0].getKind(), temp(i).getIdx());
  jit::ApplyPostOps(
      a_, spec_.post_ops, values, temps, scratch_, ARG(post_params), [&](int op) { AddResidual(op); },
      [&](int op) { ApplyChannelScale(op); });
}

void StripEmitter::ApplyChannelScale(int op) {
  a_.mov(scratch_, arg(offsetof(StripArgs, scale) + op * sizeof(float*)));
  for (const ResultVector& r : results_) {
    a_.vmulps(result(r), result(r), a_.ptr[scratch_ + r.pattern * a_.isa().vec_bytes]);
  }
}

// Whole registers are added from memory; parts go through StripArgs::lanes.
void StripEmitter::AddResidual(int op) {
  for (const ResultVector& r : results_) {
    if (r.segments.empty()) continue;
    const Segment& first = r.segments[0];
    if (first.count == ResultLanes(spec_.feed, lanes())) {
      AddResidualSegment(op, first);
      a_.vaddps(result(r), result(r), a_.ptr[scratch_]);
      continue;
    }
    for (const Segment& s : r.segments) {
      AddResidualSegment(op, s);
      for (int i = 0; i < s.count; ++i) {
        a_.mov(more_scratch_.cvt32(), a_.dword[scratch_ + i * kFloat]);
        const size_t lane = offsetof(StripArgs, lanes) + (s.lane + i) * kFloat;
        a_.mov(a_.dword[args_ + static_cast<int>(lane)], more_scratch_.cvt32());
      }
    }
    a_.vaddps(result(r), result(r), a_.ptr[args_ + static_cast<int>(offsetof(StripArgs, lanes))]);
  }
}

// scratch_ = address of the segment's residuals.
void StripEmitter::AddResidualSegment(int op, const Segment& segment) {
  const size_t at = op * sizeof(int64_t);
  a_.imul(scratch_, arg(offsetof(StripArgs, residual_px) + at), segment.px);
  a_.add(scratch_, arg(offsetof(StripArgs, residual) + at));
  if (segment.channel > 0) a_.add(scratch_, segment.channel * kFloat);
}

void StripEmitter::Store() {
  a_.mov(scratch_, ARG(dst));
  for (const ResultVector& r : results_) {
    for (size_t i = 0; i < r.segments.size();) {
      const Segment& s = r.segments[i];
      int count = s.count;
      // Neighbours in lanes and in memory go together.
      size_t next = i + 1;
      while (next < r.segments.size() && spec_.dst_px == s.count * kFloat &&
             r.segments[next].lane == s.lane + count) {
        count += r.segments[next++].count;
      }
      a_.StoreLanes(scratch_ + static_cast<int>(s.px * spec_.dst_px + s.channel * kFloat), result(r),
                    s.lane, count, temp(0));
      i = next;
    }
  }
}

void StripEmitter::NextStrip() {
  const auto advance = [&](size_t pointer, size_t step) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  };
  advance(offsetof(StripArgs, src), offsetof(StripArgs, src_step));
  advance(offsetof(StripArgs, weights), offsetof(StripArgs, weights_step));
  advance(offsetof(StripArgs, dst), offsetof(StripArgs, dst_step));
  advance(offsetof(StripArgs, bias), offsetof(StripArgs, bias_step));
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    const size_t at = static_cast<size_t>(op) * sizeof(int64_t);
    if (kind == PostOpKind::kResidualAdd) {
      advance(offsetof(StripArgs, residual) + at, offsetof(StripArgs, residual_step) + at);
    } else if (kind == PostOpKind::kChannelScale) {
      advance(offsetof(StripArgs, scale) + at, offsetof(StripArgs, bias_step));
    }
  });
}

#undef ARG

}  // namespace rafter::strip
