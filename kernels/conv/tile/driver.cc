// kernels/conv/tile/driver.cc: executes a TilePlan: threads, loop nest, arguments of each kernel call.
//
//   for each chunk of rows            inputs of a chunk stay in L2; of some groups at a time, where they are staged;
//                                     one item of work where its outputs are staged or there is little to do
//     for each channel tile           its weights stay in L1 or L2
//       for each part of the rows     one item of work; threads share the items in this order
//         for each pass               weights of some input channels; sums in between are parked
//           for each row of the part
//             for each step of the row  one kernel call: neighbouring tiles of one width
#include <algorithm>

#include "kernels/conv/tile/output_stage.h"
#include "kernels/conv/tile/stage_copier.h"
#include "kernels/conv/tile/tile_plan.h"
#include "kernels/conv/tile/tuning.h"
#include "kernels/lane_masks.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"
#include "runtime/work_shares.h"

namespace rafter::tile {

namespace {

// Offset in bytes of channel `c`.
int64_t ChannelOffset(Layout layout, const Strides& s, int64_t c) {
  const int64_t block = ChannelBlock(layout);
  return block == 1 ? c * kFloat : ((c / block) * s.c + c % block) * kFloat;
}

}  // namespace

// One thread's work.
class TileDriver {
 public:
  TileDriver(const TilePlan& plan, const ConvCall& call, int thread)
      : plan_(plan),
        g_(plan.geometry_),
        call_(call),
        src_(call.src),
        dst_(call.dst),
        stage_(plan, call, StageOf(plan, call, thread)),
        output_stage_(plan, call, StageOf(plan, call, thread)) {
    SetTensor();
  }

  void RunItem(int64_t item);
  // After the last item.
  void Finish() const {
    if (plan_.blocking_.stores != Stores::kCached) FinishStores();
  }

 private:
  static float* StageOf(const TilePlan& plan, const ConvCall& call, int thread) {
    return reinterpret_cast<float*>(call.scratch) + thread * plan.stage_floats_;
  }
  void RunChunk(int64_t chunk);
  void SetTensor();
  void SetChannelTile(int64_t index);
  void PrefetchInputs(const RowStep& step);
  void PrefetchOutputs(const RowStep& step) const;
  void RunPasses(Range units, bool has_next_tile);
  void StartPrefetch(const float* weights, int64_t bytes);
  void ContinuePrefetch(int64_t tiles);
  void RunUnit(int64_t unit, float* partial);
  void SetSum(const SumShape& sum, const TapRange& taps);
  void SetPosition(const RowStep& step, int64_t n, int64_t y, int64_t x, const TapRange& taps);

  const TilePlan& plan_;
  const Geometry& g_;
  const ConvCall& call_;
  const float* src_;                              // first pixel of the tensor, where the kernels find it
  float* dst_;                                    // … and where they put it
  StageCopier stage_;
  OutputStage output_stage_;
  int64_t tile_ = -1;                             // the current channel tile
  const ChannelPlan* channels_ = nullptr;
  const float* weights_ = nullptr;                // of the current channel tile, its first block
  int64_t src_channel_ = 0, dst_channel_ = 0;     // bytes, of the current channel tile
  int64_t residual_channel_[kMaxPostOps] = {};
  int64_t last_unit_ = 0;  // end of the current item's rows
  Range blocks_;        // of input channels, of the current pass
  bool is_last_pass_ = true;
  // The weights that come after those in use: next_bytes_ of each panel (0: none, or all of them fetched).
  const float* next_weights_ = nullptr;
  int64_t next_bytes_ = 0, next_panel_ = 0, prefetched_bytes_ = 0;
  TileArgs args_;       // each field is set before the first kernel that reads it
};

void TileDriver::SetTensor() {
  args_.src_px = g_.stride.w * g_.src.w * kFloat;
  args_.dst_px = g_.dst.w * kFloat;
  args_.dst_block = g_.dst.c * kFloat;
  args_.panel = plan_.panels_.panel_stride * kFloat;
  const bool is_aligned = reinterpret_cast<uintptr_t>(call_.dst) % kLineBytes == 0;
  args_.stream = plan_.blocking_.stores == Stores::kStreamed && is_aligned;
  args_.post_params = plan_.post_params_.data();
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    args_.residual_px[op] = g_.residuals[op].w * kFloat;
    args_.residual_block[op] = g_.residuals[op].c * kFloat;
  }
}

