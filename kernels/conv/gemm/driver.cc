// kernels/conv/gemm/driver.cc: executes a GemmPlan: threads, loop nest (gemm.h), arguments of each kernel call.
#include <algorithm>

#include "kernels/conv/gemm/gemm_plan.h"
#include "kernels/conv/gemm/tuning.h"
#include "kernels/lane_masks.h"
#include "kernels/sizes.h"
#include "kernels/store_choice.h"
#include "runtime/parallel.h"
#include "runtime/work_shares.h"

namespace rafter::gemm {

// One thread's work.
class GemmDriver {
 public:
  GemmDriver(const GemmPlan& plan, const ConvCall& call, int thread)
      : plan_(plan),
        b_(plan.blocking_),
        call_(call),
        lanes_(jit::GetIsaInfo(plan.isa_).vec_lanes()),
        careful_(plan.columns_.is_padded() && call.weights[0] == 0) {
    line_ = reinterpret_cast<float*>(call.scratch + static_cast<size_t>(thread) * plan.thread_bytes_);
    panels_ = line_ + plan.line_floats_;
    partial_ = panels_ + plan.panel_floats_;
    masks_ = partial_ + plan.partial_floats_;
    args_.post_params = plan.post_params_.data();
    args_.weights_panel = plan.weights_.sum_length() * kPanelChannels * kFloat;
    args_.dst_channel = (b_.staged ? plan.stage_row_ : plan.problem_.dst.c) * kFloat;
    args_.plane_step = (b_.staged ? plan.stage_row_ : plan.problem_.src.c) * kFloat;
    args_.plane_ahead = b_.pixels_ahead > 0 ? b_.pixels_ahead * kFloat : kPlanesAhead * args_.plane_step;
    args_.dst_ahead = b_.pixels_ahead * kFloat;
    args_.mask_offset = (masks_ - panels_) * kFloat;
    args_.tail_lanes = plan.tail_lanes();
    args_.tail_mask = FirstLanes(plan.tail_lanes());
    if (!b_.staged) return;
    stage_ = line_, next_stage_ = stage_ + plan.stage_floats_, out_stage_ = next_stage_ + plan.stage_floats_;
  }

  void RunItem(int64_t item);
  // Where segments are staged: all items that this thread takes.
  void RunStagedShare(WorkShares& shares, int thread);

 private:
  // Where a kernel call begins.
  struct Place {
    int64_t pixel = 0;    // of the image
    int64_t channel = 0;  // of the group
    int64_t panel = 0;    // offset in the panels, in floats
    int64_t parked = 0;   // offset of the parked sums, in floats
  };

  void SetItem(int64_t item);
  void SetPass(Range ks);
  void RunBlock(Range channels);
  void RunTile(const Place& tile, int32_t width, bool tail, Range channels);
  PlaneBlock PixelsOf(int64_t item) const;  // empty for -1
  // `next`: pixels of the item behind this one.
  void RunStaged(const PlaneBlock& next);
  void CopyOut();
  void RunTileCarefully(const Place& tile, int32_t width, bool tail, Range channels);
  void Call(GemmFunction* kernel, const Place& place, int64_t repeats, int64_t channels);

