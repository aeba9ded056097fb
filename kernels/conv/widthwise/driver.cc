// kernels/conv/widthwise/driver.cc: executes a WidthPlan: threads, loop nest, arguments of each
// kernel call.
//
//   for each thread: its items (image, group, strip of rows, segment of the row, part of the
//   channels)
//     for each channel tile             its weights stay in L1; inputs of the strip stay in L2
//       for each column of tiles
//         for each run of tile rows     one kernel call: tiles below each other
//
// Short rows and small images (Blocking::over_channels):
//
//   for each column of tiles
//     for each tile                     one kernel call: tiles of all channels of the part, or of all groups
#include <algorithm>

#include "kernels/conv/widthwise/tuning.h"
#include "kernels/conv/widthwise/width_plan.h"
#include "kernels/lane_masks.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"
#include "runtime/parallel.h"

namespace rafter::widthwise {

// Tiles below each other that see the same input rows of theirs.
struct RowRun {
  int64_t count = 0;
  int rows = 1;  // output rows per tile
  TapRange taps;
};

// The runs of a strip, for tiles of at most so many rows: worked out once per strip, used for every channel tile.
struct RowRuns {
  static constexpr size_t kMost = 8;  // kept
  size_t size = 0;
  RowRun runs[kMost];
};

// One thread's work.
class WidthDriver {
 public:
  WidthDriver(const WidthPlan& plan, const ConvCall& call, int thread)
      : plan_(plan),
        g_(plan.geometry_),
        b_(plan.blocking_),
        call_(call),
        rows_(plan.has_careful_rows() && call.weights[0] == 0 ? plan.careful_rows_ : plan.rows_) {
    args_.post_params = plan.post_params_.data();
    args_.finite_weights = call.weights[0] != 0;
    if (!b_.staged) return;
    stage_ =
        reinterpret_cast<float*>(call.scratch + static_cast<size_t>(thread) * plan.stage_bytes_);
    args_.column_table = plan.stage_.column_table().data();
  }

  void RunItem(int64_t item);

 private:
  void SetChannelTile(int64_t group, int64_t tile);
  void SetPass(Range channels);
  void RunColumns(Range row_tiles, Range rows);
  void RunColumn(size_t index, Range tiles, Range rows);
  void SetColumn(const Column& column);
  void SetSum(const Column& column, int rows, const TapRange& taps);
  // From a tile to the next one of a call: side by side, below each other, or the next channels.
  struct Repeats {
    int64_t count = 1, y = 0, x = 0;
    int64_t src_channels = 0, dst_channels = 0;
  };
  // One call: tiles of `rows` output rows from (y, x) on.
  void RunTiles(int64_t y, int64_t x, const TapRange& taps, int rows, const Repeats& repeats);
  void RunOverChannels(int64_t group, int64_t part, Range row_tiles, Range rows);
  // The input rows of a tile of `rows` output rows that are inside the image.
  TapRange InputRows(int64_t y, int rows) const {
    return ValidTaps(y, g_.in.h, g_.input_rows(rows), g_.stride.h, g_.dilation.h, g_.pad_top);
  }
  RowRun NextRun(int64_t y, int64_t end) const;
  // Of tiles of `rows` output rows from y on: how many see all their input rows.
  int64_t FullRuns(int64_t y, int64_t end, int rows) const;
  // … and how many see none.
  int64_t EmptyRuns(int64_t y, int64_t end, int rows) const;

  // Strides of the inputs that kernels read, in floats.
  int64_t src_channel() const { return b_.staged ? plan_.stage_.channel_floats() : g_.src.c; }
  int64_t src_row() const { return b_.staged ? plan_.stage_.row_floats() : g_.src.h; }
  int64_t src_pixel() const { return b_.staged ? 1 : g_.stride.w; }

