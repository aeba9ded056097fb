// kernels/conv/gemm/gemm_plan.h: a planned matrix product: everything decided, kernels compiled. driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_GEMM_GEMM_PLAN_H_
#define RAFTER_KERNELS_CONV_GEMM_GEMM_PLAN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "jit/isa.h"
#include "kernels/conv/gemm/blocking.h"
#include "kernels/conv/gemm/columns.h"
#include "kernels/conv/gemm/pack.h"
#include "kernels/conv/gemm/picker.h"
#include "kernels/conv/gemm/spec.h"
#include "kernels/conv/gemm/stage.h"
#include "kernels/conv/plan.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/sizes.h"

namespace rafter::gemm {

// Kernels of one width of tile: for whole tiles of channels, and for the channels that are left.
struct TileKernels {
  GemmFunction *whole = nullptr, *rest = nullptr;
  // The same, the first ones to see a panel whose X is read in place.
  GemmFunction *first_whole = nullptr, *first_rest = nullptr;
};

class GemmPlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const ConvProblem& problem, const Blocking& blocking, Isa isa);

  const char* algorithm() const noexcept override { return "gemm"; }
  const std::string& kernel_name() const noexcept override { return kernel_name_; }
  Isa isa() const noexcept override { return isa_; }
  int threads() const noexcept override { return blocking_.threads; }
  size_t scratch_bytes() const noexcept override { return thread_bytes_ * static_cast<size_t>(threads()); }
  PackedHeader packed_header() const noexcept override { return WeightHeader(weights_); }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackWeights(weights_, oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class GemmDriver;

  GemmPlan(const ConvProblem& problem, const Blocking& blocking, Isa isa);
  Status LayOutScratch();
  Status LayOutStage();
  Status CompileKernels();
  Result<GemmFunction*> Kernel(int vecs, int ocs, uint8_t flags);
  // Tiles of the last segment, or of all others.
  const std::vector<int32_t>& Tiles(int64_t segment) const {
    return segment == blocking_.segments - 1 ? last_tiles_ : tiles_;
  }
  // Columns that are read in place are read once per block of channels: one panel serves after another. Gathered ones
  // stay for all blocks.
  bool reads_in_place() const { return columns_.is_plain() && !is_staged(); }
  bool is_staged() const { return blocking_.staged; }
  // So are those that are picked from the planes.
  bool has_one_panel() const { return columns_.is_plain() || picker_.is_used(); }
  // Whose unfinished sums are parked at a time.
  int64_t parked_channels() const {
    return has_one_panel() ? std::min(part_channels(), blocking_.block_channels) : part_channels();
  }
  bool has_passes() const { return blocking_.pass < weights_.sum_length(); }
  int tail_lanes() const { return static_cast<int>(pixels_ % jit::GetIsaInfo(isa_).vec_lanes()); }
  int64_t part_channels() const;  // at most, per item
  // Lines of a tile's pixels in all input planes; while so many pixels are computed, so many are copied.
  int64_t TileLines(int64_t pixels) const { return CeilDiv(pixels * kFloat * problem_.ic_g, kLineBytes); }
  int64_t CopiesPerPass() const;

  const ConvProblem problem_;
  const std::vector<Strides> residuals_;  // one per post-op, used where the post-op is kResidualAdd
  const Isa isa_;
  const WeightLayout weights_;
  const Columns columns_;
  Picker picker_;  // where it fits
  const Blocking blocking_;
  const int64_t pixels_;  // per image
  std::vector<int32_t> tiles_, last_tiles_;
  // Per thread, in floats: a line of pixels, panels, masks, parked sums.
  int64_t line_floats_ = 0, panel_floats_ = 0, partial_floats_ = 0;
  // The same where segments are staged: two stages of inputs, one of outputs.
  int64_t stage_row_ = 0, stage_floats_ = 0, out_stage_floats_ = 0;
  jit::KernelPtr copy_out_;
  size_t thread_bytes_ = 0;
  std::array<std::array<TileKernels, 2>, kMaxVecs> kernels_{};  // [vectors - 1][last vector partly used]
  std::array<GemmFunction*, 2> careful_{};                      // [partly used]
  std::vector<jit::KernelPtr> owned_kernels_;
  std::vector<float> post_params_;  // alpha, beta per post-op
  std::string kernel_name_;
};

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_GEMM_PLAN_H_
