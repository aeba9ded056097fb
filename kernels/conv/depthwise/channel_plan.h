// kernels/conv/depthwise/channel_plan.h: a planned depthwise convolution for NHWC and NCHWc:
// everything decided, kernels compiled. channel_driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_PLAN_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/column_program.h"
#include "kernels/conv/depthwise/copy.h"
#include "kernels/conv/depthwise/geometry.h"
#include "kernels/conv/depthwise/pack.h"
#include "kernels/conv/plan.h"
#include "kernels/reorder/transpose_kernel.h"

namespace rafter::depthwise {

// The runs of one phase with their kernels.
struct RowCode {
  ColumnProgram program;
  std::vector<ChannelFunction*> kernels;  // [run][piece]
};

// Why a problem in NCHW cannot go through a buffer strip by strip; empty when it can.
const char* TransposedRefusal(const ConvProblem& problem, Isa isa);

class ChannelPlan final : public ConvPlan {
 public:
  // Problems in NCHW are transposed strip by strip.
  static Result<std::unique_ptr<ConvPlan>> Make(const ConvProblem& problem,
                                                const PlanContext& context);

  const char* algorithm() const noexcept override { return "depthwise"; }
  const std::string& kernel_name() const noexcept override { return main_kernel_->name(); }
  Isa isa() const noexcept override { return isa_; }
  size_t scratch_bytes() const noexcept override {
    return blocking_.stages ? static_cast<size_t>(threads() * blocking_.staged_bytes) : 0;
  }
  int threads() const noexcept override { return blocking_.unit_threads * blocking_.strip_threads; }
  PackedHeader packed_header() const noexcept override { return header_; }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackBlocks(geometry_.oc, geometry_.taps(), oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class ChannelDriver;

  ChannelPlan(const ConvProblem& problem, const PlanContext& context);
  Status Compile();
  Status AddCopies();
  Status AddCodes(uint8_t flags);
  Result<RowCode> MakeRowCode(uint8_t flags, int rows, int64_t phase);
  Result<ChannelFunction*> Kernel(const ChannelSpec& spec);
  bool HasSameSteps() const;
  int64_t ExactColumns(int64_t behind) const;
  void ListLanes();
  void CopyParams();
  int lanes() const { return jit::GetIsaInfo(isa_).vec_lanes(); }
  // Code for vectors with these flags.
  const RowCode& code(size_t vector_run, int64_t rows, int64_t phase) const {
    const int64_t kind = blocking_.goes_down() ? 0 : rows - 1;
    return codes_[code_of_run_[vector_run] +
                  static_cast<size_t>(kind * geometry_.columns.phases() + phase)];
  }

  // As the kernels see the tensors: staged or in place.
  Steps src_steps() const;
  Steps dst_steps() const;

  const PackedHeader header_;
  const Geometry geometry_;
  const Isa isa_;
  const ChannelBlocking blocking_;
  const int64_t units_;  // blocks of output rows of all images
  const BlockLayout weights_;
  std::vector<RowCode> codes_;       // [flags][rows - 1; one kind if tiles go down][phase]
  std::vector<size_t> code_of_run_;  // index of the first code, by run of vectors
  std::vector<LaneSource>
      lane_sources_;  // of all vectors, in the order of the runs; empty unless permuted
  std::vector<float> post_params_;
  std::vector<std::vector<float>>
      scales_;                    // per post-op: by channel, padded; then the last 16 channels
  CopyFunction* copy_ = nullptr;  // where pixels are staged
  reorder::TransposeFunction* transpose_ = nullptr;  // … from and to NCHW
  std::vector<jit::KernelPtr> kernels_;
  const jit::CompiledKernel* main_kernel_ = nullptr;
  int64_t main_tiles_ = -1;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_CHANNEL_PLAN_H_