  const GemmPlan& plan_;
  const Blocking& b_;
  const ConvCall& call_;
  const int64_t lanes_;
  const bool careful_;
  float *line_, *panels_, *partial_, *masks_;
  // Staged segments: inputs of this and of the next item, outputs.
  float *stage_ = nullptr, *next_stage_ = nullptr, *out_stage_ = nullptr;
  int64_t n_ = 0, group_ = 0;
  Range pixels_, channels_, ks_;  // of the item; of the pass
  const float* image_ = nullptr;  // first input channel of the group
  const std::vector<int32_t>* tiles_ = nullptr;
  bool last_segment_ = false;
  GemmArgs args_;  // each field is set before the first kernel that reads it
};

void GemmDriver::SetItem(int64_t item) {
  // All segments of a part together: they share weights, and each thread begins with a part of its own.
  const int64_t segment = item % b_.segments;
  item /= b_.segments;
  const int64_t part = item % b_.channel_parts;
  item /= b_.channel_parts;
  group_ = item % plan_.weights_.groups;
  n_ = item / plan_.weights_.groups;
  pixels_ = {segment * b_.segment_pixels, std::min(plan_.pixels_, (segment + 1) * b_.segment_pixels)};
  tiles_ = &plan_.Tiles(segment);
  last_segment_ = segment == b_.segments - 1;
  image_ = call_.src + n_ * plan_.problem_.src.n + group_ * plan_.problem_.ic_g * plan_.problem_.src.c;
  const int64_t oc = plan_.weights_.oc_g, unit = ChannelUnit(jit::GetIsaInfo(plan_.isa_));
  const Range units = SplitRange((oc + unit - 1) / unit, b_.channel_parts, part);
  channels_ = {units.begin * unit, std::min(oc, units.end * unit)};
}

void GemmDriver::RunItem(int64_t item) {
  SetItem(item);
  const int64_t length = plan_.weights_.sum_length();
  const auto block_at = [&](int64_t begin) { return Range{begin, std::min(channels_.end, begin + b_.block_channels)}; };
  const auto pass_at = [&](int64_t begin) { return Range{begin, std::min(length, begin + b_.pass)}; };
  if (plan_.has_one_panel()) {
    for (int64_t channel = channels_.begin; channel < channels_.end; channel += b_.block_channels) {
      for (int64_t k = 0; k < length; k += b_.pass) SetPass(pass_at(k)), RunBlock(block_at(channel));
    }
    return;
  }
  for (int64_t k = 0; k < length; k += b_.pass) {
    SetPass(pass_at(k));
    plan_.columns_.Fill(image_, ks_, pixels_, *tiles_, line_, panels_);
    if (careful_) plan_.columns_.FillMasks(ks_, pixels_, *tiles_, line_, masks_);
    for (int64_t channel = channels_.begin; channel < channels_.end; channel += b_.block_channels) {
      RunBlock(block_at(channel));
    }
  }
}

PlaneBlock GemmDriver::PixelsOf(int64_t item) const {
  if (item < 0) return {};
  const ConvProblem& p = plan_.problem_;
  const int64_t first = item % b_.segments * b_.segment_pixels, image = item / b_.segments;
  const int64_t n = image / plan_.weights_.groups, group = image % plan_.weights_.groups;
  return {call_.src + n * p.src.n + group * p.ic_g * p.src.c + first, p.src.c, p.ic_g,
          std::min(plan_.pixels_ - first, b_.segment_pixels)};
}

void GemmDriver::RunStagedShare(WorkShares& shares, int thread) {
  Range taken;
  const auto take = [&] {
    if (taken.begin == taken.end) taken = shares.Take(thread);
    return taken.begin < taken.end ? taken.begin++ : -1;
  };
  SetPass({0, plan_.weights_.sum_length()});
  int64_t item = take();
  StageCopy(PixelsOf(item), plan_.stage_row_, stage_).CopyRest();
  for (int64_t next = take(); item >= 0;) {
    SetItem(item);
    RunStaged(PixelsOf(next));
    item = next;
    // Before the outputs: taking an item waits for stores past the caches.
    if (next >= 0) next = take();
    CopyOut();
  }
  FinishStores();
}

// Sums of the item's segment, while the next one is copied to the other stage.
void GemmDriver::RunStaged(const PlaneBlock& next) {
  const int64_t count = channels_.end - channels_.begin, per_pass = plan_.CopiesPerPass();
  args_.copy_from = next.first, args_.copy_to = next_stage_;
  args_.copy_left = args_.copy_run = next.run_lines();
  args_.copy_from_step = next.plane_floats * kFloat - next.run_lines() * kLineBytes;
  args_.copy_to_step = plan_.stage_row_ * kFloat - next.run_lines() * kLineBytes;
  const int64_t whole = next.pixels % kLineFloats == 0 ? next.lines() : 0;  // lines
  int64_t done = 0, copied = 0;                                             // pixels, lines
  for (size_t i = 0; i < tiles_->size(); ++i) {
    const int32_t width = (*tiles_)[i];
    const bool tail = last_segment_ && i + 1 == tiles_->size() && plan_.tail_lanes() > 0;
    const int64_t calls = CeilDiv(count, TileChannels(jit::GetIsaInfo(plan_.isa_), static_cast<int>(width / lanes_)));
    const int64_t wanted = CeilDiv(plan_.TileLines(width), calls * per_pass);
    args_.copy_passes = std::min({args_.steps, wanted, (whole - copied) / (calls * per_pass)});
    const int64_t lines = args_.copy_passes * calls * per_pass;
    const bool ends = copied + lines > (next.planes - 1) * next.run_lines();  // nothing is known to follow
    args_.copy_ahead = ends ? 0 : next.plane_floats * kFloat;
    RunTile({pixels_.begin + done, channels_.begin, done, 0}, width, tail, channels_);
    done += width, copied += lines;
  }
  StageCopy rest(next, plan_.stage_row_, next_stage_);
  rest.Skip(copied);
  rest.CopyRest();
  std::swap(stage_, next_stage_);
}

void GemmDriver::CopyOut() {
  const ConvProblem& p = plan_.problem_;
  const int64_t pixels = pixels_.end - pixels_.begin, channels = channels_.end - channels_.begin;
  float* dst = call_.dst + n_ * p.dst.n + (group_ * p.oc_g + channels_.begin) * p.dst.c + pixels_.begin;
  if (pixels < reorder::kMinOpenRun) {
    for (int64_t c = 0; c < channels; ++c) std::copy_n(out_stage_ + c * plan_.stage_row_, pixels, dst + c * p.dst.c);
    return;
  }
  const reorder::CopyArgs args{.src = out_stage_, .dst = dst, .rows = channels,
                               .src_row_bytes = plan_.stage_row_ * kFloat, .dst_row_bytes = p.dst.c * kFloat,
                               .run_bytes = pixels * kFloat};
  plan_.copy_out_->entry<reorder::CopyFunction>()(&args);
}

void GemmDriver::SetPass(Range ks) {
  ks_ = ks;
  const int64_t count = ks.end - ks.begin, unroll = careful_ ? 1 : kUnroll;
  args_.steps = count / unroll, args_.rest = count % unroll;
  args_.load_partial = ks.begin > 0;
  args_.store_partial = ks.end < plan_.weights_.sum_length();
}

void GemmDriver::RunBlock(Range channels) {
  const bool one_panel = plan_.has_one_panel();
  const int64_t count = ks_.end - ks_.begin, parked = one_panel ? 0 : channels.begin - channels_.begin;
  int64_t done = 0;  // pixels
  for (size_t i = 0; i < tiles_->size(); ++i) {
    const int32_t width = (*tiles_)[i];
    const bool tail = last_segment_ && i + 1 == tiles_->size() && plan_.tail_lanes() > 0;
    const Place tile = {pixels_.begin + done, channels.begin, one_panel ? 0 : done * count,
                        done * plan_.parked_channels() + parked * width};
    if (plan_.picker_.is_used()) plan_.picker_.Fill(image_, ks_, tile.pixel, width, panels_);
    if (careful_) {
      RunTileCarefully(tile, width, tail, channels);
    } else {
      RunTile(tile, width, tail, channels);
    }
    done += width;
  }
}

void GemmDriver::RunTile(const Place& tile, int32_t width, bool tail, Range channels) {
  const int64_t vecs = width / lanes_, ocs = TileChannels(jit::GetIsaInfo(plan_.isa_), static_cast<int>(vecs));
  const TileKernels& kernels = plan_.kernels_[static_cast<size_t>(vecs - 1)][tail ? 1 : 0];
  const int64_t count = channels.end - channels.begin, repeats = count / ocs, rest = count % ocs;
  const auto from = [&](int64_t done) {
    return Place{tile.pixel, tile.channel + done, tile.panel, tile.parked + done * width};
  };
  // The first tile of channels reads X where it lies.
  const bool in_place = plan_.reads_in_place();
  const int64_t first = in_place && repeats > 0 ? 1 : 0;
  if (first > 0) Call(kernels.first_whole, tile, 1, ocs);
  if (repeats > first) Call(kernels.whole, from(first * ocs), repeats - first, ocs);
  if (rest > 0) Call(in_place && repeats == 0 ? kernels.first_rest : kernels.rest, from(repeats * ocs), 1, rest);
}

// Vector by vector and channel by channel: rare, so it need not be fast.
void GemmDriver::RunTileCarefully(const Place& tile, int32_t width, bool tail, Range channels) {
  args_.line = width * kFloat;
  for (int64_t at = 0; at < width; at += lanes_) {
    GemmFunction* kernel = plan_.careful_[tail && at + lanes_ == width ? 1 : 0];
    for (int64_t channel = channels.begin; channel < channels.end; ++channel) {
      const int64_t parked = tile.parked + (channel - channels.begin) * width + at;
      Call(kernel, {tile.pixel + at, channel, tile.panel + at, parked}, 1, 1);
    }
  }
}

void GemmDriver::Call(GemmFunction* kernel, const Place& place, int64_t repeats, int64_t channels) {
  const ConvProblem& p = plan_.problem_;
  const int64_t channel = group_ * p.oc_g + place.channel;
  args_.src = panels_ + place.panel;
  args_.plane = b_.staged ? stage_ + place.panel : image_ + ks_.begin * p.src.c + place.pixel;
  args_.weights =
      call_.weights + plan_.weights_.weights(group_, place.channel) + ks_.begin * kPanelChannels;
  args_.dst = b_.staged ? out_stage_ + (place.channel - channels_.begin) * plan_.stage_row_ + place.panel
                        : call_.dst + n_ * p.dst.n + channel * p.dst.c + place.pixel;
  args_.bias = call_.weights + plan_.weights_.bias(group_, place.channel);
  args_.partial = partial_ + place.parked;
  args_.repeats = repeats;
  args_.weights_repeat = channels / kPanelChannels * args_.weights_panel;
  args_.dst_repeat = channels * args_.dst_channel;
  size_t next_residual = 0;
  const PostOps& ops = p.desc.post_ops;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (!ops[op].scale.empty()) args_.scale[op] = ops[op].scale.data() + channel;
    if (ops[op].kind != PostOpKind::kResidualAdd) continue;
    const Strides& s = plan_.residuals_[op];
    args_.residual[op] = call_.residuals[next_residual++] + n_ * s.n + channel * s.c + place.pixel;
    args_.residual_channel[op] = s.c * kFloat;
    args_.residual_repeat[op] = channels * s.c * kFloat;
  }
  kernel(&args_);
}

void GemmPlan::Run(const ConvCall& call) const noexcept {
  const int64_t items = problem_.desc.n * weights_.groups * blocking_.segments * blocking_.channel_parts;
  const int threads = std::min(call.threads, blocking_.threads);
  WorkShares shares(items, threads);
  RunOnThreads(*call.pool, threads, [&](int thread, int) {
    GemmDriver driver(*this, call, thread);
    if (is_staged()) return driver.RunStagedShare(shares, thread);
    for (;;) {
      const Range range = shares.Take(thread);
      if (range.begin == range.end) return;
      for (int64_t item = range.begin; item < range.end; ++item) driver.RunItem(item);
    }
  });
}

}  // namespace rafter::gemm