  const WidthPlan& plan_;
  const Geometry& g_;
  const Blocking& b_;
  const ConvCall& call_;
  const RowKernels& rows_;
  const ColumnKernels* kernels_ = nullptr;
  float* stage_ = nullptr;                         // of this thread
  int64_t staged_item_ = -1;                       // strip and segment whose inputs it holds
  int64_t first_y_ = 0, first_x_ = 0;              // of the item
  int64_t n_ = 0, src_channel_ = 0, channel_ = 0;  // image, first input and output channel
  int64_t ocs_ = 1;
  Repeats over_channels_;  // with Blocking::over_channels
  size_t narrow_ = 0;
  const float* weights_ = nullptr;
  Range pass_;      // input channels of the group
  int64_t pass_by_unroll_ = 0, pass_rest_ = 0;
  Range strip_;     // whose runs are kept
  RowRuns runs_[kMaxRows];
  WidthArgs args_;  // each field is set before the first kernel that reads it
  alignas(64) float partial_[kPartialBytes / kFloat];
};

void WidthDriver::RunItem(int64_t item) {
  const int64_t all = item, part = item % b_.channel_parts;
  item /= b_.channel_parts;
  const int64_t segment = item % b_.segments;
  item /= b_.segments;
  const int64_t strip = item % b_.strips;
  item /= b_.strips;
  const int64_t groups = b_.over_groups ? 1 : g_.groups, group = item % groups;
  n_ = item / groups;
  const Range rows = {strip * b_.strip_rows, std::min(g_.out.h, (strip + 1) * b_.strip_rows)};
  const Range row_tiles = {segment * b_.segment_tiles,
                           std::min(rows_.cut.tiles, (segment + 1) * b_.segment_tiles)};
  if (rows.begin != strip_.begin || rows.end != strip_.end) {
    strip_ = rows;
    for (RowRuns& runs : runs_) runs.size = 0;
  }
  first_y_ = rows.begin;
  first_x_ = std::max<int64_t>(0, row_tiles.begin * plan_.tile_pixels() - plan_.stage_margin());
  // The parts of the channels of a strip follow each other.
  if (const int64_t strip_item = all / b_.channel_parts; b_.staged && strip_item != staged_item_) {
    const float* image = call_.src + n_ * g_.src.n + group * g_.ic_g * g_.src.c;
    plan_.stage_.Fill(g_, image, rows, first_x_, stage_);
    staged_item_ = strip_item;
  }
  if (b_.over_channels) return RunOverChannels(group, part, row_tiles, rows);
  const Range channel_tiles = SplitRange(plan_.channels_.tiles, b_.channel_parts, part);
  for (int64_t tile = channel_tiles.begin; tile < channel_tiles.end; ++tile) {
    SetChannelTile(group, tile);
    for (int64_t first = 0; first < g_.ic_g; first += b_.channels_per_pass) {
      SetPass({first, std::min(g_.ic_g, first + b_.channels_per_pass)});
      RunColumns(row_tiles, rows);
    }
  }
}

// Wide and narrow tiles of channels are run apart.
void WidthDriver::RunOverChannels(int64_t group, int64_t part, Range row_tiles, Range rows) {
  const ChannelCut& cut = plan_.channels_;
  SetPass({0, g_.ic_g});
  if (b_.over_groups) {
    const Range mine = SplitRange(g_.groups, b_.channel_parts, part);
    SetChannelTile(mine.begin, 0);
    over_channels_ = {mine.end - mine.begin, 0, 0, g_.ic_g, g_.oc_g};
    return RunColumns(row_tiles, rows);
  }
  const Range mine = SplitRange(cut.tiles, b_.channel_parts, part);
  const int64_t wide_end = std::clamp(cut.wide, mine.begin, mine.end);
  for (const Range tiles : {Range{mine.begin, wide_end}, Range{wide_end, mine.end}}) {
    if (tiles.begin == tiles.end) continue;
    SetChannelTile(group, tiles.begin);
    over_channels_ = {tiles.end - tiles.begin, 0, 0, 0, ocs_};
    RunColumns(row_tiles, rows);
  }
}

void WidthDriver::SetPass(Range channels) {
  if (const int64_t count = channels.end - channels.begin; count != pass_.end - pass_.begin) {
    const int64_t unroll = plan_.UnrollOf(Line::kChannels);
    pass_by_unroll_ = count / unroll, pass_rest_ = count % unroll;
  }
  pass_ = channels;
  args_.load_partial = channels.begin > 0;
  args_.store_partial = channels.end < g_.ic_g;
  args_.partial = partial_;
}

void WidthDriver::RunColumns(Range row_tiles, Range rows) {
  int64_t first = 0;  // index of the column's first tile
  for (size_t i = 0; i < rows_.cut.columns.size(); ++i) {
    const int64_t count = rows_.cut.columns[i].count;
    const Range here = {std::max(row_tiles.begin - first, int64_t{0}),
                        std::min(row_tiles.end - first, count)};
    if (here.begin < here.end) RunColumn(i, here, rows);
    first += count;
  }
}

void WidthDriver::SetChannelTile(int64_t group, int64_t tile) {
  const ChannelCut& cut = plan_.channels_;
  ocs_ = cut.channels(tile);
  narrow_ = tile < cut.wide ? 0 : 1;
  src_channel_ = group * g_.ic_g;
  channel_ = group * g_.oc_g + cut.begin(tile);
  weights_ = call_.weights + plan_.weights_.weights(channel_);
  args_.dst_row = g_.dst.h * kFloat;
  args_.dst_channel = g_.dst.c * kFloat;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    args_.residual_row[op] = g_.residuals[op].h * kFloat;
    args_.residual_channel[op] = g_.residuals[op].c * kFloat;
  }
}

