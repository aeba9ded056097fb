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

#undef ARG

}  // namespace

Result<jit::KernelPtr> GetBlocksKernel(const BlocksSpec& spec) {
  return jit::GetOrCompile("blocks", spec, [](const BlocksSpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    std::string name = std::string("blocks_f32_") + isa.name + "_" + std::to_string(s.blocks) + "x" +
                       std::to_string(s.run);
    if (s.pairs != 0) name += "_pairs";
    if (s.non_temporal != 0) name += "_nt";
    return jit::Compile(name, isa, [&](jit::Assembler& a) { BlocksEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::reorder
