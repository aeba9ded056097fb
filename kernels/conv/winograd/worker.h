// kernels/conv/winograd/worker.h: one thread's work in a call. The loops: driver.cc; feeding the transforms, whatever
// the layout: input_stage.cc, output_stage.cc.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_WORKER_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_WORKER_H_

#include <algorithm>
#include <cstdint>

#include "kernels/conv/winograd/plan.h"
#include "runtime/parallel.h"

namespace rafter::winograd {

// Neighbouring tiles of one row of tiles.
struct TileRun {
  int64_t n = 0, y = 0, x = 0;  // image, row and first column of tiles
  int64_t count = 0;
  int64_t first = 0;            // index of the first one in the block
};

class Worker {
 public:
  Worker(const WinogradPlan& plan, const ConvCall& call, const Buffers& buffers);

  // The (first) group of channels.
  void SetGroup(int64_t group) { group_ = group; }
  // Input, product, output of the tiles `mine` of a block (of the whole problem): of the input channels [channels),
  // from a multiple of the lanes on; for the vectors of output channels [vecs).
  void TransformInputs(Range block, Range mine, Range channels);
  void TransformInputs(Range block, Range mine) { TransformInputs(block, mine, {0, problem_.ic_g}); }
  // Whether the inputs of some channels may be transformed alone.
  bool CutsInputChannels() const {
    const Layout layout = problem_.desc.src.layout;
    return plan_.by_vectors(layout) && !plan_.vectors_lie_together(layout);
  }
  void Multiply(int64_t tiles, Range vecs);
  // All output channels, some positions.
  void MultiplyPositions(int64_t tiles, Range positions);
  // The same for all vectors of a block, while what lies in memory comes nearer: the lines of the block's outputs, and
  // the inputs of the next block (`next`, of next_group on; may be empty).
  void MultiplyAhead(Range block, Range next, int64_t next_group);
  void TransformOutputs(Range block, Range mine, Range vecs);

 private:
  void MultiplyGroup(int64_t index, int64_t tiles, Range vecs);
  ProductArgs ArgsOf(size_t run, int64_t index, int64_t tiles, Range panels) const;
  TileRun OneTile(int64_t tile) const;
  void PrefetchShare(Range block, Range next, int64_t next_group, int shares, int share) const;
  template <typename Visit>
  void ForEachRun(Range block, Range mine, int64_t longest, const Visit& visit) const;

  // --- input_stage.cc ---
  void TransformPixels(const TileRun& run);
  void PrefetchInputs(int64_t group, const TileRun& run, bool is_first) const;
  void FindPixels(const float* image, int64_t y, int64_t x, InputArgs& args) const;
  void TransformStrips(Range block, Range mine, Range channels);
  void TransformBlocks(const TileRun& run);
  void TransformStrip(const TileRun& run, int64_t rows, int64_t channel);
  void FillStrip(const TileRun& run, int64_t rows, int64_t channel, int64_t columns);
  void CopyBlocks(const float* from, int64_t channels, int64_t pixels, float* to) const;
  // Rows of channels of an NCHW tensor; strides in floats.
  struct ChannelRows {
    int64_t channel_stride = 0, row_stride = 0;
    int64_t channels = 0, rows = 0;
  };
  void TransposeChannels(const WinogradPlan::ToStrip& kernels, const float* from, const ChannelRows& rows,
                         int64_t pixels, float* strip, int64_t strip_row) const;
  bool IsInside(int64_t y, int64_t x) const;

  // --- output_stage.cc ---
  void StorePixels(const TileRun& run, Range vecs);
  void StoreTiles(const TileRun& run, Range vecs, float* first, int64_t dst_row);
  void StreamRows(const TileRun& run, float* first) const;
  void PrefetchOutputs(const TileRun& run, int64_t tile, Range vecs) const;
  void StoreVector(const TileRun& run, int64_t vec);
  void StoreThroughStrip(const TileRun& run, int64_t vec);
  void SetChannels(OutputArgs& args, int64_t vec) const;
  void CopyStrip(const TileRun& run, int64_t vec, int64_t row_px, float* tensor, const Strides& s, float* strip,
                 bool out) const;
  int64_t RoundUpToBlock(int64_t block) const;
  void ClearVector(const TileRun& run, int64_t channel) const;
  void TransposePixels(const float* strip, float* to, int64_t channel_stride, int64_t channels, int64_t pixels) const;
  int64_t PixelMask(int64_t y, int64_t x) const;

  const WinogradPlan& plan_;
  const ConvProblem& problem_;
  const Geometry& geometry_;
  const TileShape& shape_;
  const ConvCall& call_;
  const Buffers buffers_;
  const int lanes_;
  int64_t group_ = 0;
  // Sizes of the strip of inputs, and the part of it that is not padding: those around it are still zero.
  struct StripShape {
    int64_t columns = 0, rows = 0, top = 0, bottom = 0, begin = 0, end = 0;
    bool operator==(const StripShape&) const = default;
  };
  StripShape strip_;
};

template <typename Visit>
void Worker::ForEachRun(Range block, Range mine, int64_t longest, const Visit& visit) const {
  const int64_t per_row = geometry_.tiles_w, per_image = geometry_.tiles_h * per_row;
  for (int64_t tile = mine.begin; tile < mine.end;) {
    TileRun run;
    run.n = tile / per_image;
    run.y = tile % per_image / per_row, run.x = tile % per_row;
    run.count = std::min({longest, per_row - run.x, mine.end - tile});
    run.first = tile - block.begin;
    visit(run);
    tile += run.count;
  }
}

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_WORKER_H_
