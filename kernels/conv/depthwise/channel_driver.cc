// kernels/conv/depthwise/channel_driver.cc: executes a ChannelPlan: threads, loop nest, arguments
// of each kernel call.
//
//   for each thread: its row tiles x its strips of channels
//     for each strip                       its weights and the inputs of a tile stay in L1
//       for each block of output rows      of one phase and image; staged where pixels alias
//         for each phase of the columns
//           for each run of tiles          one kernel call; sideways: one per tile
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/conv/depthwise/channel_plan.h"
#include "kernels/conv/depthwise/tuning.h"
#include "kernels/lane_masks.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"

namespace rafter::depthwise {

namespace {

ColumnSteps StepsOf(int64_t bytes) { return {bytes, 3 * bytes, 5 * bytes, 7 * bytes}; }

// How the channels of a tensor follow each other, in bytes.
struct ChannelWalk {
  int64_t vec = 0, block = 0;
};

ChannelWalk WalkOf(Layout layout, int64_t channel_step, int64_t vec_bytes) {
  const int64_t block = ChannelBlock(layout);
  if (block == 1) return {vec_bytes, 0};
  if (block * kFloat == vec_bytes) {  // every vector is a block
    const int64_t step = channel_step * kFloat;
    return {step, 0};
  }
  return {vec_bytes, channel_step * kFloat - block * kFloat};
}

}  // namespace

// One thread's work.
class ChannelDriver {
 public:
  // `staged`: this thread's buffer, when pixels are staged.
  ChannelDriver(const ChannelPlan& plan, const ConvCall& call, std::byte* staged)
      : plan_(plan),
        g_(plan.geometry_),
        call_(call),
        src_steps_(plan.src_steps()),
        dst_steps_(plan.dst_steps()),
        src_(call.src),
        dst_(call.dst),
        staged_(reinterpret_cast<float*>(staged)) {}

  void Run(Range units, Range strips);

 private:
  void SetTensors();
  void SetVectors(size_t run, int64_t first_vec, int64_t vecs);
  // Neighbouring output rows of one phase and image.
  struct RowBlock {
    int64_t n, phase, first, rows;
  };
  RowBlock BlockOf(int64_t unit) const;
  void RunBlock(const RowBlock& block);
  void ClearBlock(const RowBlock& block);
  void RunTiles(const RowBlock& block, int64_t first_input);
  void SetSegments(int64_t first_input, int rows);
  void SetRows(int64_t first_input, int64_t rows);
  void SetRun(const ColumnRun& run, int64_t phase);
  void RunRow(int64_t rows, int64_t first_input);
  void RunSideways(const RowBlock& block, int64_t first_input);
  int64_t StageInputs(int64_t n, int64_t first_input, int64_t rows);
  void UnstageOutputs(int64_t n, int64_t first_output, int64_t rows);
  void TransposeInputs(int64_t n, int64_t first_row, int64_t rows);
  void TransposeOutputs(int64_t n, int64_t first_row, int64_t rows);
  void RunPieces(const RowCode& code, size_t run, const ColumnRun& tiles, int64_t phase,
                 int64_t first_input);

  const ChannelPlan& plan_;
  const Geometry& g_;
  const ConvCall& call_;
  const Steps src_steps_, dst_steps_;
  const float* src_;
  float* dst_;
  float* const staged_;
  size_t vector_run_ = 0;
  int64_t channel_ = 0;  // of the first lane
  // Bytes from the tensors' beginning to the current channels, then with the current image and row.
  int64_t src_channel_ = 0, dst_channel_ = 0, src_row_ = 0, dst_row_ = 0;
  std::array<int64_t, kMaxPostOps> residual_channel_{}, residual_row_{};
  ChannelArgs args_;  // each field is set before the first kernel that reads it
};

void ChannelDriver::SetTensors() {
  const int64_t vec_bytes = plan_.blocking_.depth() * plan_.lanes() * kFloat;  // of what a tile covers
  const Axis &rows = g_.rows, &columns = g_.columns;
  args_.src_columns = StepsOf(columns.dilation() * src_steps_.column * kFloat);
  args_.dst_columns = StepsOf(columns.distance() * dst_steps_.column * kFloat);
  args_.src_row = rows.dilation() * src_steps_.row * kFloat;
  args_.dst_row = rows.distance() * dst_steps_.row * kFloat;
  args_.src_output_row = rows.distance() * rows.stride() * src_steps_.row * kFloat;
  args_.src_tile_rows = plan_.blocking_.rows * args_.src_output_row;
  const ChannelWalk src = WalkOf(g_.src_layout, g_.src.channel, vec_bytes);
  const ChannelWalk dst = WalkOf(g_.dst_layout, g_.dst.channel, vec_bytes);
  args_.src_vec = src.vec, args_.src_block = src.block;
  args_.dst_vec = dst.vec, args_.dst_block = dst.block;
  args_.weights_block = (plan_.weights_.block_floats - kBlock) * kFloat;
  args_.weights_rows = -rows.step() * g_.kw * kBlock * kFloat;
  args_.streams = plan_.blocking_.streams &&
                  reinterpret_cast<uintptr_t>(call_.dst) % static_cast<uintptr_t>(vec_bytes) == 0;
  args_.post_params = plan_.post_params_.data();
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    const Steps& s = g_.residuals[op];
    const ChannelWalk walk = WalkOf(g_.dst_layout, s.channel, vec_bytes);
    args_.residual_columns[op] = StepsOf(columns.distance() * s.column * kFloat);
    args_.residual_row[op] = rows.distance() * s.row * kFloat;
    args_.residual_vec[op] = walk.vec, args_.residual_block[op] = walk.block;
  }
}

