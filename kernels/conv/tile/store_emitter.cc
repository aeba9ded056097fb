// kernels/conv/tile/store_emitter.cc: what happens to a tile when its sum is complete: bias, post-ops, store.
// Registers of weights and inputs are free by then and serve as temporaries.
#include <cstddef>

#include "kernels/conv/tile/emitter.h"
#include "kernels/sizes.h"

namespace rafter::tile {

#define ARG(field) arg(offsetof(TileArgs, field))

void TileEmitter::FinishTile() {
  Label finish, next;
  if (spec_.has_partial()) {
    a_.cmp(ARG(store_partial), 0);
    a_.jz(finish, a_.T_NEAR);
    StorePartial();
    a_.jmp(next, a_.T_NEAR);
  }
  a_.L(finish);
  AddBias();
  ApplyPostOps();
  StoreOutput();
  a_.L(next);
  NextTile();
}

void TileEmitter::StorePartial() {
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i) {
    a_.vmovups(a_.ptr[scratch_ + i * a_.isa().vec_bytes], a_.vec(i));
  }
}

void TileEmitter::AddBias() {
  a_.mov(scratch_, ARG(bias));
  for (int v = 0; v < spec_.oc_vecs; ++v) {
    a_.vmovups(temp(0), a_.ptr[scratch_ + v * a_.isa().vec_bytes]);
    for (int p = 0; p < spec_.px; ++p) a_.vaddps(acc(p, v), acc(p, v), temp(0));
  }
}

void TileEmitter::ApplyPostOps() {
  std::vector<Xmm> values;
  for (int i = 0; i < num_accs(); ++i) values.push_back(a_.vec(i));
  const jit::PostOpTemps temps = {temp(0), temp(1), temp(2), temp(3)};
  jit::ApplyPostOps(
      a_, spec_.post_ops, values, temps, scratch_, ARG(post_params), [&](int op) { AddResidual(op); },
      [&](int op) { ApplyChannelScale(op); });
}

void TileEmitter::ApplyChannelScale(int op) {
  a_.mov(scratch_, arg(offsetof(TileArgs, scale) + op * sizeof(float*)));
  for (int v = 0; v < spec_.oc_vecs; ++v) {
    a_.vmovups(temp(0), a_.ptr[scratch_ + v * a_.isa().vec_bytes]);
    for (int p = 0; p < spec_.px; ++p) a_.vmulps(acc(p, v), acc(p, v), temp(0));
  }
}

template <typename EmitAccess>
void TileEmitter::ForEachVector(const Address& tensor, const Address& px_stride, const Address& block_stride,
                                const EmitAccess& emit) {
  a_.mov(k_left_, tensor);
  ForEachVectorFrom(px_stride, block_stride, emit);
}

// From the first pixel on, which k_left_ points to.
template <typename EmitAccess>
void TileEmitter::ForEachVectorFrom(const Address& px_stride, const Address& block_stride, const EmitAccess& emit) {
  pixels_.EmitStride(a_, px_stride);
  const int vec_bytes = a_.isa().vec_bytes;
  int vecs_per_base = spec_.oc_vecs, bases = 1;
  if (spec_.dst_order == DstOrder::kPerBlock) vecs_per_base = 1, bases = spec_.oc_vecs;
  if (spec_.dst_order == DstOrder::kPairs) vecs_per_base = 2, bases = (spec_.oc_vecs + 1) / 2;
  const bool halves = spec_.dst_order == DstOrder::kHalves;
  if (halves) {
    vecs_per_base = 1;
    bases = 2 * spec_.oc_vecs - (spec_.tail == Tail::kZeroedHalf ? 1 : 0);
  }
  const Reg64& block = k_left_;  // free before and after the sum
  for (int b = 0; b < bases; ++b) {
    if (b > 0) a_.add(block, block_stride);
    pixels_.EmitBases(a_, block);
    for (int p = 0; p < spec_.px; ++p) {
      for (int i = 0; i < vecs_per_base; ++i) {
        const int v = halves ? b / 2 : b * vecs_per_base + i;
        if (v >= spec_.oc_vecs) break;
        emit(a_.ptr[pixels_.at(p) + i * vec_bytes], p, v, halves ? b % 2 : -1);
      }
    }
  }
}

