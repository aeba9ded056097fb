// kernels/reorder/blocks_kernel.cc: see the header.
#include "kernels/reorder/blocks_kernel.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "jit/strided_pointers.h"
#include "kernels/reorder/row_pieces.h"
#include "kernels/sizes.h"

namespace rafter::reorder {

namespace {

#define ARG(field) a_.qword[a_.rdi + static_cast<int>(offsetof(BlocksArgs, field))]

class BlocksEmitter {
 public:
  BlocksEmitter(const BlocksSpec& spec, jit::Assembler& a)
      : spec_(spec), a_(a), lanes_(std::min(spec.run, a.isa().vec_lanes())), src_(spec.blocks, pool_),
        dst_(spec.blocks, pool_), rows_(pool_.Take()) {}

  void Emit() {
    jit::Label row, single, done;
    a_.EnterKernel();
    src_.EmitStride(a_, ARG(src_block_bytes));
    src_.EmitBases(a_, ARG(src));
    dst_.EmitStride(a_, ARG(dst_block_bytes));
    dst_.EmitBases(a_, ARG(dst));
    a_.mov(rows_, ARG(rows));
    if (spec_.pairs != 0) {
      jit::Label pair;
      a_.sub(rows_, 2);
      a_.jl(single, a_.T_NEAR);
      a_.align(32);
      a_.L(pair);
      EmitPair();
      a_.sub(rows_, 2);
      a_.jge(pair, a_.T_NEAR);
      a_.L(single);
      a_.add(rows_, 2);
      a_.jz(done, a_.T_NEAR);
    }
    a_.align(32);
    a_.L(row);
    EmitRow();
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    a_.L(done);
    a_.LeaveKernel();
  }

 private:
  void Load(int v, int block, int at) { LoadPiece(a_, a_.vec(v), src_.at(block) + at * kFloat, lanes_); }
  void Store(int v, int block, int at) {
    StorePiece(a_, dst_.at(block) + at * kFloat, a_.vec(v), lanes_, spec_.non_temporal != 0);
  }

  void EmitRow() {
    const int vecs = spec_.run / lanes_;  // of a block, at most 2: all blocks of a pixel fit 16 registers
    for (int b = 0; b < spec_.blocks; ++b) {
      for (int v = 0; v < vecs; ++v) Load(b * vecs + v, b, v * lanes_);
    }
    for (int b = 0; b < spec_.blocks; ++b) {
      for (int v = 0; v < vecs; ++v) Store(b * vecs + v, b, v * lanes_);
    }
    src_.EmitAdvance(a_, ARG(src_row_bytes));
    dst_.EmitAdvance(a_, ARG(dst_row_bytes));
  }

  // The parts of a line one after the other.
  void EmitPair() {
    for (int b = 0; b < spec_.blocks; ++b) Load(b, b, 0);
    src_.EmitAdvance(a_, ARG(src_row_bytes));
    for (int b = 0; b < spec_.blocks; ++b) Load(kMostBlocks + b, b, 0);
    src_.EmitAdvance(a_, ARG(src_row_bytes));
    for (int b = 0; b < spec_.blocks; ++b) {
      Store(b, b, 0);
      Store(kMostBlocks + b, b, spec_.run);
    }
    dst_.EmitAdvance(a_, 2 * spec_.run * static_cast<int>(kFloat));
  }

  const BlocksSpec& spec_;
  jit::Assembler& a_;
  const int lanes_;  // of one register
  jit::RegPool pool_;
  jit::StridedPointers src_, dst_;
  const jit::Reg64 rows_;
};

// Single lines of a few blocks in turn reach 0.8 of what the memory takes, 512 bytes of each 0.9 (Zen 3). But then src
// is read in an order that no prefetcher follows.
class StretchesEmitter {
 public:
  StretchesEmitter(const BlocksSpec& spec, jit::Assembler& a)
      : spec_(spec), a_(a), lanes_(std::min(spec.run, a.isa().vec_lanes())), src_(pool_.Take()), dst_(pool_.Take()),
        rows_(pool_.Take()), row_(pool_.Take()), three_rows_(pool_.Take()), from_(pool_.Take()), to_(pool_.Take()),
        four_(pool_.Take()), ahead_(pool_.Take()), blocks_(pool_.Take()) {}