void ChannelDriver::SetVectors(size_t run, int64_t first_vec, int64_t vecs) {
  const VectorRun& vectors = plan_.blocking_.vectors[run];
  const int64_t lanes = plan_.lanes(), channel = vectors.first_channel + first_vec * lanes;
  const BlockLayout& w = plan_.weights_;
  vector_run_ = run, channel_ = channel;
  const int64_t block = vectors.last_block ? w.blocks : channel / kBlock;
  const int64_t lane = vectors.last_block ? kBlock - lanes : channel % kBlock;
  args_.weights = call_.weights + block * w.block_floats + kBlock + lane;
  args_.vecs = vecs / plan_.blocking_.depth();
  args_.src_mask = FirstLanes(vectors.src_lanes);
  args_.dst_mask = FirstLanes(vectors.dst_lanes);
  src_channel_ = 0;
  if (g_.multiplier > 1) {
    int64_t index = first_vec;
    for (size_t i = 0; i < run; ++i) index += plan_.blocking_.vectors[i].vecs;
    args_.lanes = plan_.lane_sources_.data() + index;
  } else {
    src_channel_ = ChannelBytes(g_.src_layout, g_.src.channel, channel);
  }
  dst_channel_ = ChannelBytes(g_.dst_layout, g_.dst.channel, channel);
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    residual_channel_[op] = ChannelBytes(g_.dst_layout, g_.residuals[op].channel, channel);
    const std::vector<float>& scale = plan_.scales_[op];
    if (scale.empty()) continue;
    args_.scale[op] = scale.data() + block * kBlock + lane;
  }
}

// The segments of a tile whose first output row starts at input row `first_input`.
void ChannelDriver::SetSegments(int64_t first_input, int rows) {
  const int64_t step = g_.rows.step(), kh = g_.kh;
  const int64_t weights_row = g_.kw * kBlock * kFloat;
  const TapRange inside = g_.rows.Inside(first_input, kh + (rows - 1) * step);
  for (int i = 0; i < 2 * rows - 1; ++i) {
    const int first = std::max(0, i - (rows - 1));  // output row
    const int64_t begin = i < rows ? i * step : kh + (first - 1) * step;
    const int64_t end = i < rows - 1 ? begin + step : i == rows - 1 ? kh : begin + step;
    Segment& segment = args_.segments[i];
    const int64_t from = std::max(begin, inside.begin), to = std::min(end, inside.end);
    segment.rows = std::max<int64_t>(0, to - from);
    segment.src = from * args_.src_row;
    segment.weights = (from - first * step) * weights_row;
  }
}

// Of a call for `rows` output rows.
void ChannelDriver::SetRows(int64_t first_input, int64_t rows) {
  if (plan_.blocking_.rolls) {
    args_.rolling = CountRolling(g_.rows, first_input, rows);
  } else if (plan_.blocking_.holds) {
    args_.held = CountHeld(g_.rows, first_input, rows, plan_.blocking_.rows);
  } else {
    SetSegments(first_input, static_cast<int>(rows));
  }
}

