// kernels/conv/widthwise/width_plan.h: a planned widthwise convolution: everything decided, kernels
// compiled. driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_WIDTHWISE_WIDTH_PLAN_H_
#define RAFTER_KERNELS_CONV_WIDTHWISE_WIDTH_PLAN_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "jit/isa.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/widthwise/blocking.h"
#include "kernels/conv/widthwise/geometry.h"
#include "kernels/conv/widthwise/pack.h"
#include "kernels/conv/widthwise/row_cut.h"
#include "kernels/conv/widthwise/spec.h"
#include "kernels/conv/widthwise/stage.h"

namespace rafter::widthwise {

// The kernels of a column for one size of channel tile: by number of output rows - 1.
struct ColumnKernels {
  int rows = 1;  // most output rows per tile
  std::array<WidthFunction*, kMaxRows> by_rows{};
};

struct RowKernels {
  RowCut cut;
  // Per column: of the wide and of the narrow channel tiles.
  std::vector<std::array<ColumnKernels, 2>> kernels;
};

class WidthPlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const ConvProblem& problem, Geometry geometry,
                                                const Blocking& blocking, Isa isa);

  const char* algorithm() const noexcept override { return "widthwise"; }
  const std::string& kernel_name() const noexcept override { return kernel_name_; }
  Isa isa() const noexcept override { return isa_; }
  int threads() const noexcept override { return blocking_.threads; }
  size_t scratch_bytes() const noexcept override {
    return stage_bytes_ * static_cast<size_t>(threads());
  }
  PackedHeader packed_header() const noexcept override { return WeightHeader(weights_); }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackWeights(weights_, oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class WidthDriver;

  WidthPlan(const ConvProblem& problem, Geometry geometry, const Blocking& blocking, Isa isa);
  Status MakeStage();
  Status CutRows();
  Status CompileKernels(RowKernels& rows);
  // Stages hold zeros for the padding of a row, which do for finite weights.
  bool has_careful_rows() const { return blocking_.staged && stage_.is_padded(); }
  // Whether even inputs are sorted out in registers.
  bool sorts_lanes() const { return geometry_.stride.w == 2 && !blocking_.staged; }
  // Of the tiles of full width. The last tiles of a row may start this much earlier than a whole
  // number of those.
  int64_t tile_pixels() const { return blocking_.max_vecs * jit::GetIsaInfo(isa_).vec_lanes(); }
  int64_t stage_margin() const {
    return std::max(2, blocking_.max_vecs / 2 + 1) * jit::GetIsaInfo(isa_).vec_lanes();
  }
  // The innermost loop of the tiles of a column.
  Line LineOf(const Column& column) const {
    const bool staged_columns = blocking_.staged && geometry_.stride.w > 1;
    return column.is_edge() || staged_columns ? Line::kChannels : geometry_.line();
  }
  void SetLoops(const RowCut& cut, const Column& column, WidthSpec& spec) const;
  // How many taps of a line are written out; the rest of a pass, if any, one by one.
  int UnrollOf(Line line) const;
  Result<WidthFunction*> Kernel(const RowCut& cut, const Column& column, int ocs, int rows);

  const Geometry geometry_;
  const Isa isa_;
  const WeightLayout weights_;
  const ChannelCut channels_;
  Blocking blocking_;
  RowKernels rows_, careful_rows_;
  Stage stage_;             // where blocking_.staged
  size_t stage_bytes_ = 0;  // per thread
  std::vector<jit::KernelPtr> owned_kernels_;
  std::vector<float> post_params_;  // alpha, beta per post-op
  std::string kernel_name_;
};

}  // namespace rafter::widthwise

#endif  // RAFTER_KERNELS_CONV_WIDTHWISE_WIDTH_PLAN_H_