// Those of the next tile, before the sum of this one: at the end a residual from beyond L2 would be waited for. Which
// addresses begin a line is told from their distance in a dense tensor.
void TileEmitter::PrefetchResiduals() {
  if (spec_.has_partial()) return;
  const int per_line = static_cast<int>(kLineBytes) / a_.isa().vec_bytes;
  const bool by_pixels = spec_.dst_order == DstOrder::kPerBlock || spec_.dst_order == DstOrder::kHalves;
  const int last = (by_pixels ? spec_.px : spec_.oc_vecs) - 1;
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    if (kind != PostOpKind::kResidualAdd) return;
    const size_t at = static_cast<size_t>(op) * sizeof(int64_t);
    a_.mov(k_left_, arg(offsetof(TileArgs, residual) + at));
    a_.add(k_left_, arg(offsetof(TileArgs, residual_tile) + at));
    ForEachVectorFrom(arg(offsetof(TileArgs, residual_px) + at), arg(offsetof(TileArgs, residual_block) + at),
                      [&](const Address& address, int p, int v, int) {
                        const int index = by_pixels ? p : v;
                        if (index % per_line == 0 || index == last) a_.prefetcht0(address);
                      });
  });
}

void TileEmitter::AddResidual(int op) {
  const size_t at = op * sizeof(int64_t);
  if (spec_.tail == Tail::kMasked) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(1));
  }
  ForEachVector(arg(offsetof(TileArgs, residual) + at), arg(offsetof(TileArgs, residual_px) + at),
                arg(offsetof(TileArgs, residual_block) + at),
                [&](const Address& address, int p, int v, int half) {
                  if (half == 0) {
                    a_.LoadLowHalf(temp(0), address);
                  } else if (half == 1) {
                    a_.LoadHighHalf(temp(0), address);
                  } else if (IsTail(v) && spec_.tail == Tail::kMasked) {
                    a_.LoadTail(temp(0), address, temp(1));
                  } else {
                    a_.vaddps(acc(p, v), acc(p, v), address);
                    return;
                  }
                  a_.vaddps(acc(p, v), acc(p, v), temp(0));
                });
}

void TileEmitter::StoreOutput() {
  if (spec_.tail != Tail::kNone) {
    a_.mov(scratch_, ARG(tail_mask));
    a_.LoadTailMask(a_.ptr[scratch_], temp(0));
  }
  if (spec_.tail == Tail::kZeroed || spec_.tail == Tail::kZeroedHalf) {
    for (int p = 0; p < spec_.px; ++p) a_.ZeroBehindTail(acc(p, spec_.oc_vecs - 1), temp(0));
  }
  Label cached, done;
  if (spec_.may_stream()) {
    a_.cmp(ARG(stream), 0);
    a_.jz(cached, a_.T_NEAR);
    ForEachVector(ARG(dst), ARG(dst_px), ARG(dst_block),
                  [&](const Address& address, int p, int v, int) { a_.vmovntps(address, acc(p, v)); });
    a_.jmp(done, a_.T_NEAR);
  }
  a_.L(cached);
  StoreCached();
  a_.L(done);
}

void TileEmitter::StoreCached() {
  ForEachVector(ARG(dst), ARG(dst_px), ARG(dst_block),
                [&](const Address& address, int p, int v, int half) {
                  if (half == 0) {
                    a_.StoreLowHalf(address, acc(p, v));
                  } else if (half == 1) {
                    a_.StoreHighHalf(address, acc(p, v));
                  } else if (IsTail(v) && spec_.tail == Tail::kMasked) {
                    a_.StoreTail(address, acc(p, v), temp(0));
                  } else {
                    a_.vmovups(address, acc(p, v));
                  }
                });
}

void TileEmitter::NextTile() {
  const auto advance = [&](size_t pointer, size_t step) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  };
  advance(offsetof(TileArgs, src), offsetof(TileArgs, src_tile));
  advance(offsetof(TileArgs, dst), offsetof(TileArgs, dst_tile));
  if (spec_.has_partial()) a_.add(ARG(partial), num_accs() * a_.isa().vec_bytes);
  jit::ForEachPostOp(spec_.post_ops, [&](int op, PostOpKind kind) {
    if (kind != PostOpKind::kResidualAdd) return;
    const size_t at = static_cast<size_t>(op) * sizeof(int64_t);
    advance(offsetof(TileArgs, residual) + at, offsetof(TileArgs, residual_tile) + at);
  });
}

#undef ARG

}  // namespace rafter::tile