void ChannelDriver::SetRun(const ColumnRun& run, int64_t phase) {
  const Axis& columns = g_.columns;
  const int64_t in = columns.input(phase, run.begin), out = columns.output(phase, run.begin);
  const int64_t tile = run.columns * columns.distance();
  args_.src = Shift(src_, src_row_ + in * src_steps_.column * kFloat);
  args_.dst = Shift(dst_, dst_row_ + out * dst_steps_.column * kFloat);
  args_.tiles = run.tiles;
  args_.src_tile = tile * columns.stride() * src_steps_.column * kFloat;
  args_.dst_tile = tile * dst_steps_.column * kFloat;
  int next = 0;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    if (g_.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    const int64_t column = g_.residuals[op].column * kFloat;
    args_.residual[op] = Shift(call_.residuals[next++], residual_row_[op] + out * column);
    args_.residual_tile[op] = tile * column;
  }
}

ChannelDriver::RowBlock ChannelDriver::BlockOf(int64_t unit) const {
  if (plan_.units_ == 1) return {0, 0, 0, g_.rows.outputs(0)};  // without divisions, which small images would notice
  const int64_t block_rows = plan_.blocking_.tile_rows, per_image = CountRowTiles(g_.rows, block_rows);
  const RowTile tile = FindRowTile(g_.rows, block_rows, unit % per_image);
  return {unit / per_image, tile.phase, tile.first, tile.rows};
}

void ChannelDriver::RunBlock(const RowBlock& block) {
  const int64_t in = g_.rows.input(block.phase, block.first);
  const int64_t out = g_.rows.output(block.phase, block.first);
  if (staged_ != nullptr) {
    src_row_ = StageInputs(block.n, in, block.rows);
    dst_row_ = 0;
  } else {
    src_row_ = (block.n * g_.src.n + in * g_.src.row) * kFloat + src_channel_;
    dst_row_ = (block.n * g_.dst.n + out * g_.dst.row) * kFloat + dst_channel_;
  }
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    const Steps& s = g_.residuals[op];
    residual_row_[op] = (block.n * s.n + out * s.row) * kFloat + residual_channel_[op];
  }
  RunTiles(block, in);
  if (staged_ != nullptr) UnstageOutputs(block.n, out, block.rows);
}

// Lanes behind the last channel: half of a block, as vectors of whole blocks have none.
void ChannelDriver::ClearBlock(const RowBlock& block) {
  const int64_t first_channel = plan_.blocking_.vectors.back().first_channel;
  const int64_t image = block.n * g_.dst.n * kFloat + ChannelBytes(g_.dst_layout, g_.dst.channel, first_channel);
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t out = g_.rows.output(block.phase, block.first + row);
    float* dst = Shift(call_.dst, image + out * g_.dst.row * kFloat);
    for (int64_t column = 0; column < g_.columns.out(); ++column, dst += g_.dst.column)
      std::memset(dst, 0, kBlock / 2 * kFloat);
  }
}

// The block in one go where tiles go down, else by the output rows of a tile.
void ChannelDriver::RunTiles(const RowBlock& block, int64_t first_input) {
  const ChannelBlocking& b = plan_.blocking_;
  if (b.sideways) return RunSideways(block, first_input);
  const int64_t tile_rows = b.goes_down() ? block.rows : b.rows;
  const int64_t outputs = tile_rows * g_.rows.distance(), inputs = outputs * g_.rows.stride();
  for (int64_t done = 0; done < block.rows; done += tile_rows) {
    const int64_t rows = std::min(tile_rows, block.rows - done);
    SetRows(first_input, rows);
    RunRow(rows, first_input);
    first_input += inputs;
    src_row_ += inputs * src_steps_.row * kFloat;
    dst_row_ += outputs * dst_steps_.row * kFloat;
    for (size_t op = 0; op < g_.post_ops.size(); ++op) {
      residual_row_[op] += outputs * g_.residuals[op].row * kFloat;
    }
  }
}

