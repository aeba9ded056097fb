// kernels/conv/depthwise/width_driver.cc: executes a WidthPlan: threads, loop nest, arguments of
// each kernel call.
//
//   for each thread: its units = images x groups of channels x blocks of rows
//     for each run of tiles            one kernel call: channels of the group, tiles of the run, rows of the block
#include <algorithm>

#include "kernels/conv/depthwise/blocking.h"
#include "kernels/conv/depthwise/channel_spec.h"
#include "kernels/conv/depthwise/width_plan.h"
#include "kernels/lane_masks.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"

namespace rafter::depthwise {

// One thread's work.
class WidthDriver {
 public:
  // `buffer`: this thread's, when outputs are streamed.
  WidthDriver(const WidthPlan& plan, const ConvCall& call, std::byte* buffer)
      : plan_(plan), g_(plan.geometry_), call_(call), buffer_(reinterpret_cast<float*>(buffer)) {}

  void Run(Range units);

 private:
  void SetTensors();
  void RunUnit(int64_t n, int64_t group, const WidthRows& rows);
  void TakePhases(int64_t phases);
  void Stream(int64_t n, int64_t channel, const WidthRows& rows);
  void SetBands(int64_t n, int64_t channel, const WidthRows& rows);
  void SetRun(const WidthRun& run, int64_t n, int64_t channel, int64_t phase, const WidthRows& rows);

  const WidthPlan& plan_;
  const Geometry& g_;
  const ConvCall& call_;
  float* const buffer_;
  int64_t block_ = -1;  // of weights, at hand
  WidthArgs args_;  // each field is set before the first kernel that reads it
};

void WidthDriver::SetTensors() {
  const Axis& rows = g_.rows;
  args_.src_channel = g_.multiplier > 1 ? 0 : g_.src.channel * kFloat;
  args_.dst_channel = g_.dst.channel * kFloat;
  args_.src_row = rows.dilation() * g_.src.row * kFloat;
  args_.dst_row = rows.distance() * g_.dst.row * kFloat;
  args_.ahead = plan_.blocking_.tile_rows * rows.stride() * g_.src.row * kFloat;
  args_.tap_step = g_.columns.dilation() * kFloat;
  args_.post_params = plan_.post_params_.data();
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    args_.residual_channel[op] = g_.residuals[op].channel * kFloat;
    args_.residual_row[op] = rows.distance() * g_.residuals[op].row * kFloat;
  }
}

void WidthDriver::SetRun(const WidthRun& run, int64_t n, int64_t channel, int64_t phase, const WidthRows& rows) {
  const int64_t lanes = plan_.blocking_.shape.lanes;
  const int64_t in_row = g_.rows.input(phase, rows.first), out_row = g_.rows.output(phase, rows.first);
  const int64_t in_column = g_.columns.input(0, 0) + run.begin * g_.columns.stride();
  const int64_t tile = run.vecs * lanes;
  const int64_t block = channel / kBlock;
  args_.src = Shift(call_.src, (n * g_.src.n + channel / g_.multiplier * g_.src.channel +
                                in_row * g_.src.row + in_column) *
                                   kFloat);
  float* const dst = Shift(call_.dst, (n * g_.dst.n + channel * g_.dst.channel + out_row * g_.dst.row) * kFloat);
  args_.dst = (buffer_ != nullptr ? buffer_ : dst) + run.begin;
  args_.weights = call_.weights + block * plan_.weights_.block_floats + kBlock + channel % kBlock;
  args_.tiles = run.tiles;
  args_.src_tile = tile * g_.columns.stride() * kFloat;
  args_.dst_tile = tile * kFloat;
  args_.vec_step = run.vec_step * kFloat;
  args_.masks = plan_.program_.masks.data() + run.masks;
  args_.last_lanes = run.last_lanes;
  args_.last_mask = FirstLanes(run.last_lanes);
  int next = 0;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) {
    if (g_.post_ops[op].kind == PostOpKind::kChannelScale)
      args_.scale[op] = g_.post_ops[op].scale.data() + channel;
    if (g_.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    const Steps& s = g_.residuals[op];
    args_.residual[op] =
        Shift(call_.residuals[next++],
              (n * s.n + channel * s.channel + out_row * s.row + run.begin) * kFloat);
    args_.residual_tile[op] = tile * kFloat;
  }
}

