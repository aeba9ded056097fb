// kernels/conv/winograd/plan.h: a planned convolution: everything decided, kernels compiled. driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_PLAN_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_PLAN_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/winograd/blocking.h"
#include "kernels/conv/winograd/pack.h"
#include "kernels/conv/winograd/spec.h"
#include "kernels/conv/winograd/work.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/reorder/transpose_kernel.h"

namespace rafter::winograd {

// Tiles of a strip: what NCHW (and blocks narrower than a vector) is transposed through.
inline constexpr int64_t kStripTiles = 16;
// … of inputs, in bytes, where it has several rows of tiles: it should stay in L1 beside V. 436 to 12 channels at 8x8
// 64 to 55 us, 268 to 12 at 16x16 128 to 115, 96 to 24 at 12x12 1.10 (against a strip per row of tiles).
inline constexpr int64_t kStripBytes = 12 << 10;
// Pixels of a strip that are transposed together.
inline constexpr int64_t kStripRows = 8;
// Fewer columns than the transposition kernels take.
inline constexpr int64_t kFewColumns = 4;

// How tiles are cut for the product kernel of one run of panels.
struct ProductCut {
  int64_t tiles = 0, wide = 0, narrow = 0;
  ProductFunction* kernel = nullptr;
};

// Where one worker's intermediates lie.
struct Buffers {
  float *v = nullptr, *m = nullptr, *stage = nullptr;
};

class WinogradPlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const char* algorithm, const ConvProblem& problem, TileShape shape,
                                                const PlanContext& context);

  const char* algorithm() const noexcept override { return algorithm_; }
  const std::string& kernel_name() const noexcept override { return kernel_name_; }
  Isa isa() const noexcept override { return isa_.isa; }
  int threads() const noexcept override { return blocking_.threads; }
  size_t scratch_bytes() const noexcept override { return scratch_bytes_; }
  PackedHeader packed_header() const noexcept override { return HeaderOf(layout_, problem_); }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackWeights(layout_, oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  AlgorithmWork work() const noexcept override { return WorkOf(problem_, geometry_, layout_, blocking_); }
  std::string Describe() const override;

  // Transposition of full vectors of channels, and of the last one.
  struct ToStrip {
    reorder::TransposeFunction *full = nullptr, *tail = nullptr;
  };

 private:
  friend class Worker;

  Buffers BuffersOf(const ConvCall& call, int thread) const;
  void RunBlocks(const ConvCall& call, int threads) const;
  void RunShared(const ConvCall& call, int threads) const;
  void RunPositions(const ConvCall& call, int threads) const;

  WinogradPlan(const char* algorithm, const ConvProblem& problem, TileShape shape, const PlanContext& context);
  Status GetKernels();
  Status GetOutputKernels();
  Status GetTransposeKernels();
  Status Transpose(int64_t rows, int64_t zeros, reorder::TransposeFunction*& function);
  std::array<bool, kStripRows + 1> PixelRows() const;
  Status GetProductKernels();
  Status StageOutputs(const MachineModel& machine);
  void LayOutScratch();
  void CopyPostOps();
  template <typename Function, typename Spec>
  Status Keep(const Spec& spec, Function*& function);

  // Whether threads write to the same V and M.
  bool shares_intermediates() const {
    return blocking_.split == Split::kStages || blocking_.split == Split::kPositions;
  }
  bool by_vectors(Layout layout) const { return layout != Layout::kNhwc; }
  // Whether a vector of channels of a pixel is contiguous in this layout.
  bool vectors_lie_together(Layout layout) const { return ChannelBlock(layout) % layout_.lanes == 0; }
  const ProductCut& Cut(size_t run, int64_t tiles) const;
  int64_t FirstVector(int team, int thread) const;
  // Floats from one row of staged outputs to the next.
  int64_t StagedRow() const { return staged_tiles_ * geometry_.shape.out_w() * problem_.dst.w; }

  const char* algorithm_;
  const ConvProblem problem_;
  const jit::IsaInfo& isa_;
  const Geometry geometry_;
  const PackLayout layout_;
  const Blocking blocking_;
  InputFunction *input_ = nullptr, *input_scattered_ = nullptr;  // the second one for tiles that reach into the padding
  OutputFunction *output_ = nullptr, *output_tail_ = nullptr;  // of full vectors, of a partly filled last one
  std::vector<std::vector<ProductCut>> products_;              // per run of panels, for each size of a block
  // NCHW: rows of channels to pixels of a strip, and pixels of a strip, by their number, to rows of channels.
  ToStrip src_to_strip_, residual_to_strip_;
  reorder::TransposeFunction* from_strip_[kStripRows + 1] = {};
  Rows v_rows_, m_rows_;
  // Scratch in floats: per worker V, M (one of each for all where threads share blocks), and a stage.
  int64_t v_floats_ = 0, m_floats_ = 0, stage_floats_ = 0;
  int64_t strip_rows_ = 1;  // of tiles, in a strip of inputs
  size_t scratch_bytes_ = 0;
  std::vector<jit::KernelPtr> kernels_;     // keeps them alive
  std::vector<float> post_params_;          // alpha, beta per post-op
  std::vector<std::vector<float>> scales_;  // per post-op, by group and vector as the bias
  std::vector<Strides> residuals_;          // per post-op
  std::vector<float> zeros_;                // the channels of a pixel in the padding
  bool prefetches_ = false;                 // inputs and outputs come from beyond L2, while products are computed
  // NHWC outputs that the caches don't keep: so many tiles at a time go to the stage, whose rows are stored past the
  // caches. 0: tiles write in place.
  int64_t staged_tiles_ = 0;
  reorder::CopyFunction* stream_ = nullptr;
  std::string kernel_name_;
};

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_PLAN_H_
