// kernels/conv/strip/driver.cc: executes a StripPlan: threads, loop nest, arguments of each kernel call.
//
//   for each thread: its rows (or parts of rows) x its units of channels
//     for each block of rows              its inputs stay in L2 for all pieces
//       for each piece
//         of one unit:                    for each strip: down the rows, so that the rows that windows share are
//                                         in L1; one kernel call for all rows with the same taps. Kernels of
//                                         one row: for each row, one call for all strips of one width
//         of several units:               the same with a call for all units per row, if their weights and inputs
//                                         fit L1; else along the rows, so that the channels of a pixel are used
//                                         together
#include <algorithm>

#include "kernels/conv/strip/strip_plan.h"
#include "kernels/lane_masks.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"
#include "runtime/parallel.h"

namespace rafter::strip {

// One thread's work.
class StripDriver {
 public:
  StripDriver(const StripPlan& plan, const ConvCall& call)
      : plan_(plan), problem_(plan.problem_), call_(call) {
    args_.post_params = plan_.post_params_.data();
  }

  // Parts of rows, see StripPlan::segments_.
  void Run(Range parts, Range units);

 private:
  // Rows of one image, and the part `segment` of each.
  void RunBlock(int64_t n, Range rows, int64_t segment, Range units);
  void SetPiece(const PiecePlan& plan, Range units);
  void RunStrips(Range rows, Range items);
  void RunDown(const Strip& strip, Range rows);
  void RunAlong(int64_t y, Range items);
  void Call(const Strip& strip, int64_t y, const TapRange& taps, int64_t strips);
  TapRange Taps(int64_t y) const {
    const ConvDesc& d = problem_.desc;
    return ValidTaps(y, d.in.h, d.kernel.h, d.stride.h, d.dilation.h, d.pad.top);
  }