// Copies the rows that `rows` output rows look at. Returns where input row `first_input` would be,
// in bytes.
int64_t ChannelDriver::StageInputs(int64_t n, int64_t first_input, int64_t rows) {
  const int64_t needed = (rows - 1) * g_.rows.step() + g_.kh, width = g_.columns.in();
  const TapRange inside = g_.rows.Inside(first_input, needed);
  const int64_t pixel = plan_.blocking_.staged_pixel;
  src_ = staged_;
  dst_ = staged_ + (inside.end - inside.begin) * width * pixel;
  if (g_.transposes) {
    if (inside.begin < inside.end) TransposeInputs(n, first_input + inside.begin, inside.end - inside.begin);
    return -inside.begin * width * pixel * kFloat;
  }
  CopyArgs copy{nullptr, staged_, g_.src.column * kFloat, pixel * kFloat, width};
  for (int64_t row = inside.begin; row < inside.end; ++row) {
    copy.src =
        Shift(call_.src, (n * g_.src.n + (first_input + row) * g_.src.row) * kFloat + src_channel_);
    plan_.copy_(&copy);
    copy.dst += width * pixel;
  }
  return -inside.begin * width * pixel * kFloat;
}

// Of an NCHW tensor, `rows` rows of the current channels, kTransposed channels at a time.
void ChannelDriver::TransposeInputs(int64_t n, int64_t first_row, int64_t rows) {
  const int64_t width = g_.columns.in(), pixel = plan_.blocking_.staged_pixel;
  const bool dense = g_.src.row == width;
  reorder::TransposeArgs all;
  all.src_row_bytes = g_.src.channel * kFloat, all.dst_row_bytes = pixel * kFloat;
  all.columns = dense ? rows * width : width;
  all.groups = args_.vecs * plan_.lanes() / kTransposed;
  all.src_group_bytes = kTransposed * all.src_row_bytes, all.dst_group_bytes = kTransposed * kFloat;
  for (int64_t line = 0; line < (dense ? 1 : rows); ++line) {
    reorder::TransposeArgs args = all;
    args.src = Shift(call_.src, (n * g_.src.n + channel_ * g_.src.channel +
                                 (first_row + line) * g_.src.row) *
                                    kFloat);
    args.dst = staged_ + line * width * pixel;
    plan_.transpose_(&args);
  }
}

// kTransposed pixels at a time; where their number is no multiple, some of the last ones twice.
void ChannelDriver::TransposeOutputs(int64_t n, int64_t first_row, int64_t rows) {
  const int64_t width = g_.columns.out(), pixel = plan_.blocking_.staged_pixel;
  const bool dense = g_.dst.row == width;
  const int64_t pixels = dense ? rows * width : width;
  reorder::TransposeArgs all;
  all.src_row_bytes = pixel * kFloat, all.dst_row_bytes = g_.dst.channel * kFloat;
  all.columns = args_.vecs * plan_.lanes();
  all.src_group_bytes = kTransposed * all.src_row_bytes, all.dst_group_bytes = kTransposed * kFloat;
  for (int64_t line = 0; line < (dense ? 1 : rows); ++line) {
    float* const dst = Shift(call_.dst, (n * g_.dst.n + channel_ * g_.dst.channel +
                                         (first_row + line) * g_.dst.row) *
                                            kFloat);
    const auto transpose = [&](int64_t first, int64_t groups) {
      reorder::TransposeArgs args = all;
      args.src = dst_ + (line * width + first) * pixel, args.dst = dst + first;
      args.groups = groups;
      plan_.transpose_(&args);
    };
    transpose(0, pixels / kTransposed);
    if (pixels % kTransposed != 0) transpose(pixels - kTransposed, 1);
  }
}

void ChannelDriver::UnstageOutputs(int64_t n, int64_t first_output, int64_t rows) {
  const int64_t width = g_.columns.out();
  if (g_.transposes) return TransposeOutputs(n, first_output, rows);
  CopyArgs copy{dst_, nullptr, kStagedPixel * kFloat, g_.dst.column * kFloat, width};
  for (int64_t row = 0; row < rows; ++row) {
    copy.dst = Shift(call_.dst,
                     (n * g_.dst.n + (first_output + row) * g_.dst.row) * kFloat + dst_channel_);
    plan_.copy_(&copy);
    copy.src += width * kStagedPixel;
  }
}

// All columns of the row tile.
void ChannelDriver::RunRow(int64_t rows, int64_t first_input) {
  for (int64_t column_phase = 0; column_phase < g_.columns.phases(); ++column_phase) {
    const RowCode& code = plan_.code(vector_run_, rows, column_phase);
    for (size_t run = 0; run < code.program.runs.size(); ++run) {
      SetRun(code.program.runs[run], column_phase);
      if (code.program.pieces > 1) {
        RunPieces(code, run, code.program.runs[run], column_phase, first_input);
      } else {
        code.kernels[run](&args_);
      }
    }
  }
}

