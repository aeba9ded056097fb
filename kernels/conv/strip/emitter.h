// kernels/conv/strip/emitter.h: StripSpec → machine code. Reads like the loop nest in spec.h.
#ifndef RAFTER_KERNELS_CONV_STRIP_EMITTER_H_
#define RAFTER_KERNELS_CONV_STRIP_EMITTER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/post_op_emitter.h"
#include "jit/reg_pool.h"
#include "kernels/conv/strip/result_map.h"
#include "kernels/conv/strip/spec.h"
#include "rafter/status.h"

namespace rafter::strip {

// "strip_f32_avx2_px12_vector1_k3_skip1+0_relu".
std::string KernelName(const StripSpec& spec);

// From the code cache, compiled when it is not there.
Result<jit::KernelPtr> GetStripKernel(const StripSpec& spec);

class StripEmitter {
 public:
  StripEmitter(const StripSpec& spec, jit::Assembler& assembler);
  void Emit();

 private:
  using Address = jit::Address;
  using Label = jit::Label;
  using Reg64 = jit::Reg64;
  using Xmm = jit::Xmm;

  // Vector registers of one step.
  struct StepRegs {
    Xmm input, other, index, mask;
    int first_free = 0, count_free = 0;
  };

  // --- the sum (emitter.cc) ---
  void EmitRows();
  void EmitSteps();
  void StartPrefetch();
  void EmitStep(int step, bool is_rest);
  StepRegs TakeStepRegs(int step, bool is_rest);
  // One accumulator per pixel: inputs pass by, the weights of some columns stay.
  void EmitSharedColumns(int step, bool is_rest, const StepRegs& regs);
  // Several accumulators per pixel: column by column, whichever is fewer, weights or inputs, stays.
  void EmitColumn(int column, int step, bool is_rest, const StepRegs& regs);
  // Brings the inputs at `position` (in input pixels from the strip's first tap) into the lanes of `to`.
  void EmitFeed(const Xmm& to, int64_t position, int step, bool is_rest, const StepRegs& regs);

  // --- the end of a strip (finish_emitter.cc) ---
  void FinishStrip();
  void AddParts();
  void AddPartsOfVectors(int group);
  void AddBias();
  void ApplyPostOps();
  void ApplyChannelScale(int op);
  void AddResidual(int op);
  void AddResidualSegment(int op, const Segment& segment);
  void Store();
  void NextStrip();

  // --- facts and addresses ---
  int lanes() const { return a_.isa().vec_lanes(); }
  int num_accs() const { return spec_.px * spec_.vecs; }
  Xmm acc(int p, int v) const { return a_.vec(AccIndex(p, v, spec_.vecs)); }
  // Registers behind the accumulators, free when the sum is complete.
  Xmm temp(int i) const { return a_.vec(num_accs() + i); }
  Xmm result(const ResultVector& r) const;
  int64_t Position(int p, int column) const {
    return int64_t{p} * spec_.stride + int64_t{column} * spec_.dilation;
  }
  bool Reaches(int p, int column) const;
  // Whether loads of kInLane and kPermute must stop before the end of a vector.
  bool LoadsPart() const { return HoldsGroups(spec_.feed) && spec_.groups * spec_.ic < lanes(); }
  Address WeightsAt(int step, int column, int v) const;
  Address arg(size_t offset) const { return a_.qword[args_ + static_cast<int>(offset)]; }

  const StripSpec spec_;
  jit::Assembler& a_;
  jit::RegPool pool_;
  const std::vector<ResultVector> results_;
  const Reg64 args_, src_row_, src_column_, src_, weights_row_, weights_, rows_left_, columns_left_,
      chunks_left_, scratch_, more_scratch_, prefetch_;
};

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_EMITTER_H_