// All columns of the rows.
void WidthDriver::SetBands(int64_t n, int64_t channel, const WidthRows& rows) {
  SetRun({}, n, channel, rows.phase, rows);
  args_.channels = std::min(plan_.blocking_.channels, g_.oc - channel);
  args_.runs = plan_.band_runs_.data();
  args_.bands = rows.rows / plan_.blocking_.rows, args_.rest = rows.rows % plan_.blocking_.rows;
  args_.above = rows.above, args_.inside = rows.inside;
}

void WidthDriver::RunUnit(int64_t n, int64_t group, const WidthRows& rows) {
  const int64_t channel = group * plan_.blocking_.channels;
  if (channel / kBlock != block_) args_.careful = -1, block_ = channel / kBlock;
  if (plan_.blocking_.bands) {
    SetBands(n, channel, rows);
    plan_.functions_[0](&args_);
    if (buffer_ != nullptr) Stream(n, channel, rows);
    return;
  }
  args_.rolling = rows.counts;
  args_.last_row = (rows.rows - 1) * args_.dst_row;
  for (size_t i = 0; i < plan_.program_.runs.size(); ++i) {
    const WidthRun& run = plan_.program_.runs[i];
    const bool together = rows.phases > 1 && run.tiles == 1;
    for (int64_t phase = 0; phase < rows.phases; phase += together ? rows.phases : 1) {
      args_.channels = std::min(plan_.blocking_.channels, g_.oc - channel);
      SetRun(run, n, channel, rows.phase + phase, rows);
      if (together) TakePhases(rows.phases);
      plan_.functions_[rows.functions + i](&args_);
    }
  }
  if (buffer_ != nullptr) Stream(n, channel, rows);
}

// The tiles of a call are phases instead of columns.
void WidthDriver::TakePhases(int64_t phases) {
  args_.tiles = phases;
  args_.src_tile = g_.rows.stride() * g_.src.row * kFloat;
  args_.dst_tile = g_.dst.row * kFloat;
  for (size_t op = 0; op < g_.post_ops.size(); ++op) args_.residual_tile[op] = g_.residuals[op].row * kFloat;
}

// The buffer holds neighbouring rows, which make one run of memory.
void WidthDriver::Stream(int64_t n, int64_t channel, const WidthRows& rows) {
  reorder::CopyArgs copy;
  copy.src = buffer_;
  copy.dst = Shift(call_.dst, (n * g_.dst.n + channel * g_.dst.channel + rows.first * g_.dst.row) * kFloat);
  copy.rows = 1;
  copy.run_bytes = rows.rows * g_.dst.row * kFloat;
  plan_.copy_(&copy);
}

void WidthDriver::Run(Range units) {
  SetTensors();
  const auto blocks = static_cast<int64_t>(plan_.rows_.size()), groups = plan_.channel_groups();
  int64_t block = units.begin % blocks, group = units.begin / blocks % groups, n = units.begin / blocks / groups;
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    RunUnit(n, group, plan_.rows_[static_cast<size_t>(block)]);
    if (++block < blocks) continue;
    block = 0;
    if (++group == groups) group = 0, ++n;
  }
  if (buffer_ != nullptr) FinishStores();
}

int64_t WidthPlan::units() const {
  return geometry_.n * channel_groups() * static_cast<int64_t>(rows_.size());
}

void WidthPlan::Run(const ConvCall& call) const noexcept {
  RunOnThreads(*call.pool, std::min(call.threads, threads()), [&](int thread, int team) {
    std::byte* buffer = blocking_.streams ? call.scratch + thread * streamed_bytes() : nullptr;
    WidthDriver(*this, call, buffer).Run(SplitRange(units(), team, thread));
  });
}

}  // namespace rafter::depthwise