// One tile of columns after the other, each over all rows of the block.
void ChannelDriver::RunSideways(const RowBlock& block, int64_t first_input) {
  SetRows(first_input, 1);
  for (int64_t phase = 0; phase < g_.columns.phases(); ++phase) {
    const RowCode& code = plan_.code(vector_run_, 1, phase);
    for (size_t run = 0; run < code.program.runs.size(); ++run) {
      ColumnRun tile = code.program.runs[run];
      const int64_t end = tile.begin + tile.tiles * tile.columns;
      for (tile.tiles = block.rows; tile.begin < end; tile.begin += tile.columns) {
        SetRun(tile, phase);
        args_.src_tile = args_.src_output_row, args_.dst_tile = args_.dst_row;
        std::copy_n(args_.residual_row, g_.post_ops.size(), args_.residual_tile);
        code.kernels[run](&args_);
      }
    }
  }
}

// A kernel row in pieces: one call per kernel row and piece, in the order of the sum, for as many
// tiles as can park their sums.
void ChannelDriver::RunPieces(const RowCode& code, size_t run, const ColumnRun& all, int64_t phase,
                              int64_t first_input) {
  alignas(64) float partial[kPartialBytes / kFloat];
  const int64_t pieces = code.program.pieces;
  const int64_t tile_floats = args_.vecs * all.columns * plan_.lanes();
  const int64_t tiles_at_once = std::max<int64_t>(1, kPartialBytes / kFloat / tile_floats);
  const TapRange inside = g_.rows.Inside(first_input, g_.kh);
  const int64_t rows = std::max<int64_t>(1, inside.end - inside.begin);
  const bool any = inside.begin < inside.end;
  for (int64_t tile = 0; tile < all.tiles; tile += tiles_at_once) {
    const ColumnRun part{all.begin + tile * all.columns, std::min(tiles_at_once, all.tiles - tile),
                         all.columns};
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t piece = 0; piece < pieces; ++piece) {
        SetRun(part, phase);
        const int64_t tap = piece * kMaxTaps;
        args_.partial = partial;
        args_.load_partial = row + piece > 0;
        args_.store_partial = row + 1 < rows || piece + 1 < pieces;
        args_.segments[0].rows = any ? 1 : 0;
        args_.segments[0].src = (inside.begin + row) * args_.src_row + tap * args_.src_columns.by_1;
        args_.segments[0].weights = ((inside.begin + row) * g_.kw + tap) * kBlock * kFloat;
        code.kernels[run * static_cast<size_t>(pieces) + static_cast<size_t>(piece)](&args_);
      }
    }
  }
}

void ChannelDriver::Run(Range units, Range strips) {
  const ChannelBlocking& b = plan_.blocking_;
  SetTensors();
  const auto run_units = [&](size_t run, int64_t first_vec, int64_t vecs) {
    SetVectors(run, first_vec, vecs);
    // Padding shares its block, and so its lines, with the vector before it.
    const bool clears = b.vectors.back().is_padding() && run + 2 == b.vectors.size() &&
                        first_vec + vecs == b.vectors[run].vecs;
    for (int64_t unit = units.begin; unit < units.end; ++unit) {
      RunBlock(BlockOf(unit));
      if (clears) ClearBlock(BlockOf(unit));
    }
  };
  for (int64_t strip = strips.begin; strip < strips.end; ++strip) {
    const int64_t first = strip * b.strip_vecs;
    run_units(0, first, std::min(b.strip_vecs, b.vectors[0].vecs - first));
    if (strip + 1 < b.strips) continue;
    for (size_t run = 1; run < b.vectors.size(); ++run) {
      if (!b.vectors[run].is_padding()) run_units(run, 0, b.vectors[run].vecs);
    }
  }
  if (args_.streams) FinishStores();
}

void ChannelPlan::Run(const ConvCall& call) const noexcept {
  RunOnThreads(*call.pool, std::min(call.threads, threads()), [&](int thread, int team) {
    // The planned grid when the whole team is there, else rows only.
    const int over_units = team == threads() ? blocking_.unit_threads : team;
    const int over_strips = team == threads() ? blocking_.strip_threads : 1;
    std::byte* staged = blocking_.stages ? call.scratch + thread * blocking_.staged_bytes : nullptr;
    ChannelDriver(*this, call, staged)
        .Run(SplitRange(units_, over_units, thread / over_strips),
             SplitRange(blocking_.strips, over_strips, thread % over_strips));
  });
}

}  // namespace rafter::depthwise