void TileDriver::SetChannelTile(int64_t index) {
  const int64_t group = index / plan_.channel_tiles_;
  int64_t tile = index % plan_.channel_tiles_;
  channels_ = plan_.channels_.data();
  while (tile >= channels_->run.count) tile -= channels_->run.count, ++channels_;
  const ChannelRun& run = channels_->run;
  const PanelLayout& panels = plan_.panels_;
  const int64_t vec = run.first_vec + tile * run.oc_vecs;
  const int64_t channel = group * g_.oc_g + vec * panels.lanes;
  weights_ = call_.weights + panels.weights(group, vec);
  args_.bias = call_.weights + panels.bias(group, vec);
  args_.tail_mask = FirstLanes(run.tail_lanes);
  const int64_t staged = plan_.blocking_.staging.groups;
  src_channel_ = ChannelOffset(g_.src_layout, g_.src, (staged > 0 ? group % staged : group) * g_.ic_g);
  dst_channel_ = ChannelOffset(g_.dst_layout, g_.dst, channel);
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    residual_channel_[op] = ChannelOffset(g_.dst_layout, g_.residuals[op], channel);
    if (!plan_.scales_[op].empty()) {
      args_.scale[op] = plan_.scales_[op].data() + panels.bias(group, vec);
    }
  }
}

void TileDriver::RunUnit(int64_t unit, float* partial) {
  const Stretches& stretches = plan_.stretches_;
  const int64_t stretch = unit % stretches.count, row = unit / stretches.count;
  const int64_t n = row / g_.out.h, y = row % g_.out.h;
  const TapRange taps =
      ValidTaps(y, g_.in.h, g_.kernel.h, g_.stride.h, g_.dilation.h, g_.pad_top);
  const int64_t pixel_floats = channels_->run.oc_vecs * plan_.panels_.lanes;
  for (const RowStep& step : channels_->rows[stretches.kind(stretch)].steps) {
    SetSum(step.columns != nullptr ? plan_.edge_ : plan_.interior_, taps);
    SetPosition(step, n, y, stretches.begin(stretch) + step.begin, taps);
    args_.partial = args_.load_partial + args_.store_partial > 0
                        ? partial + step.begin * pixel_floats : nullptr;
    if (next_bytes_ > 0) ContinuePrefetch(step.tiles);
    if (plan_.blocking_.inputs != InputPrefetch::kNone) PrefetchInputs(step);
    if (plan_.prefetches_outputs_ && unit + 1 < last_unit_) PrefetchOutputs(step);
    step.kernel(&args_);
  }
}

void TileDriver::SetSum(const SumShape& sum, const TapRange& taps) {
  args_.blocks = std::min(blocks_.end, sum.blocks) - blocks_.begin;
  args_.rows = taps.end - taps.begin;
  args_.columns_count = sum.columns_count;
  args_.src_row_step = sum.src_row_step;
  args_.src_block_step = sum.src_block_step;
  args_.weights_block_step = sum.weights_block_step;
  args_.full = sum.full, args_.last = is_last_pass_ ? sum.last : sum.full;
  for (BlockParams* block : {&args_.full, &args_.last}) {
    block->weights_row_offset = taps.begin * sum.columns_count * block->weights_skip;
  }
}

