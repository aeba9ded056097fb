// kernels/conv/tile/emitter.cc: the loops of the sum, outermost first. The end of a tile: store_emitter.cc.
#include "kernels/conv/tile/emitter.h"

#include <cstddef>
#include <utility>

#include "jit/code_cache.h"
#include "jit/compile.h"

namespace rafter::tile {

#define ARG(field) arg(offsetof(TileArgs, field))
#define BLOCK_PARAM(field) block_param(offsetof(BlockParams, field))

std::string KernelName(const TileSpec& spec) {
  std::string name = std::string("tile_f32_") + IsaName(spec.isa) + "_px" + std::to_string(spec.px) +
                     "_oc" + std::to_string(spec.oc_vecs) + "v";
  static constexpr const char* kTails[] = {"", "_tail", "_tailz", "_tailzh"};
  static constexpr const char* kOrders[] = {"", "_blocks", "_pairs", "_halves"};
  name += kTails[static_cast<int>(spec.tail)];
  name += kOrders[static_cast<int>(spec.dst_order)];
  if (spec.has_pieces()) name += spec.next_lines > 0 ? "_planes" : "_pieces";
  if (spec.has_partial()) name += "_passes";
  if (spec.may_stream()) name += "_stream";
  if (spec.fetches_ahead()) name += "_ahead";
  if (spec.has_rest()) name += "_rest";
  if (spec.steps != 0) name += "_k" + std::to_string(spec.steps);
  if (spec.is_edge()) {
    name += "_edge" + std::to_string(spec.skip_first) + "+" + std::to_string(spec.skip_last);
  }
  return name + jit::PostOpSuffix(spec.post_ops);
}

Result<jit::KernelPtr> GetTileKernel(const TileSpec& spec) {
  return jit::GetOrCompile("tile", spec, [](const TileSpec& s) {
    return jit::Compile(KernelName(s), jit::GetIsaInfo(s.isa),
                        [&](jit::Assembler& a) { TileEmitter(s, a).Emit(); });
  });
}

TileEmitter::TileEmitter(const TileSpec& spec, jit::Assembler& assembler)
    : spec_(spec),
      a_(assembler),
      args_(a_.rdi),
      pixels_(spec.px, pool_),
      panels_(spec.oc_vecs, pool_),
      params_(pool_.Take()),
      k_left_(pool_.Take()),
      columns_left_(pool_.Take()),
      scratch_(pool_.Take()),
      column_(spec.is_edge() ? pool_.Take() : scratch_),
      has_prefetch_(pool_.available() > 0),
      prefetch_(has_prefetch_ ? pool_.Take() : scratch_) {
  if (num_accs() + jit::kPostOpTemps > a_.isa().num_vecs) {
    throw std::length_error("the tile has more accumulators than registers");
  }
}

void TileEmitter::Emit() {
  Label next_tile, finish;
  a_.EnterKernel();
  if (has_prefetch_ && !spec_.fetches_ahead()) a_.mov(prefetch_, ARG(prefetch));
  a_.L(next_tile);
  StartAccumulators();
  PrefetchResiduals();
  if (has_prefetch_ && spec_.fetches_ahead()) {
    a_.mov(prefetch_, ARG(src));
    a_.add(prefetch_, ARG(ahead));
    a_.mov(ARG(ahead_left), spec_.px);
  }
  a_.cmp(ARG(rows), 0);
  a_.jz(finish, a_.T_NEAR);
  EmitChannelBlocks();
  a_.L(finish);
  FinishTile();
  a_.dec(ARG(tiles));
  a_.jnz(next_tile, a_.T_NEAR);
  a_.LeaveKernel();
  a_.EmitConstants();
}

void TileEmitter::StartAccumulators() {
  if (!spec_.has_partial()) {
    for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
    return;
  }
  Label from_zero, done;
  a_.cmp(ARG(load_partial), 0);
  a_.jz(from_zero, a_.T_NEAR);
  a_.mov(scratch_, ARG(partial));
  for (int i = 0; i < num_accs(); ++i) {
    a_.vmovups(a_.vec(i), a_.ptr[scratch_ + i * a_.isa().vec_bytes]);
  }
  a_.jmp(done, a_.T_NEAR);
  a_.L(from_zero);
  for (int i = 0; i < num_accs(); ++i) a_.Zero(a_.vec(i));
  a_.L(done);
}

void TileEmitter::EmitChannelBlocks() {
  pixels_.EmitStride(a_, ARG(src_px));
  panels_.EmitStride(a_, ARG(panel));
  if (spec_.steps != 0) {
    a_.lea(params_, ARG(last));
    StartBlock(ARG(src), ARG(weights));
    EmitRows();
    return;
  }
  for (auto [from, to] : {std::pair{offsetof(TileArgs, src), offsetof(TileArgs, src_at_block)},
                          std::pair{offsetof(TileArgs, weights), offsetof(TileArgs, weights_at_block)},
                          std::pair{offsetof(TileArgs, blocks), offsetof(TileArgs, blocks_left)}}) {
    a_.mov(scratch_, arg(from));
    a_.mov(arg(to), scratch_);
  }
  Label next_block, full_block;
  a_.L(next_block);
  a_.lea(params_, ARG(last));
  a_.cmp(ARG(blocks_left), 1);
  a_.je(full_block);
  a_.lea(params_, ARG(full));
  a_.L(full_block);
  StartBlock(ARG(src_at_block), ARG(weights_at_block));
  EmitRows();
  for (auto [pointer, step] :
       {std::pair{offsetof(TileArgs, src_at_block), offsetof(TileArgs, src_block_step)},
        std::pair{offsetof(TileArgs, weights_at_block), offsetof(TileArgs, weights_block_step)}}) {
    a_.mov(scratch_, arg(step));
    a_.add(arg(pointer), scratch_);
  }
  a_.dec(ARG(blocks_left));
  a_.jnz(next_block, a_.T_NEAR);
}

void TileEmitter::StartBlock(const Address& src, const Address& weights) {
  pixels_.EmitBases(a_, src);
  a_.mov(scratch_, weights);
  a_.add(scratch_, BLOCK_PARAM(weights_row_offset));
  panels_.EmitBases(a_, scratch_);
}

void TileEmitter::EmitRows() {
  Label next_row;
  a_.mov(scratch_, ARG(rows));
  a_.mov(ARG(rows_left), scratch_);
  a_.L(next_row);
  EmitColumns();
  pixels_.EmitAdvance(a_, ARG(src_row_step));
  a_.dec(ARG(rows_left));
  a_.jnz(next_row, a_.T_NEAR);
}

void TileEmitter::EmitColumns() {
  Label next_column, column_end;
  a_.mov(columns_left_, ARG(columns_count));
  if (spec_.is_edge()) a_.mov(column_, ARG(columns));
  a_.L(next_column);
  if (spec_.is_edge()) {
    EmitColumnDispatch(column_end);
  } else {
    EmitColumn(0, spec_.px);
  }
  a_.L(column_end);
  pixels_.EmitAdvance(a_, BLOCK_PARAM(src_kw_step));
  a_.dec(columns_left_);
  a_.jnz(next_column, a_.T_NEAR);
}

// Runs the code for the pixels that this column reaches; see "Which pixels of a tile" in spec.h.
void TileEmitter::EmitColumnDispatch(const Label& column_end) {
  const int variants = 1 + spec_.skip_first + spec_.skip_last;
  std::vector<Label> partial(variants);
  Label none;
  a_.movzx(scratch_.cvt32(), a_.byte[column_]);
  a_.inc(column_);
  a_.test(scratch_.cvt32(), scratch_.cvt32());
  a_.jz(partial[0], a_.T_NEAR);
  for (int i = 1; i < variants; ++i) {
    a_.cmp(scratch_.cvt32(), i);
    a_.je(partial[i], a_.T_NEAR);
  }
  panels_.EmitAdvance(a_, BLOCK_PARAM(weights_skip));
  pixels_.EmitAdvance(a_, BLOCK_PARAM(src_skip));
  a_.jmp(column_end, a_.T_NEAR);
  for (int i = variants - 1; i >= 0; --i) {
    a_.L(partial[i]);
    const int first = i <= spec_.skip_first ? i : 0;
    const int last = i > spec_.skip_first ? i - spec_.skip_first : 0;
    EmitColumn(first, spec_.px - last);
    if (i > 0) a_.jmp(column_end, a_.T_NEAR);
  }
}

void TileEmitter::EmitColumn(int px_begin, int px_end) {
  if (!spec_.has_pieces()) return EmitChannels(px_begin, px_end);
  Label next_piece;
  a_.mov(scratch_, BLOCK_PARAM(pieces));
  a_.mov(ARG(pieces_left), scratch_);
  a_.L(next_piece);
  const auto lines = static_cast<int>(spec_.next_lines);
  for (int i = 1; i <= lines; ++i) a_.prefetcht0(a_.ptr[pixels_.at(spec_.px - 1) + i * kLineBytes]);
  EmitChannels(px_begin, px_end);
  pixels_.EmitAdvance(a_, BLOCK_PARAM(src_piece_step));
  a_.dec(ARG(pieces_left));
  a_.jnz(next_piece, a_.T_NEAR);
}

// One piece: four channels at a time, then the rest, which only the last piece can have.
void TileEmitter::EmitChannels(int px_begin, int px_end) {
  if (spec_.steps != 0) {
    const int steps = static_cast<int>(spec_.steps);
    for (int k = 0; k < steps; ++k) {
      if (k % 4 == 0) EmitPrefetch();
      EmitStep(px_begin, px_end, k);
    }
    panels_.EmitAdvance(a_, steps * a_.isa().vec_bytes);
    pixels_.EmitAdvance(a_, steps * static_cast<int>(sizeof(float)));
    return;
  }
  for (const int unroll : {4, 1}) {
    if (unroll == 1 && !spec_.has_rest()) continue;
    Label next, done;
    a_.mov(k_left_, unroll == 4 ? BLOCK_PARAM(k_by_4) : BLOCK_PARAM(k_rest));
    if (spec_.has_pieces()) {
      a_.cmp(ARG(pieces_left), 1);
      if (unroll == 4) {
        a_.cmove(k_left_, BLOCK_PARAM(k_by_4_last));
      } else {
        a_.jne(done, a_.T_NEAR);
      }
    }
    a_.test(k_left_, k_left_);
    a_.jz(done, a_.T_NEAR);
    a_.L(next);
    if (unroll > 1) EmitPrefetch();
    for (int k = 0; k < unroll; ++k) EmitStep(px_begin, px_end, k);
    panels_.EmitAdvance(a_, unroll * a_.isa().vec_bytes);
    pixels_.EmitAdvance(a_, unroll * static_cast<int>(sizeof(float)));
    a_.dec(k_left_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
  }
}

void TileEmitter::EmitPrefetch() {
  if (!has_prefetch_) return;
  if (spec_.fetches_ahead()) {
    Label same_line;
    a_.prefetcht0(a_.ptr[prefetch_]);
    a_.add(prefetch_, ARG(src_px));
    a_.dec(ARG(ahead_left));
    a_.jnz(same_line);
    a_.add(prefetch_, ARG(ahead_back));
    a_.mov(ARG(ahead_left), spec_.px);
    a_.L(same_line);
    return;
  }
  a_.prefetcht1(a_.ptr[prefetch_]);
  a_.add(prefetch_, ARG(prefetch_step));
}

// One input channel: px * oc_vecs FMAs. Whichever is fewer, weights or inputs, stays in registers.
void TileEmitter::EmitStep(int px_begin, int px_end, int k) {
  const int vecs = spec_.oc_vecs;
  const auto weight = [&](int v) { return a_.ptr[panels_.at(v) + k * a_.isa().vec_bytes]; };
  const auto input = [&](int p) { return pixels_.at(p) + k * static_cast<int>(sizeof(float)); };
  if (spec_.px == 1) {  // one input for all vectors: the weights are memory operands
    a_.vbroadcastss(temp(0), a_.dword[input(0)]);
    for (int v = 0; v < vecs; ++v) a_.vfmadd231ps(acc(0, v), temp(0), weight(v));
  } else if (vecs == 1) {
    a_.vmovups(temp(0), weight(0));
    for (int p = px_begin; p < px_end; ++p) a_.FmaBroadcast(acc(p, 0), temp(0), input(p), temp(1));
  } else if (vecs <= spec_.px) {
    for (int v = 0; v < vecs; ++v) a_.vmovups(temp(v), weight(v));
    for (int p = px_begin; p < px_end; ++p) {
      a_.vbroadcastss(temp(vecs), a_.dword[input(p)]);
      for (int v = 0; v < vecs; ++v) a_.vfmadd231ps(acc(p, v), temp(vecs), temp(v));
    }
  } else {
    for (int p = px_begin; p < px_end; ++p) a_.vbroadcastss(temp(p), a_.dword[input(p)]);
    for (int v = 0; v < vecs; ++v) {
      a_.vmovups(temp(spec_.px), weight(v));
      for (int p = px_begin; p < px_end; ++p) a_.vfmadd231ps(acc(p, v), temp(p), temp(spec_.px));
    }
  }
}

#undef BLOCK_PARAM
#undef ARG

}  // namespace rafter::tile