void WidthDriver::SetColumn(const Column& column) {
  args_.src_shift = -column.shift * src_pixel() * kFloat;
  args_.dst_shift = -column.shift * kFloat;
  args_.tail_lanes = column.tail_lanes;
  args_.tail_mask = FirstLanes(column.tail_lanes);
  if (!column.is_edge()) return;
  args_.tap_codes = rows_.cut.codes.data() + column.codes;
  args_.masks = rows_.cut.masks.data() + column.masks;
}

int64_t WidthDriver::FullRuns(int64_t y, int64_t end, int rows) const {
  const int64_t input_rows = g_.input_rows(rows);
  if (y * g_.stride.h < g_.pad_top) return 0;
  // The first output row whose tile would reach below the image.
  const int64_t room = g_.in.h - 1 - (input_rows - 1) * g_.dilation.h + g_.pad_top;
  if (room < y * g_.stride.h) return 0;
  return std::min((end - y) / rows, (room / g_.stride.h - y) / rows + 1);
}

int64_t WidthDriver::EmptyRuns(int64_t y, int64_t end, int rows) const {
  int64_t count = 0;
  for (; y + rows <= end; y += rows, ++count) {
    if (const TapRange taps = InputRows(y, rows); taps.begin < taps.end) break;
  }
  return count;
}

void WidthDriver::RunColumn(size_t index, Range tiles, Range rows) {
  const Column& column = rows_.cut.columns[index];
  kernels_ = &rows_.kernels[index][narrow_];
  const int64_t tile_pixels = column.vecs * jit::GetIsaInfo(plan_.isa_).vec_lanes();
  SetColumn(column);
  RowRuns& kept = runs_[kernels_->rows - 1];
  int64_t y = rows.begin;
  for (size_t i = 0; y < rows.end; ++i) {
    if (i == kept.size && i < RowRuns::kMost) kept.runs[kept.size++] = NextRun(y, rows.end);
    const RowRun run = i < kept.size ? kept.runs[i] : NextRun(y, rows.end);
    SetSum(column, run.rows, run.taps);
    const int64_t end = y + run.count * run.rows;
    if (b_.over_channels) {
      for (int64_t row = y; row < end; row += run.rows) {
        for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
          RunTiles(row, column.x + tile * tile_pixels, run.taps, run.rows, over_channels_);
        }
      }
    } else if (run.count == 1) {
      const int64_t x = column.x + tiles.begin * tile_pixels;
      RunTiles(y, x, run.taps, run.rows, {.count = tiles.end - tiles.begin, .x = tile_pixels});
    } else {
      for (int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
        RunTiles(y, column.x + tile * tile_pixels, run.taps, run.rows, {.count = run.count, .y = run.rows});
      }
    }
    y = end;
  }
}

RowRun WidthDriver::NextRun(int64_t y, int64_t end) const {
  RowRun run;
  run.rows = static_cast<int>(std::min<int64_t>(kernels_->rows, end - y));
  run.taps = InputRows(y, run.rows);
  // Tiles of several rows must reach all that is before, or behind, the rows they share (spec.h).
  if (run.rows > 1 && (run.taps.begin > g_.kernel.h || run.taps.end < g_.input_rows(run.rows) - g_.kernel.h)) {
    run.rows = 1;
    run.taps = InputRows(y, 1);
  }
  if (b_.across) {
    run.count = 1;
  } else if (run.taps.begin >= run.taps.end) {
    run.count = 1 + EmptyRuns(y + run.rows, end, run.rows);
  } else {
    run.count = std::max<int64_t>(1, FullRuns(y, end, run.rows));
  }
  return run;
}

