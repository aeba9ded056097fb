// kernels/conv/depthwise/channel_emitter.h: emits the channel kernel of a ChannelSpec.
// channel_emitter.cc: loops, segments and rows; channel_held_emitter.cc: rows of kernels whose weights
// stay in registers; channel_store_emitter.cc: what happens to complete sums.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_EMITTER_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_EMITTER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/reg_pool.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/rolling.h"

namespace rafter::depthwise {

// "dw_f32_avx2_k3s1_2x5" …
std::string ChannelKernelName(const ChannelSpec& spec);

// From the code cache.
Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec);

class ChannelEmitter {
 public:
  ChannelEmitter(jit::Assembler& a, const ChannelSpec& spec);
  void Emit();

 private:
  // Where the columns of a row are: one base, moved on where a column is out of reach.
  struct RowCursor {
    jit::Reg64 start, base;
    int column = 0;        // of base
    bool at_start = true;  // base is not set yet
  };

  // A product of the input at hand: the index of its sum, and the tap.
  struct HeldUse {
    int sum, weight;
    bool starts;  // where the sum has no value yet, it begins
  };

  // Of the vector at hand.
  jit::Xmm acc(int row, int column) const {
    return a_.vec((depth_ * spec_.rows + row) * spec_.columns + column);
  }
  int num_accs() const { return spec_.vecs() * spec_.rows * spec_.columns; }
  jit::Xmm temp(int i) const { return a_.vec(num_accs() + i); }
  jit::Address arg(size_t offset) const { return a_.qword[a_.rdi + static_cast<int>(offset)]; }
  int vec_bytes() const { return a_.isa().vec_bytes; }
  int depth_bytes() const { return depth_ * vec_bytes(); }

  // channel_emitter.cc
  void EmitVector();
  void StartVector();
  void LoadColumnSteps(size_t offset, int columns);
  void LoadSrcSteps();
  void LoadSrcMask();
  void EmitSegment(int index);
  void EmitRolling();
  void EmitRow(const std::vector<RowUse>& uses);
  void EmitVectorRow(const std::vector<RowUse>& uses);
  bool RollsByInputs(int temps) const;
  void EmitPrefetches();
  void EmitTap(int tap, const std::vector<RowUse>& uses);
  Xbyak::RegExp WeightsAt(int kernel_row) const;
  bool HasTap(int column, int tap) const;
  jit::Xmm Input(int column, int tap);
  int VictimFor(int column, int tap) const;
  int NextUse(int column, int column_now, int tap) const;
  void LoadInput(const jit::Xmm& x, int column);
  Xbyak::RegExp ColumnAt(RowCursor& cursor, int column);
  void StartResidualRows();
  void NextVector();
  void NextTile();
  void Advance(size_t pointer, size_t step);

  // channel_held_emitter.cc
  void EmitHeld();
  void EmitHeldFullRows();
  void EmitHeldEdgeRows();
  void CallHeldEdgeRows(size_t count, size_t before, size_t behind);
  void EmitHeldInputRow(int input_row, int rows, const jit::Reg64& at, bool starts);
  bool HoldsWeights() const { return spec_.has(ChannelSpec::kHeld) || by_inputs_; }
  void EmitRollingRow(const std::vector<RowUse>& row_uses);
  void EmitHeldInput(int column, const std::vector<HeldUse>& uses, int& next_input);
  bool IsHeld(int weight) const;
  jit::Xmm HeldWeight(int weight) const;
  void ReloadHeldWeights();
  void LoadHeldWeights(int count);

  // channel_store_emitter.cc
  void StartSums();
  void FinishSums();
  void FinishRow(int row);
  void StorePartial();
  void AddBias(int first, int last);
  void ApplyPostOps(int first, int last);
  void AddResidual(int op, int first, int last);
  void ApplyChannelScale(int op, const std::vector<jit::Xmm>& values);
  void StoreOutput(int first, int last);
  const Xbyak::Operand& DstNow();
  template <typename EmitAccess>
  void ForEachOutput(int first, int last, const Xbyak::Operand& tensor, size_t columns,
                     const jit::Address& row, const EmitAccess& emit);

  jit::Assembler& a_;
  const ChannelSpec spec_;
  int depth_ = 0;  // which vector of a pair, while its code is emitted
  // Vector registers behind the accumulators: inputs, weights, then those that stay for a whole
  // vector.
  int num_inputs_ = 0, num_weights_ = 0;
  bool by_inputs_ = false;  // kRolling: RollingOrder
  jit::Xmm permutation_, src_mask_;
  // Which column each input register holds while a row is emitted; -1: none.
  std::vector<int> held_;
  RowCursor cursor_;
  std::vector<bool> started_;  // by column (kHeld: by sum): whether something was added
  jit::Label held_edge_rows_;
  const jit::Address dst_now_ = arg(offsetof(ChannelArgs, dst_now));

  jit::RegPool pool_;
  const jit::Reg64 src_, weights_, row_, column_, by_1_, by_3_, by_5_, by_7_, row_weights_,
      weights_rows_, rows_left_, vecs_left_, half_, scratch_;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_EMITTER_H_
