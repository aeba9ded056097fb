// kernels/concat/join_kernel.cc: see the header.
#include "kernels/concat/join_kernel.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "jit/code_cache.h"
#include "jit/compile.h"
#include "jit/reg_pool.h"
#include "kernels/reorder/row_pieces.h"
#include "kernels/sizes.h"

namespace rafter::concat {

namespace {

using jit::Assembler;
using jit::Label;
using jit::Reg64;
using reorder::RowPiece;

class JoinEmitter {
 public:
  JoinEmitter(const JoinSpec& spec, Assembler& a) : spec_(spec), a_(a), dst_(pool_.Take()), rows_(pool_.Take()) {
    int begin = 0;
    for (int i = 0; i < spec.inputs; ++i) {
      src_.push_back(pool_.Take());
      const int run = spec.runs[static_cast<size_t>(i)];
      for (const RowPiece& piece : reorder::RowPieces(run, a.isa().vec_lanes())) moves_.push_back({i, begin, piece});
      begin += run;
    }
  }

  void Emit() {
    const auto arg = [&](size_t offset) { return a_.qword[a_.rdi + static_cast<int>(offset)]; };
    Label row;
    a_.EnterKernel();
    for (size_t i = 0; i < src_.size(); ++i) a_.mov(src_[i], arg(offsetof(JoinArgs, src) + 8 * i));
    a_.mov(dst_, arg(offsetof(JoinArgs, dst)));
    a_.mov(rows_, arg(offsetof(JoinArgs, rows)));
    a_.align(32);
    a_.L(row);
    EmitRow();
    for (size_t i = 0; i < src_.size(); ++i) a_.add(src_[i], arg(offsetof(JoinArgs, src_row_bytes) + 8 * i));
    a_.add(dst_, arg(offsetof(JoinArgs, dst_row_bytes)));
    a_.dec(rows_);
    a_.jnz(row, a_.T_NEAR);
    a_.LeaveKernel();
  }

 private:
  struct Move {
    int input, begin;  // of its run in the row of the result
    RowPiece piece;
  };

  // Loads run ahead of the stores by a few registers.
  void EmitRow() {
    constexpr size_t kAtOnce = 8;
    for (size_t first = 0; first < moves_.size(); first += kAtOnce) {
      const size_t end = std::min(moves_.size(), first + kAtOnce);
      for (size_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        reorder::LoadPiece(a_, a_.vec(static_cast<int>(i - first)),
                           src_[static_cast<size_t>(move.input)] + move.piece.at * kFloat, move.piece.lanes);
      }
      for (size_t i = first; i < end; ++i) {
        const Move& move = moves_[i];
        reorder::StorePiece(a_, dst_ + (move.begin + move.piece.at) * kFloat, a_.vec(static_cast<int>(i - first)),
                            move.piece.lanes, spec_.non_temporal != 0);
      }
    }
  }

  const JoinSpec& spec_;
  Assembler& a_;
  jit::RegPool pool_;
  const Reg64 dst_, rows_;
  std::vector<Reg64> src_;
  std::vector<Move> moves_;
};

}  // namespace

Result<jit::KernelPtr> GetJoinKernel(const JoinSpec& spec) {
  return jit::GetOrCompile("join", spec, [](const JoinSpec& s) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(static_cast<Isa>(s.isa));
    std::string name = std::string("join_f32_") + isa.name + "_run";
    for (int i = 0; i < s.inputs; ++i) name += (i > 0 ? "_" : "") + std::to_string(s.runs[static_cast<size_t>(i)]);
    if (s.non_temporal != 0) name += "_nt";
    return jit::Compile(name, isa, [&](Assembler& a) { JoinEmitter(s, a).Emit(); });
  });
}

}  // namespace rafter::concat
