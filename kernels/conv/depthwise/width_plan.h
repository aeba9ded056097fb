// kernels/conv/depthwise/width_plan.h: a planned depthwise convolution for NCHW, lanes along the
// row: everything decided, kernels compiled. width_driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/geometry.h"
#include "kernels/conv/depthwise/pack.h"
#include "kernels/conv/depthwise/width_program.h"
#include "kernels/conv/depthwise/width_registers.h"
#include "kernels/conv/plan.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/sizes.h"

namespace rafter::depthwise {

struct WidthBlocking {
  Isa isa = Isa::kNone;
  int rows = 1;  // output rows in flight
  WidthShape shape;
  int64_t tile_rows = 1;  // output rows per kernel call
  int64_t channels = 1;   // at most, per kernel call
  bool bands = false;      // bands of `rows` output rows instead of tiles that roll (width_band_emitter.cc)
  bool lines = false;  // bands of one row, kernels of one row (width_line_emitter.cc)
  bool far_ahead = false;  // inputs of the next block of rows are prefetched (WidthSpec::kFarAhead)
  bool streams = false;   // outputs of a call go through a buffer and from there past the caches
  int threads = 1;
  double predicted_us = 0;
};

// Most vectors of its tiles, 0: it has more output rows in flight than registers. For kernels within kMaxWidthTaps.
int WidthVecs(const ConvProblem& problem, Isa isa);

// Whether it takes bands, though the kernel is large.
bool PrefersBands(const ConvProblem& problem);

// Why the width kernel cannot take the problem; empty when it can.
const char* WidthRefusal(const ConvProblem& problem, Isa isa);

// Most rows of planes whose code has no loops.
int64_t MostPlaneRows(const Geometry& g);

// A tile of `rows` output rows in flight and `vecs` vectors.
WidthTile TileOf(const Geometry& g, int rows, int vecs);

WidthBlocking ChooseWidthBlocking(const Geometry& g, Isa isa, const MachineModel& machine,
                                  int threads);

// Output rows of a kernel call: `rows` of a phase from `first` on, and of the `phases` - 1 phases behind it, which are
// alike.
struct WidthRows {
  int64_t phase = 0, first = 0, rows = 0, phases = 1;
  RollingCounts counts;
  int64_t above = 0, inside = 0;  // WidthArgs
  size_t functions = 0;  // index of that of the first run
};

class WidthPlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const ConvProblem& problem,
                                                const PlanContext& context);

  const char* algorithm() const noexcept override { return "depthwise"; }
  const std::string& kernel_name() const noexcept override { return main_kernel_->name(); }
  Isa isa() const noexcept override { return blocking_.isa; }
  size_t scratch_bytes() const noexcept override {
    return blocking_.streams ? static_cast<size_t>(threads() * streamed_bytes()) : 0;
  }
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
  void ListRows();
  Status Compile();
  Status AddFunctions(WidthRows& rows);
  Status AddBandFunction();
  WidthSpec CommonSpec() const;
  Status AddCopy();
  bool MaySpill(const WidthRun& run) const;
  bool IsPlane(const WidthRun& run, const WidthRows& rows) const;
  int64_t units() const;  // blocks of rows x groups of channels x images
  // Of a thread's buffer, whole lines.
  int64_t streamed_bytes() const {
    return CeilDiv(blocking_.tile_rows * geometry_.columns.out() * kFloat, kLineBytes) * kLineBytes;
  }
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
  std::vector<WidthRows> rows_;            // all of an image
  std::vector<WidthBandRun> band_runs_;
  std::vector<WidthFunction*> functions_;  // by run, once or, where they are planes, for each of rows_
  reorder::CopyFunction* copy_ = nullptr;  // blocking_.streams
  std::vector<float> post_params_;
  std::vector<jit::KernelPtr> kernels_;
  const jit::CompiledKernel* main_kernel_ = nullptr;
  int64_t main_vecs_ = 0;  // that it computes
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_WIDTH_PLAN_H_
