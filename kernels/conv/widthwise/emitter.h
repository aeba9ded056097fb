// kernels/conv/widthwise/emitter.h: WidthSpec → machine code. Reads like the loop nest in spec.h.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_EMITTER_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_EMITTER_H_

#include <cstddef>
#include <string>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/post_op_emitter.h"
#include "jit/reg_pool.h"
#include "kernels/conv/widthwise/spec.h"
#include "rafter/status.h"

namespace rafter::widthwise {

// "width_f32_avx2_3v_oc4_rows1_edge_relu".
std::string KernelName(const WidthSpec& spec);

// From the code cache, compiled when it is not there.
Result<jit::KernelPtr> GetWidthKernel(const WidthSpec& spec);

class WidthEmitter {
 public:
  WidthEmitter(const WidthSpec& spec, jit::Assembler& assembler);
  void Emit();

 private:
  using Address = jit::Address;
  using Label = jit::Label;
  using Reg64 = jit::Reg64;
  using RegExp = Xbyak::RegExp;
  using Xmm = jit::Xmm;

  struct RowRange {
    int low, high;  // output rows that use the input row, both included
  };

  // --- the sum (emitter.cc) ---
  void LoadConstants();
  void PrefetchOutput();
  void StartSums();
  void EmitInputRows();
  void EmitRowsBefore();
  void EmitRowsBehind();
  // One input row for these output rows, and on to the next one.
  void EmitInputRow(RowRange rows);
  void EmitColumns(RowRange rows);
  void EmitColumnLoop(RowRange rows);
  void EmitCodeDispatch(RowRange rows, const Label& column_end);

  // --- a line of taps (line_emitter.cc) ---
  // `index`: of the column, for its masks.
  void EmitLine(RowRange rows, TapCode code, int index);
  // What happens to masked lanes: not multiplied at all, or multiplied as zeros.
  enum class Masking { kLeaveOut, kZero };
  void EmitLine(RowRange rows, TapCode code, int index, Masking masking);
  void EmitTap(RowRange rows, TapCode code, int index, int tap);
  void EmitMaskedVector(RowRange rows, int v, int index, int tap);
  void EmitVectors(RowRange rows, int begin, int end, TapCode code, int index, int tap);
  void LoadInput(const Xmm& x, int v, bool masked, int index, const Xmm& spare);
  bool IsMasked(int v, TapCode code) const;
  bool InputsStay(RowRange rows, int vecs) const;
  bool HasSpareTemp(RowRange rows) const;
  int WeightsPerTap(RowRange rows) const { return (rows.high - rows.low + 1) * spec_.ocs; }
  RegExp Source(int v) const;
  Address Weight(int row, int oc, int tap) const;

  // --- the end of a tile (store_emitter.cc) ---
  void FinishTile();
  void StorePartial();
  void OrderPixels();
  void AddBias();
  void ApplyPostOps();
  void ApplyChannelScale(int op);
  void AddResidual(int op);
  void StoreOutput();
  void NextTile();
  // Calls emit(address, row, vector, oc) for all vectors of a tensor in dst order.
  template <typename EmitAccess>
  void ForEachVector(size_t tensor, size_t row_step, size_t channel_step, const EmitAccess& emit);
  bool IsTail(int v) const { return spec_.has(WidthSpec::kTail) && v == spec_.vecs - 1; }
  bool IsShifted(int v) const { return spec_.has(WidthSpec::kShift) && v == spec_.vecs - 1; }

  // --- registers and addresses, named by content ---
  int num_accs() const { return spec_.rows * spec_.vecs * spec_.ocs; }
  Xmm acc(int r, int v, int o) const { return a_.vec((r * spec_.vecs + v) * spec_.ocs + o); }
  Xmm temp(int i) const { return a_.vec(num_accs() + i); }
  int temps() const { return a_.isa().num_vecs - num_accs(); }
  Address arg(size_t offset) const { return a_.qword[args_ + static_cast<int>(offset)]; }
  // Bytes of input that a vector of pixels spans, and of the masks of a tap.
  int vector_step() const { return a_.isa().vec_bytes * (spec_.has(WidthSpec::kStride2) ? 2 : 1); }
  int rows_before() const { return (spec_.rows - 1) * spec_.row_distance; }
  int tap_bytes() const { return spec_.ocs * static_cast<int>(sizeof(float)); }  // of weights
  int mask_bytes() const { return spec_.vecs * vector_step(); }

  const WidthSpec spec_;
  jit::Assembler& a_;
  jit::RegPool pool_;
  const Reg64 args_;
  const Reg64 src_row_, src_column_, src_, weights_, rows_left_, columns_left_, line_left_;
  const Reg64 line_step_, column_step_, scratch_;
  Reg64 row_back_;          // several rows only
  Reg64 tap_code_, masks_;  // edge kernels only
  Reg64 shift_;             // kShift only
};

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_EMITTER_H_
