// kernels/conv/strip/strip_plan.h: a planned convolution on the strip engine: everything decided, kernels compiled.
// splitk/ and grouped/ make one from their pieces; driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_STRIP_STRIP_PLAN_H_
#define RAFTER_KERNELS_CONV_STRIP_STRIP_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/strip/pack.h"
#include "kernels/conv/strip/piece.h"
#include "kernels/conv/strip/row_cut.h"
#include "kernels/conv/strip/spec.h"

namespace rafter::strip {

// Why the engine cannot take the problem, whatever the pieces; null when it can. A literal.
const char* RefusalOf(const ConvProblem& problem);

// Kernels of one tap without padding: the problem with all rows, and if possible images, joined to one row, where every
// tensor allows it. Any other problem as it is.
ConvProblem JoinRows(const ConvProblem& problem);

// Predicted time of the whole problem.
double PredictUs(const ConvProblem& problem, const std::vector<Piece>& pieces,
                 const PlanContext& context);

// A strip of a row, ready to be run.
struct Strip {
  int64_t x = 0;              // first pixel
  int64_t first_column = 0;   // where not all columns of the kernel are run: groups of columns
  int64_t column_groups = 1;
  bool has_taps = true;
  StripFunction* kernel = nullptr;
};

// A piece with its kernels.
struct PiecePlan {
  Piece piece;
  PackedPiece packed;
  RowCut cut;
  StripFunction *wide = nullptr, *narrow = nullptr;  // of interior strips
  std::vector<StripFunction*> head, tail;            // of cut.head, cut.tail
  int64_t chunks = 0;                                // full steps per tap
  int rest_lanes = 0;                                // lanes of a shorter load
  int64_t column_groups = 1;                         // per kernel row
  bool down_rows = false;                            // which strips one kernel call runs through, see driver.cc
  uint16_t prefetch = 0;                             // as in StripSpec
  int64_t prefetch_offset = 0, prefetch_step = 0, dst_prefetch_offset = 0;

  Strip StripAt(int64_t item) const;                 // item < cut.items()
};

class StripPlan final : public ConvPlan {
 public:
  // `pieces` must follow from the layer alone.
  static Result<std::unique_ptr<ConvPlan>> Make(const char* algorithm, PackedFormat format,
                                                const ConvProblem& problem,
                                                const std::vector<Piece>& pieces,
                                                const PlanContext& context);

  const char* algorithm() const noexcept override { return algorithm_; }
  const std::string& kernel_name() const noexcept override { return kernel_name_; }
  Isa isa() const noexcept override { return isa_; }
  int threads() const noexcept override { return row_threads_ * channel_threads_; }
  PackedHeader packed_header() const noexcept override {
    return HeaderOf(layer_, layout_, format_);
  }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackPieces(layer_, pieces_, layout_, oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class StripDriver;

  StripPlan(const char* algorithm, PackedFormat format, const ConvProblem& problem,
            const std::vector<Piece>& pieces, const PlanContext& context);
  Status AddPiece(const Piece& piece, const PackedPiece& packed);
  bool GoesDownRows(const PiecePlan& plan) const;
  void ChoosePrefetch(PiecePlan& plan);
  Result<StripFunction*> Kernel(const PiecePlan& plan, int px, int64_t skip_first, int64_t skip_last);
  Status AddEdgeKernels(PiecePlan& plan, const std::vector<EdgeStrip>& strips,
                        std::vector<StripFunction*>& kernels);
  void ChooseRows(const MachineModel& machine);
  void ChooseThreads(int threads);
  void CopyPostOps();

  const char* algorithm_;
  const PackedFormat format_;
  const ConvProblem problem_;
  const Isa isa_;
  const Layer layer_;
  const std::vector<Piece> pieces_;
  const PackLayout layout_;
  std::vector<PiecePlan> piece_plans_;
  int px_cap_ = 0;
  int64_t l1_bytes_ = 0;
  int64_t segments_ = 1;         // parts of a row: for threads, or so that their inputs stay in L1 for all pieces
  int64_t rows_per_block_ = 1;   // whose inputs stay in L2
  int row_threads_ = 1, channel_threads_ = 1;
  std::vector<jit::KernelPtr> kernels_;     // keeps them alive
  std::vector<float> post_params_;          // alpha, beta per post-op
  std::vector<std::vector<float>> scales_;  // per post-op; laid out as the bias of all pieces
  std::vector<Strides> residuals_;          // per post-op
  std::string kernel_name_;
};

}  // namespace rafter::strip

#endif  // RAFTER_KERNELS_CONV_STRIP_STRIP_PLAN_H_
