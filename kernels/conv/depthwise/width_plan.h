// kernels/conv/depthwise/width_plan.h: a planned depthwise convolution for NCHW, lanes along the
// row: everything decided, kernels compiled. width_driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/depthwise/geometry.h"
#include "kernels/conv/depthwise/pack.h"
#include "kernels/conv/depthwise/width_program.h"
#include "kernels/conv/plan.h"

namespace rafter::depthwise {

struct WidthBlocking {
  Isa isa = Isa::kNone;
  int rows = 1;  // output rows in flight
  WidthShape shape;
  int64_t tile_rows = 1;  // output rows per kernel call
  int64_t channels = 1;   // at most, per kernel call
  int threads = 1;
  double predicted_us = 0;
};

// Why the width kernel cannot take the problem; empty when it can.
const char* WidthRefusal(const ConvProblem& problem, Isa isa);

WidthBlocking ChooseWidthBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                  int threads);

class WidthPlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const ConvProblem& problem,
                                                const PlanContext& context);

  const char* algorithm() const noexcept override { return "depthwise"; }
  const std::string& kernel_name() const noexcept override { return main_kernel_->name(); }
  Isa isa() const noexcept override { return blocking_.isa; }
  int threads() const noexcept override { return blocking_.threads; }
  PackedHeader packed_header() const noexcept override { return header_; }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackBlocks(geometry_.oc, geometry_.taps(), oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class WidthDriver;

  WidthPlan(const ConvProblem& problem, const PlanContext& context);
  Status Compile();
  int64_t units() const;  // rows x groups of channels x images
  // Output channels that one call can cover: one block of weights, or the outputs of one input
  // channel.
  int64_t channel_groups() const {
    return (geometry_.oc + blocking_.channels - 1) / blocking_.channels;
  }

  const PackedHeader header_;
  const Geometry geometry_;
  const WidthBlocking blocking_;
  const BlockLayout weights_;
  WidthProgram program_;
  std::vector<WidthFunction*> functions_;  // by run
  std::vector<float> post_params_;
  std::vector<jit::KernelPtr> kernels_;
  const jit::CompiledKernel* main_kernel_ = nullptr;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_
