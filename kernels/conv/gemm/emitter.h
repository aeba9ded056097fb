// kernels/conv/gemm/emitter.h: GemmSpec → machine code.
#ifndef RAFTER_KERNELS_CONV_GEMM_EMITTER_H_
#define RAFTER_KERNELS_CONV_GEMM_EMITTER_H_

#include <cstddef>
#include <string>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "jit/post_op_emitter.h"
#include "jit/reg_pool.h"
#include "kernels/conv/gemm/spec.h"
#include "rafter/status.h"

namespace rafter::gemm {

// "gemm_f32_avx2_3v_oc4_relu".
std::string KernelName(const GemmSpec& spec);

// From the code cache, compiled when it is not there.
Result<jit::KernelPtr> GetGemmKernel(const GemmSpec& spec);

class GemmEmitter {
 public:
  GemmEmitter(const GemmSpec& spec, jit::Assembler& assembler);
  void Emit();

 private:
  using Address = jit::Address;
  using Label = jit::Label;
  using Reg64 = jit::Reg64;
  using RegExp = Xbyak::RegExp;
  using Xmm = jit::Xmm;

  void LoadPanelSteps();
  void PrefetchOutput();
  template <typename Fetch>
  void PrefetchChannels(size_t tensor, size_t channel_step, const Fetch& fetch);
  void StartCopies();
  void EmitCopies();
  void EndCopies();
  void StartSums();
  void EmitTaps();
  void EmitTap(int k);
  void LoadInputs(int k);
  void EmitCarefulTap();
  void FinishTile();
  void AddBias();
  void ApplyPostOps();
  void ApplyChannelScale(int op);
  void AddResidual(int op);
  void StoreOutput();
  void NextTile();
  // Calls emit(address, vector, channel) for all vectors of a tensor.
  template <typename EmitAccess>
  void ForEachVector(size_t tensor, size_t channel_step, const EmitAccess& emit);
  bool IsTail(int v) const { return spec_.has(GemmSpec::kTail) && v == spec_.vecs - 1; }

  // --- registers and addresses, named by content ---
  int num_accs() const { return spec_.vecs * spec_.ocs; }
  int num_panels() const { return (spec_.ocs + kPanelChannels - 1) / kPanelChannels; }
  Xmm acc(int v, int o) const { return a_.vec(v * spec_.ocs + o); }
  Xmm temp(int i) const { return a_.vec(num_accs() + i); }
  Xmm input(int v) const { return temp(v); }
  Xmm weight() const { return temp(spec_.vecs); }
  Address arg(size_t offset) const { return a_.qword[args_ + static_cast<int>(offset)]; }
  bool reads_planes() const { return spec_.has(GemmSpec::kInPlace) || spec_.has(GemmSpec::kStaged); }
  Address weight_addr(int o, int k) const;
  // Where lines are copied: nothing else needs these registers between the prologue and the end of the sums.
  const Reg64& copy_from() const { return src_; }
  const Reg64& copy_to() const { return channel_; }
  const Reg64& run_left() const { return channel_step_; }

  const GemmSpec spec_;
  jit::Assembler& a_;
  jit::RegPool pool_;
  const Reg64 args_;
  const Reg64 src_, weights_, steps_left_, scratch_, channel_, channel_step_;
  Reg64 panel_steps_[3];  // 1, 3 and 5 times GemmArgs::weights_panel, as far as the tile needs them
  Reg64 line_, masks_;                       // kCareful only
  Reg64 plane_, plane_step_;                 // kInPlace and kStaged only
  Reg64 plane_ahead_;                        // kInPlace only
  Reg64 copies_left_, copy_ahead_;           // where lines are copied
};

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_EMITTER_H_