// Counts and steps of the sum; `taps` are input rows of the tile.
void WidthDriver::SetSum(const Column& column, int rows, const TapRange& taps) {
  const int64_t channels = pass_.end - pass_.begin, tap = ocs_ * kFloat,
                input_rows = taps.end - taps.begin;
  args_.has_taps = input_rows > 0;
  args_.rows = input_rows;
  if (rows > 1) {
    const int64_t before = g_.input_rows(rows) - g_.kernel.h;
    args_.rows_skipped = std::min(taps.begin, before);
    args_.rows = std::min(taps.end, g_.kernel.h) - std::max(taps.begin, before);
    args_.rows_behind = std::max<int64_t>(0, taps.end - g_.kernel.h);
    args_.weights_row = -g_.row_distance() * g_.kernel.w * channels * tap;
  }
  args_.src_row = g_.dilation.h * src_row() * kFloat;
  args_.src_column = g_.dilation.w * kFloat;
  args_.weights_column = channels * tap;
  args_.columns = g_.kernel.w;
  args_.src_line = src_channel() * kFloat;
  args_.line_by_unroll = pass_by_unroll_, args_.line_rest = pass_rest_;
  const Line line = plan_.LineOf(column);
  if (line == Line::kChannels) return;
  int64_t taps_of_line = 0;
  if (line == Line::kColumns) {
    args_.columns = 1, taps_of_line = g_.kernel.w, args_.src_line = args_.src_column;
  } else {
    if (input_rows > 0) args_.rows = 1, args_.src_line = args_.src_row;
    taps_of_line = input_rows;
  }
  const int64_t unroll = plan_.UnrollOf(line);
  args_.line_by_unroll = taps_of_line / unroll, args_.line_rest = taps_of_line % unroll;
}

void WidthDriver::RunTiles(int64_t y, int64_t x, const TapRange& taps, int rows, const Repeats& repeats) {
  const int64_t in_y = y * g_.stride.h - g_.pad_top + taps.begin * g_.dilation.h;
  const int64_t in_x = x * g_.stride.w - g_.pad_left;
  args_.repeats = repeats.count;
  if (b_.staged) {
    const int64_t at = plan_.stage_.Offset(g_, first_y_, first_x_, in_y, x);
    args_.src = Shift(stage_, (pass_.begin * src_channel() + at) * kFloat);
  } else {
    const int64_t at =
        n_ * g_.src.n + (src_channel_ + pass_.begin) * g_.src.c + in_y * g_.src.h + in_x;
    args_.src = Shift(call_.src, at * kFloat);
  }
  args_.src_repeat = (repeats.y * g_.stride.h * src_row() + repeats.x * src_pixel() +
                      repeats.src_channels * src_channel()) * kFloat;
  args_.bias = call_.weights + plan_.weights_.bias(channel_);
  args_.dst = Shift(call_.dst, (n_ * g_.dst.n + channel_ * g_.dst.c + y * g_.dst.h + x) * kFloat);
  args_.dst_repeat = (repeats.y * g_.dst.h + repeats.x + repeats.dst_channels * g_.dst.c) * kFloat;
  args_.weights_repeat = repeats.dst_channels * plan_.weights_.sum_length() * kFloat;
  args_.weights =
      weights_ +
      (pass_.begin * g_.taps() + taps.begin * g_.kernel.w * (pass_.end - pass_.begin)) * ocs_;
  size_t next_residual = 0;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    if (!g_.post_ops[op].scale.empty()) args_.scale[op] = g_.post_ops[op].scale.data() + channel_;
    if (g_.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    const Strides& s = g_.residuals[op];
    args_.residual[op] =
        Shift(call_.residuals[next_residual++], (n_ * s.n + channel_ * s.c + y * s.h + x) * kFloat);
    args_.residual_repeat[op] = (repeats.y * s.h + repeats.x + repeats.dst_channels * s.c) * kFloat;
  }
  kernels_->by_rows[static_cast<size_t>(rows) - 1](&args_);
}

void WidthPlan::Run(const ConvCall& call) const noexcept {
  const Blocking& b = blocking_;
  const int64_t groups = b.over_groups ? 1 : geometry_.groups;
  const int64_t items = geometry_.n * groups * b.strips * b.segments * b.channel_parts;
  RunOnThreads(*call.pool, std::min(call.threads, threads()), [&](int thread, int team) {
    WidthDriver driver(*this, call, thread);
    const Range mine = SplitRange(items, team, thread);
    for (int64_t item = mine.begin; item < mine.end; ++item) driver.RunItem(item);
  });
}

}  // namespace rafter::widthwise