void TileDriver::SetPosition(const RowStep& step, int64_t n, int64_t y, int64_t x,
                             const TapRange& taps) {
  const int64_t in_y = y * g_.stride.h - g_.pad_top + taps.begin * g_.dilation.h;
  const int64_t in_x = x * g_.stride.w - g_.pad_left;
  args_.src = Shift(src_, (n * g_.src.n + in_y * g_.src.h + in_x * g_.src.w) * kFloat +
                                   src_channel_ + blocks_.begin * args_.src_block_step);
  args_.dst = Shift(dst_, (n * g_.dst.n + y * g_.dst.h + x * g_.dst.w) * kFloat + dst_channel_);
  args_.columns = step.columns;
  args_.tiles = step.tiles;
  args_.src_tile = step.px * args_.src_px;
  args_.dst_tile = step.px * args_.dst_px;
  int next_residual = 0;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    if (g_.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    const Strides& s = g_.residuals[op];
    args_.residual[op] = Shift(call_.residuals[next_residual++],
                               (n * s.n + y * s.h + x * s.w) * kFloat + residual_channel_[op]);
    args_.residual_tile[op] = step.px * args_.residual_px[op];
  }
}

// Kernels prefetch a line per four input channels; every second one of a stream where tiles are wide.
void TileDriver::PrefetchInputs(const RowStep& step) {
  const bool first = tile_ % plan_.channel_tiles_ == 0;
  args_.ahead = first ? args_.src_tile : 0;
  args_.ahead_back = kLineBytes - step.px * args_.src_px;
  if (!first || plan_.blocking_.inputs != InputPrefetch::kStream) return;
  args_.prefetch = Shift(args_.src, kInputsAhead);
  args_.prefetch_step = step.px > 4 ? 2 * kLineBytes : kLineBytes;
}

// The lines that the next row's outputs of these tiles go to, where pixels lie on pages of
// their own, which no prefetcher of the CPU follows: stores wait for them otherwise.
void TileDriver::PrefetchOutputs(const RowStep& step) const {
  const int64_t channels = std::min(channels_->run.oc_vecs * plan_.panels_.lanes, g_.oc_g);
  const float* row = Shift(args_.dst, g_.dst.h * kFloat);
  for (int64_t px = 0; px < step.px * step.tiles; ++px) {
    const float* pixel = Shift(row, px * args_.dst_px);
    for (int64_t c = 0; c < channels; c += kLineFloats) __builtin_prefetch(Shift(pixel, c * kFloat), 1);
  }
}

void TileDriver::RunItem(int64_t item) {
  const Blocking& b = plan_.blocking_;
  if (b.takes_whole_chunks) return RunChunk(item);
  const int64_t tiles = g_.groups * plan_.channel_tiles_;
  const int64_t tile = item / b.parts % tiles, chunk = item / b.parts / tiles;
  if (b.staging.used()) src_ = stage_.Copy(chunk, tile / (plan_.channel_tiles_ * b.staging.groups));
  if (tile != tile_) SetChannelTile(tile);
  tile_ = tile;
  const Range units = plan_.Chunk(chunk);
  const Range part = SplitRange(units.end - units.begin, b.parts, item % b.parts);
  RunPasses({units.begin + part.begin, units.begin + part.end}, tile + 1 < tiles);
}

// All channels of a chunk.
void TileDriver::RunChunk(int64_t chunk) {
  const Range units = plan_.Chunk(chunk);
  if (plan_.stages_outputs()) dst_ = output_stage_.Begin(units);
  const int64_t tiles = g_.groups * plan_.channel_tiles_;
  for (tile_ = 0; tile_ < tiles; ++tile_) {
    SetChannelTile(tile_);
    RunPasses(units, tile_ + 1 < tiles);
  }
  if (plan_.stages_outputs()) output_stage_.Flush();
}

