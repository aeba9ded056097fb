// kernels/conv/tile/tile_plan.h: a planned convolution on the tile engine: everything decided, kernels compiled.
// direct/ and pointwise/ make one from their geometry; driver.cc executes it.
#ifndef RAFTER_KERNELS_CONV_TILE_TILE_PLAN_H_
#define RAFTER_KERNELS_CONV_TILE_TILE_PLAN_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jit/compiled_kernel.h"
#include "kernels/conv/plan.h"
#include "kernels/conv/tile/blocking.h"
#include "kernels/conv/tile/geometry.h"
#include "kernels/conv/tile/pack.h"
#include "kernels/conv/tile/row_program.h"
#include "kernels/conv/tile/spec.h"
#include "kernels/reorder/copy_kernel.h"
#include "kernels/sizes.h"
#include "runtime/parallel.h"

namespace rafter::tile {

// The parts of TileArgs that depend on the layer only. Edge tiles visit the kernel columns one by one;
// interior ones may see all columns of a row as one (when channels and columns are contiguous).
struct SumShape {
  int64_t blocks = 0, columns_count = 0;
  int64_t src_row_step = 0, src_block_step = 0, weights_block_step = 0;
  BlockParams full, last;
};

// A stretch of a row for one kind of channel tile, with its kernels.
struct RowStep {
  int64_t begin = 0;      // first pixel, relative to the stretch
  int64_t px = 0, tiles = 0;
  const uint8_t* columns = nullptr;
  TileFunction* kernel = nullptr;
};
struct RowSteps {
  RowProgram program;     // owns the column tables
  InlineVector<RowStep, 4> steps;
};

struct ChannelPlan {
  ChannelRun run;
  std::vector<RowSteps> rows;  // per kind of stretch, see TilePlan::StretchKind
};

// How rows are cut into stretches.
struct Stretches {
  int64_t pixels = 0, count = 1;
  int64_t grain = 1;             // all but the last one consist of full tiles of this many pixels:
  int64_t width = 0, wide = 0;   // `width` of them; the first `wide` stretches have one more
  int64_t head = 1, tail = 0;    // stretches at the ends of the row that have a program of their own

  int64_t begin(int64_t i) const { return std::min(pixels, grain * (i * width + std::min(i, wide))); }
  int64_t end(int64_t i) const { return begin(i + 1); }
  // Index of the program of stretch i: heads, tails, then inner stretches (wide, narrow).
  int64_t kind(int64_t i) const {
    if (i < head) return i;
    if (i >= count - tail) return head + i - (count - tail);
    return head + tail + (i < wide ? 0 : 1);
  }
};

class TilePlan final : public ConvPlan {
 public:
  static Result<std::unique_ptr<ConvPlan>> Make(const char* algorithm, Geometry geometry,
                                                const PlanContext& context);
  // The same with a blocking that ChooseBlocking returned for geometry and context.
  static Result<std::unique_ptr<ConvPlan>> Make(const char* algorithm, Geometry geometry,
                                                Blocking blocking, Isa isa);

  const char* algorithm() const noexcept override { return algorithm_; }
  const std::string& kernel_name() const noexcept override { return main_kernel_->name(); }
  Isa isa() const noexcept override { return isa_; }
  int threads() const noexcept override { return blocking_.threads; }
  size_t scratch_bytes() const noexcept override {
    return static_cast<size_t>(stage_floats_ * kFloat * blocking_.threads);
  }
  PackedHeader packed_header() const noexcept override { return PanelHeader(geometry_, panels_); }
  void Pack(const float* oihw, const float* bias, float* payload) const noexcept override {
    PackPanels(geometry_, panels_, oihw, bias, payload);
  }
  void Run(const ConvCall& call) const noexcept override;
  std::string Describe() const override;

 private:
  friend class TileDriver;
  friend class StageCopier;
  friend class OutputStage;

  TilePlan(const char* algorithm, Geometry geometry, Blocking blocking, Isa isa);
  // Rows or stretches that one pass over the output channels covers; staged rows are of one image.
  int64_t chunks() const;
  Range Chunk(int64_t index) const;
  // Of a row or stretch, in the whole tensor.
  int64_t FirstPixel(int64_t unit) const {
    return unit / stretches_.count * geometry_.out.w + stretches_.begin(unit % stretches_.count);
  }
  int64_t units() const { return geometry_.n * geometry_.out.h * stretches_.count; }
  int64_t work_items() const;
  bool stages_outputs() const { return blocking_.stores == Stores::kStaged; }
  Status CompileKernels();
  Status GetCopy();
  int64_t StageFloats() const;
  Status CutStretches();
  Status MakeRows(ChannelPlan& channels);
  Status MakeSteps(const TileSpec& spec, RowSteps& rows);
  // What all kernels of a channel run have in common: all but width and edges.
  TileSpec SpecOf(const ChannelRun& run) const;
  Result<TileFunction*> Kernel(TileSpec spec, int px, bool edge);
  void ShapeSums();
  SumShape ShapeSum(bool join_columns) const;
  void FillBlock(BlockParams& params, int64_t channels, bool join_columns) const;
  void CopyScales();

  const char* algorithm_;
  const Geometry geometry_;  // as the kernels see it: staged
  const Strides source_;     // of the inputs that are staged, or of the geometry
  const Size2 source_stride_;
  const Isa isa_;
  PanelLayout panels_;
  Blocking blocking_;
  Stretches stretches_;
  SumShape interior_, edge_;
  std::vector<ChannelPlan> channels_;
  int64_t channel_tiles_ = 0;   // per group
  std::vector<jit::KernelPtr> kernels_;  // keeps them alive; no two the same
  InlineVector<TileSpec, 8> specs_;      // of kernels_
  std::vector<float> post_params_;       // alpha, beta per post-op
  std::vector<std::vector<float>> scales_;  // per post-op: [group][panel][lane]
  jit::KernelPtr copy_;                  // to the stage, or from it
  int64_t stage_floats_ = 0;             // of one thread
  const jit::CompiledKernel* main_kernel_ = nullptr;  // does most of the work
  bool main_is_edge_ = false;
  bool prefetches_outputs_ = false;      // pixels of outputs lie far apart
};

// What the algorithm offers for this geometry, with a draft of its plan; `isa` must be a vector ISA.
Offer ConsiderTiles(const char* algorithm, Geometry geometry, const PlanContext& context);

}  // namespace rafter::tile

#endif  // RAFTER_KERNELS_CONV_TILE_TILE_PLAN_H_