  void Emit() {
    jit::Label group, single, next, done;
    a_.EnterKernel();
    a_.mov(src_, ARG(src));
    a_.mov(dst_, ARG(dst));
    a_.mov(row_, ARG(src_row_bytes));
    a_.lea(three_rows_, a_.ptr[row_ + row_ * 2]);
    a_.mov(rows_, ARG(rows));
    a_.sub(rows_, group_rows());
    a_.jl(single, a_.T_NEAR);
    a_.L(group);
    EmitBlocks(group_rows());
    a_.sub(rows_, group_rows());
    a_.jge(group, a_.T_NEAR);
    a_.L(single);
    a_.add(rows_, group_rows());
    a_.jz(done, a_.T_NEAR);
    a_.L(next);
    EmitBlocks(1);
    a_.dec(rows_);
    a_.jnz(next, a_.T_NEAR);
    a_.L(done);
    a_.LeaveKernel();
  }

 private:
  static constexpr int kStretchBytes = 512, kAheadBytes = 4096, kRowsAtOnce = 4;
  int row_bytes() const { return spec_.run * static_cast<int>(kFloat); }
  int group_rows() const { return kStretchBytes / row_bytes(); }

  // Some rows of all blocks.
  void EmitBlocks(int rows) {
    jit::Label next;
    a_.mov(from_, src_);
    a_.mov(to_, dst_);
    a_.lea(ahead_, a_.ptr[src_ + kAheadBytes]);
    a_.mov(blocks_, ARG(blocks));
    a_.align(16);
    a_.L(next);
    a_.mov(four_, from_);
    for (int r = 0; r < rows; r += kRowsAtOnce) {
      EmitRows(r, std::min(kRowsAtOnce, rows - r));
      if (r + kRowsAtOnce < rows) a_.lea(four_, a_.ptr[four_ + row_ * 4]);
    }
    a_.add(from_, ARG(src_block_bytes));
    a_.add(to_, ARG(dst_block_bytes));
    a_.dec(blocks_);
    a_.jnz(next, a_.T_NEAR);
    if (rows == 1) a_.add(src_, row_);
    for (int r = 0; r + kRowsAtOnce <= rows; r += kRowsAtOnce) a_.lea(src_, a_.ptr[src_ + row_ * 4]);
    a_.add(dst_, rows * row_bytes());
  }

  // From four_ on, `first` rows into the stretch.
  void EmitRows(int first, int count) {
    const int vecs = spec_.run / lanes_, bytes = count * row_bytes();
    for (int at = 0; count > 1 && at < bytes; at += kLineBytes) a_.prefetcht0(a_.ptr[ahead_ + at]);
    if (count > 1) a_.add(ahead_, bytes);
    const Xbyak::RegExp rows[] = {four_ + 0, four_ + row_, four_ + row_ * 2, four_ + three_rows_};
    for (int r = 0; r < count; ++r) {
      for (int v = 0; v < vecs; ++v) LoadPiece(a_, a_.vec(r * vecs + v), rows[r] + v * lanes_ * kFloat, lanes_);
    }
    for (int v = 0; v < count * vecs; ++v) {
      StorePiece(a_, to_ + first * row_bytes() + v * lanes_ * static_cast<int>(kFloat), a_.vec(v), lanes_,
                 spec_.non_temporal != 0);
    }
  }

  const BlocksSpec& spec_;
  jit::Assembler& a_;
  const int lanes_;  // of one register
  jit::RegPool pool_;
  const jit::Reg64 src_, dst_, rows_, row_, three_rows_, from_, to_, four_, ahead_, blocks_;
};

#undef ARG

}  // namespace

Result<jit::KernelPtr> GetBlocksKernel(const BlocksSpec& spec) {
  return jit::GetOrCompile("blocks", spec, [](const BlocksSpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    std::string name = std::string("blocks_f32_") + isa.name + "_";
    name += (s.stretches != 0 ? std::string("any") : std::to_string(s.blocks)) + "x" + std::to_string(s.run);
    if (s.pairs != 0) name += "_pairs";
    if (s.non_temporal != 0) name += "_nt";
    return jit::Compile(name, isa, [&](jit::Assembler& a) {
      if (s.stretches != 0) return StretchesEmitter(s, a).Emit();
      BlocksEmitter(s, a).Emit();
    });
  });
}

}  // namespace rafter::reorder