void TileDriver::RunPasses(Range units, bool has_next_tile) {
  const int64_t blocks = plan_.edge_.blocks, step = plan_.blocking_.channel_blocks_per_pass;
  const int64_t block_bytes = plan_.edge_.weights_block_step;
  alignas(64) float partial[kPartialBytes / kFloat];
  const int64_t unit_floats =  // nothing is parked in a single pass
      step >= blocks ? 0 : plan_.stretches_.end(0) * channels_->run.oc_vecs * plan_.panels_.lanes;
  for (int64_t begin = 0; begin < blocks; begin += step) {
    blocks_ = {begin, std::min(begin + step, blocks)};
    is_last_pass_ = blocks_.end == blocks;
    args_.load_partial = begin > 0;
    args_.store_partial = !is_last_pass_;
    args_.weights = Shift(weights_, begin * block_bytes);
    if (!is_last_pass_) {
      StartPrefetch(Shift(weights_, blocks_.end * block_bytes), (blocks - blocks_.end) * block_bytes);
    } else if (has_next_tile) {
      StartPrefetch(Shift(weights_, channels_->run.oc_vecs * args_.panel), blocks * block_bytes);
    } else {
      StartPrefetch(weights_, 0);
    }
    last_unit_ = is_last_pass_ ? units.end : 0;
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      RunUnit(unit, partial + (unit - units.begin) * unit_floats);
    }
  }
}

// The weights that are needed after those in use: `bytes` of each panel, or those of one pass if that is less.
void TileDriver::StartPrefetch(const float* weights, int64_t bytes) {
  const Blocking& b = plan_.blocking_;
  args_.prefetch = next_weights_ = weights;
  args_.prefetch_step = 0;
  next_bytes_ = b.prefetches_weights
                    ? std::min(bytes, b.channel_blocks_per_pass * plan_.edge_.weights_block_step)
                    : 0;
  next_panel_ = prefetched_bytes_ = 0;
}

// Each call continues where the last one ended, panel by panel.
void TileDriver::ContinuePrefetch(int64_t tiles) {
  if (prefetched_bytes_ >= next_bytes_) {
    ++next_panel_;
    prefetched_bytes_ = 0;
  }
  if (next_panel_ >= channels_->run.oc_vecs) {
    next_bytes_ = args_.prefetch_step = 0;
    return;
  }
  args_.prefetch = Shift(next_weights_, next_panel_ * args_.panel + prefetched_bytes_);
  args_.prefetch_step = kLineBytes;
  const int64_t lines = tiles * args_.rows * args_.columns_count *
                        ((args_.blocks - 1) * args_.full.quads() + args_.last.quads());
  prefetched_bytes_ += lines * kLineBytes;
}

int64_t TilePlan::chunks() const {
  if (!blocking_.staging.copies_rows()) return CeilDiv(units(), blocking_.units_per_chunk);
  return geometry_.n * CeilDiv(geometry_.out.h * stretches_.count, blocking_.units_per_chunk);
}

Range TilePlan::Chunk(int64_t index) const {
  const int64_t size = blocking_.units_per_chunk;
  if (!blocking_.staging.copies_rows()) return {index * size, std::min((index + 1) * size, units())};
  const int64_t image = geometry_.out.h * stretches_.count, chunks = CeilDiv(image, size);
  const int64_t begin = index / chunks * image;
  return {begin + index % chunks * size, begin + std::min((index % chunks + 1) * size, image)};
}

int64_t TilePlan::work_items() const {
  return chunks() * (blocking_.takes_whole_chunks ? 1 : geometry_.groups * channel_tiles_ * blocking_.parts);
}

void TilePlan::Run(const ConvCall& call) const noexcept {
  const int64_t items = work_items();
  const int threads = std::min(call.threads, blocking_.threads);
  if (threads == 1) {
    TileDriver driver(*this, call, 0);
    for (int64_t item = 0; item < items; ++item) driver.RunItem(item);
    return driver.Finish();
  }
  WorkShares shares(items, threads);
  RunOnThreads(*call.pool, threads, [&](int thread, int) {
    TileDriver driver(*this, call, thread);
    for (;;) {
      const Range range = shares.Take(thread);
      if (range.begin == range.end) return driver.Finish();
      for (int64_t item = range.begin; item < range.end; ++item) driver.RunItem(item);
    }
  });
}

}  // namespace rafter::tile