  const StripPlan& plan_;
  const ConvProblem& problem_;
  const ConvCall& call_;
  const PiecePlan* piece_ = nullptr;
  Range units_;                 // of the piece
  int64_t n_ = 0;
  StripArgs args_ = {};
};

void StripDriver::Run(Range parts, Range units) {
  const int64_t segments = plan_.segments_;
  for (int64_t part = parts.begin; part < parts.end;) {
    const int64_t row = segments == 1 ? part : part / segments;
    const int64_t n = row < problem_.oh ? 0 : row / problem_.oh, y = row - n * problem_.oh;
    int64_t rows = 1;
    if (segments == 1) rows = std::min({plan_.rows_per_block_, parts.end - part, problem_.oh - y});
    RunBlock(n, {y, y + rows}, part - row * segments, units);
    part += rows;
  }
}

void StripDriver::RunBlock(int64_t n, Range rows, int64_t segment, Range units) {
  n_ = n;
  int64_t first_unit = 0;
  for (const PiecePlan& plan : plan_.piece_plans_) {
    const int64_t end = first_unit + plan.piece.units;
    const Range mine{std::max(units.begin, first_unit) - first_unit, std::min(units.end, end) - first_unit};
    first_unit = end;
    if (mine.begin >= mine.end) continue;
    const Range items = SplitRange(plan.cut.items(), plan_.segments_, segment);
    SetPiece(plan, mine);
    RunStrips(rows, items);
  }
}

void StripDriver::RunStrips(Range rows, Range items) {
  if (!piece_->down_rows) {
    for (int64_t y = rows.begin; y < rows.end; ++y) RunAlong(y, items);
    return;
  }
  for (int64_t item = items.begin; item < items.end; ++item) {
    const Strip strip = piece_->StripAt(item);
    if (piece_->piece.units == 1) {
      RunDown(strip, rows);
    } else {
      for (int64_t y = rows.begin; y < rows.end; ++y) {
        Call(strip, y, Taps(y), units_.end - units_.begin);
      }
    }
  }
}

// What stays the same for all calls of a piece. From strip to strip a kernel goes to the next unit, or down a row;
// what depends on the strip's width: RunAlong.
void StripDriver::SetPiece(const PiecePlan& plan, Range units) {
  piece_ = &plan, units_ = units;
  const ConvDesc& d = problem_.desc;
  const Piece& piece = plan.piece;
  const Layer& layer = plan_.layer_;
  args_.chunks = plan.chunks;
  args_.rest_mask = FirstLanes(plan.rest_lanes);
  args_.src_row_step = d.dilation.h * problem_.src.h * kFloat;
  args_.src_column_step =
      ColumnsPerStep(layer, piece.feed) * d.dilation.w * problem_.src.w * kFloat;
  args_.weights_row_step = plan.packed.weights_row * kFloat;
  args_.prefetch_offset = plan.prefetch_offset;
  args_.prefetch_step = plan.prefetch_step;
  args_.dst_prefetch_offset = plan.dst_prefetch_offset;
  const bool over_units = piece.units > 1 || !plan.down_rows;
  args_.src_step = (over_units ? piece.groups * layer.ic_g : d.stride.h * problem_.src.h) * kFloat;
  args_.dst_step = (over_units ? piece.groups * layer.oc_g : problem_.dst.h) * kFloat;
  args_.weights_step = over_units ? plan.packed.weights_unit * kFloat : 0;
  args_.bias_step = over_units ? plan.packed.bias_unit * kFloat : 0;
  for (size_t op = 0; op < d.post_ops.size(); ++op) {
    const Strides& s = plan_.residuals_[op];
    args_.residual_px[op] = s.w * kFloat;
    args_.residual_step[op] = (over_units ? piece.groups * layer.oc_g : s.h) * kFloat;
  }
}

// One strip in all `rows`: as few calls as there are different sets of kernel rows.
void StripDriver::RunDown(const Strip& strip, Range rows) {
  const ConvDesc& d = problem_.desc;
  // The last row whose taps are all inside.
  const int64_t last = d.in.h - 1 - (d.kernel.h - 1) * d.dilation.h + d.pad.top;
  for (int64_t y = rows.begin; y < rows.end;) {
    const TapRange taps = Taps(y);
    int64_t end = y + 1;
    if (taps.end - taps.begin == d.kernel.h) end = std::min(rows.end, last / d.stride.h + 1);
    Call(strip, y, taps, end - y);
    y = end;
  }
}

// Strips of one row: all units of each, or, where there is one unit, neighbours of one width together.
void StripDriver::RunAlong(int64_t y, Range items) {
  const RowCut& cut = piece_->cut;
  const auto heads = static_cast<int64_t>(cut.head.size());
  const int64_t units = units_.end - units_.begin;
  const TapRange taps = Taps(y);
  for (int64_t item = items.begin; item < items.end;) {
    const Strip strip = piece_->StripAt(item);
    int64_t end = item + 1;
    if (units == 1) {
      const int64_t wide_end = heads + cut.wide, interior_end = heads + cut.interior();
      if (item >= heads && item < interior_end) {
        end = std::min(items.end, item < wide_end ? wide_end : interior_end);
      }
      const int64_t px = item < wide_end ? cut.px : cut.px - 1;
      args_.src_step = px * problem_.desc.stride.w * problem_.src.w * kFloat;
      args_.dst_step = px * problem_.dst.w * kFloat;
      for (size_t op = 0; op < problem_.desc.post_ops.size(); ++op) {
        args_.residual_step[op] = px * args_.residual_px[op];
      }
      args_.weights_step = args_.bias_step = 0;
    }
    Call(strip, y, taps, units > 1 ? units : end - item);
    item = end;
  }
}

// `strips` strips from this one in row y on.
void StripDriver::Call(const Strip& strip, int64_t y, const TapRange& taps, int64_t strips) {
  const ConvDesc& d = problem_.desc;
  const Layer& layer = plan_.layer_;
  const Piece& piece = piece_->piece;
  const PackedPiece& packed = piece_->packed;
  const int64_t group = piece.first_group + units_.begin * piece.groups;
  const int64_t in_y = y * d.stride.h - d.pad.top + taps.begin * d.dilation.h;
  const int64_t in_x = strip.x * d.stride.w - d.pad.left + strip.first_column * d.dilation.w;
  const int64_t channel = group * layer.oc_g + piece.first_channel;
  args_.strips = strips;
  args_.rows = strip.has_taps ? taps.end - taps.begin : 0;
  args_.column_groups = strip.column_groups;
  args_.src = Shift(call_.src, (n_ * problem_.src.n + in_y * problem_.src.h + in_x * problem_.src.w +
                                group * layer.ic_g) * kFloat);
  args_.dst = Shift(call_.dst, (n_ * problem_.dst.n + y * problem_.dst.h + strip.x * problem_.dst.w +
                                channel) * kFloat);
  args_.weights = call_.weights + packed.weights + units_.begin * packed.weights_unit +
                  taps.begin * packed.weights_row + strip.first_column * packed.weights_column;
  const int64_t bias = packed.bias + units_.begin * packed.bias_unit;
  args_.bias = call_.weights + bias;
  int next_residual = 0;
  for (size_t op = 0; op < d.post_ops.size(); ++op) {
    if (!plan_.scales_[op].empty()) args_.scale[op] = plan_.scales_[op].data() + bias;
    if (d.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    const Strides& s = plan_.residuals_[op];
    args_.residual[op] = Shift(call_.residuals[next_residual++],
                               (n_ * s.n + y * s.h + strip.x * s.w + channel) * kFloat);
  }
  strip.kernel(&args_);
}

void StripPlan::Run(const ConvCall& call) const noexcept {
  const int64_t parts = problem_.desc.n * problem_.oh * segments_;
  int64_t units = 0;
  for (const PiecePlan& plan : piece_plans_) units += plan.piece.units;
  RunOnThreads(*call.pool, std::min(call.threads, threads()), [&](int thread, int team) {
    if (team == 1) return StripDriver(*this, call).Run({0, parts}, {0, units});
    // The planned grid when the whole team is there, else rows only.
    const int over_rows = team == threads() ? row_threads_ : team;
    const int over_channels = team == threads() ? channel_threads_ : 1;
    StripDriver(*this, call).Run(SplitRange(parts, over_rows, thread / over_channels),
                                 SplitRange(units, over_channels, thread % over_channels));
  });
}

}  // namespace rafter::strip
