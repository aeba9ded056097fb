// kernels/conv/winograd/output_stage.cc: lets the output kernel write to any layout: in place where a vector of
// channels lies together, else to a strip in the stage, from which the outputs are transposed to their rows;
// residuals come the same way.
#include <algorithm>
#include <cstring>

#include "kernels/conv/winograd/worker.h"
#include "kernels/lane_masks.h"
#include "kernels/sizes.h"

namespace rafter::winograd {

// Which outputs of a tile exist.
int64_t Worker::PixelMask(int64_t y, int64_t x) const {
  const int64_t rows = std::min<int64_t>(shape_.out_h(), problem_.oh - y * shape_.out_h());
  const int64_t columns = std::min<int64_t>(shape_.out_w(), problem_.ow - x * shape_.out_w());
  int64_t mask = 0;
  for (int64_t row = 0; row < rows; ++row) mask |= ((int64_t{1} << columns) - 1) << (row * shape_.out_w());
  return mask;
}

// What depends on the first vector of output channels.
void Worker::SetChannels(OutputArgs& args, int64_t vec) const {
  const PackLayout& layout = plan_.layout_;
  args.bias = call_.weights + layout.bias(group_) + vec * lanes_;
  args.m_plane = plan_.m_rows_.position * kFloat;
  args.m_column = shape_.in_h() * args.m_plane;
  args.post_params = plan_.post_params_.data();
  args.tail_mask = FirstLanes(std::clamp<int64_t>(layout.oc_g - vec * lanes_, 0, lanes_));
  for (size_t op = 0; op < plan_.scales_.size(); ++op) {
    if (!plan_.scales_[op].empty()) args.scale[op] = plan_.scales_[op].data() + layout.bias(group_) + vec * lanes_;
  }
}

// The lines of a tile's outputs, while the one before it is computed: on Zen 3 the stores of the output transform
// wait for them otherwise (64@56: 5 to 8 % of the whole).
void Worker::PrefetchOutputs(const TileRun& run, int64_t tile, Range vecs) const {
  const Strides& s = problem_.dst;
  const int64_t y = run.y * shape_.out_h(), x = (run.x + tile) * shape_.out_w();
  const int64_t y_end = std::min(problem_.oh, y + shape_.out_h()), x_end = std::min(problem_.ow, x + shape_.out_w());
  const float* first = call_.dst + run.n * s.n + group_ * problem_.oc_g + vecs.begin * lanes_;
  const int64_t channels = (vecs.end - vecs.begin) * lanes_;
  for (int64_t row = y; row < y_end; ++row) {
    for (int64_t px = x; px < x_end; ++px) {
      const float* pixel = first + row * s.h + px * s.w;
      for (int64_t c = 0; c < channels; c += kLineFloats) __builtin_prefetch(pixel + c, 1);
    }
  }
}

// NHWC, in place or through the stage.
void Worker::StorePixels(const TileRun& run, Range vecs) {
  const Strides& s = problem_.dst;
  float* first = call_.dst + run.n * s.n + run.y * shape_.out_h() * s.h + run.x * shape_.out_w() * s.w;
  if (plan_.staged_tiles_ == 0) return StoreTiles(run, vecs, first, s.h);
  for (int64_t tile = 0; tile < run.count; tile += plan_.staged_tiles_) {
    TileRun part = run;
    part.x += tile, part.first += tile;
    part.count = std::min(plan_.staged_tiles_, run.count - tile);
    StoreTiles(part, vecs, buffers_.stage, plan_.StagedRow());
    StreamRows(part, first + tile * shape_.out_w() * s.w);
  }
}

// A tile after the other, all vectors of channels. `first` and `dst_row` (floats): where the outputs go.
void Worker::StoreTiles(const TileRun& run, Range vecs, float* first, int64_t dst_row) {
  const Strides& s = problem_.dst;
  const int64_t full = std::min(vecs.end, plan_.blocking_.groups * problem_.oc_g / lanes_);
  const int64_t y = run.y * shape_.out_h();
  OutputArgs args;
  args.dst_row = dst_row * kFloat, args.dst_px = s.w * kFloat;
  args.m_step = args.dst_step = args.channel_step = lanes_ * kFloat;
  const auto store = [&](OutputFunction* kernel, int64_t tile, int64_t vec, int64_t count) {
    if (count <= 0) return;
    const int64_t x = (run.x + tile) * shape_.out_w(), channel = group_ * problem_.oc_g + vec * lanes_;
    SetChannels(args, vec);
    args.m = buffers_.m + (run.first + tile) * plan_.m_rows_.tile + vec * lanes_;
    args.dst = first + tile * shape_.out_w() * s.w + channel;
    args.pixels = PixelMask(run.y, run.x + tile);
    args.count = count;
    int next = 0;
    for (size_t op = 0; op < problem_.desc.post_ops.size(); ++op) {
      if (problem_.desc.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
      const Strides& r = plan_.residuals_[op];
      args.residual[op] = call_.residuals[next++] + run.n * r.n + y * r.h + x * r.w + channel;
      args.residual_row[op] = r.h * kFloat, args.residual_px[op] = r.w * kFloat;
      args.residual_step[op] = args.dst_step;
    }
    kernel(&args);
  };
  const bool prefetches = !plan_.prefetches_ && plan_.staged_tiles_ == 0;
  for (int64_t tile = 0; tile < run.count; ++tile) {
    if (prefetches && tile + 1 < run.count) PrefetchOutputs(run, tile + 1, {vecs.begin, full});
    store(plan_.output_, tile, vecs.begin, full - vecs.begin);
    if (full < vecs.end) store(plan_.output_tail_, tile, full, 1);
  }
}

// The staged outputs of neighbouring tiles to memory, a row of pixels at a time: past the caches.
void Worker::StreamRows(const TileRun& run, float* first) const {
  const Strides& s = problem_.dst;
  const int64_t rows = std::min<int64_t>(shape_.out_h(), problem_.oh - run.y * shape_.out_h());
  const int64_t pixels = std::min(run.count * shape_.out_w(), problem_.ow - run.x * shape_.out_w());
  reorder::CopyArgs args;
  args.src = buffers_.stage, args.dst = first;
  args.rows = rows, args.run_bytes = pixels * s.w * kFloat;
  args.src_row_bytes = plan_.StagedRow() * kFloat, args.dst_row_bytes = s.h * kFloat;
  if (pixels * s.w >= reorder::kMinOpenRun) return plan_.stream_(&args);
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(buffers_.stage + row * plan_.StagedRow(), pixels * s.w, first + row * s.h);
  }
}

// A vector of channels that lies together: neighbouring tiles whose outputs exist alike.
void Worker::StoreVector(const TileRun& run, int64_t vec) {
  const Strides& s = problem_.dst;
  const int64_t block = ChannelBlock(problem_.desc.dst.layout), y = run.y * shape_.out_h();
  const int64_t channel = group_ * problem_.oc_g + vec * lanes_;
  OutputArgs args;
  SetChannels(args, vec);
  args.dst_row = s.h * kFloat, args.dst_px = s.w * kFloat;
  args.m_step = plan_.m_rows_.tile * kFloat;
  args.dst_step = shape_.out_w() * args.dst_px;
  args.channel_step = 0;
  OutputFunction* kernel = (vec + 1) * lanes_ <= problem_.oc_g ? plan_.output_ : plan_.output_tail_;
  for (int64_t tile = 0; tile < run.count;) {
    const int64_t x = (run.x + tile) * shape_.out_w();
    args.pixels = PixelMask(run.y, run.x + tile);
    args.count = 1;
    while (tile + args.count < run.count && PixelMask(run.y, run.x + tile + args.count) == args.pixels) ++args.count;
    const auto offset = [&](const Strides& t) {
      return run.n * t.n + channel / block * t.c + channel % block + y * t.h + x * t.w;
    };
    args.m = buffers_.m + (run.first + tile) * plan_.m_rows_.tile + vec * lanes_;
    args.dst = call_.dst + offset(s);
    int next = 0;
    for (size_t op = 0; op < problem_.desc.post_ops.size(); ++op) {
      if (problem_.desc.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
      const Strides& r = plan_.residuals_[op];
      args.residual[op] = call_.residuals[next++] + offset(r);
      args.residual_row[op] = r.h * kFloat, args.residual_px[op] = r.w * kFloat;
      args.residual_step[op] = shape_.out_w() * args.residual_px[op];
    }
    tile += args.count;
    kernel(&args);
  }
  if (channel + 2 * lanes_ > RoundUpToBlock(block) || channel + lanes_ < problem_.desc.oc) return;
  ClearVector(run, channel + lanes_);
}

// The lanes of the last block behind the last vector that has channels.
void Worker::ClearVector(const TileRun& run, int64_t channel) const {
  const Strides& s = problem_.dst;
  const int64_t block = ChannelBlock(problem_.desc.dst.layout);
  const int64_t y = run.y * shape_.out_h(), x = run.x * shape_.out_w();
  const int64_t y_end = std::min(problem_.oh, y + shape_.out_h());
  const int64_t x_end = std::min(problem_.ow, x + run.count * shape_.out_w());
  float* to = call_.dst + run.n * s.n + channel / block * s.c + channel % block;
  for (int64_t row = y; row < y_end; ++row) {
    for (int64_t px = x; px < x_end; ++px) std::fill_n(to + row * s.h + px * s.w, lanes_, 0.0f);
  }
}

void Worker::StoreThroughStrip(const TileRun& run, int64_t vec) {
  const int64_t first_x = run.x * shape_.out_w();
  const int64_t row_px = std::min(run.count * shape_.out_w(), problem_.ow - first_x);
  const int64_t strip_floats = shape_.out_h() * kStripTiles * shape_.out_w() * lanes_;
  OutputArgs args;
  SetChannels(args, vec);
  args.dst_px = lanes_ * kFloat, args.dst_row = row_px * args.dst_px;
  args.m_step = plan_.m_rows_.tile * kFloat;
  args.dst_step = shape_.out_w() * args.dst_px;
  args.channel_step = 0;
  int next = 0;
  for (size_t op = 0; op < problem_.desc.post_ops.size(); ++op) {
    if (problem_.desc.post_ops[op].kind != PostOpKind::kResidualAdd) continue;
    float* strip = buffers_.stage + (next + 1) * strip_floats;
    CopyStrip(run, vec, row_px, const_cast<float*>(call_.residuals[next++]), plan_.residuals_[op], strip, false);
    args.residual[op] = strip;
    args.residual_row[op] = args.dst_row, args.residual_px[op] = args.dst_px;
    args.residual_step[op] = args.dst_step;
  }
  args.m = buffers_.m + run.first * plan_.m_rows_.tile + vec * lanes_;
  args.dst = buffers_.stage;
  for (int64_t tile = 0; tile < run.count;) {
    args.pixels = PixelMask(run.y, run.x + tile);
    args.count = 1;
    while (tile + args.count < run.count && PixelMask(run.y, run.x + tile + args.count) == args.pixels) ++args.count;
    tile += args.count;
    plan_.output_(&args);  // leaves m, dst and residuals at the next tile
  }
  CopyStrip(run, vec, row_px, call_.dst, problem_.dst, buffers_.stage, true);
}

// Between strip[row][column][lane] and a tensor of the output's shape. `out`: to the tensor.
void Worker::CopyStrip(const TileRun& run, int64_t vec, int64_t row_px, float* tensor, const Strides& s,
                       float* strip, bool out) const {
  const int64_t y = run.y * shape_.out_h(), x = run.x * shape_.out_w();
  const int64_t block = ChannelBlock(problem_.desc.dst.layout);
  const int64_t channels = std::min<int64_t>(lanes_, problem_.oc_g - vec * lanes_);
  const int64_t channel = group_ * problem_.oc_g + vec * lanes_;
  int64_t rows = std::min<int64_t>(shape_.out_h(), problem_.oh - y), pixels = row_px;
  if (block == 1 && s.h == pixels) pixels *= rows, rows = 1;  // rows follow each other in both
  for (int64_t row = 0; row < rows; ++row) {
    float* to = tensor + run.n * s.n + channel / block * s.c + (y + row) * s.h + x * s.w;
    float* from = strip + row * row_px * lanes_;
    if (block > 1) {  // several blocks make a vector
      for (int64_t c = 0; c < lanes_ && channel + c < RoundUpToBlock(block); c += block) {
        for (int64_t p = 0; p < pixels; ++p) {
          float *outer = to + c / block * s.c + p * s.w, *inner = from + p * lanes_ + c;
          const int64_t count = std::clamp<int64_t>(channels - c, 0, block);
          std::copy_n(out ? inner : outer, count, out ? outer : inner);
          if (out) std::fill(outer + count, outer + block, 0.0f);
        }
      }
      continue;
    }
    if (out) {
      TransposePixels(from, to, s.c, channels, pixels);
    } else {
      TransposeChannels(plan_.residual_to_strip_, to, {s.c, 0, channels, 1}, pixels, from, 0);
    }
  }
}

// The end of the last block of channels.
int64_t Worker::RoundUpToBlock(int64_t block) const { return (problem_.desc.oc + block - 1) / block * block; }

// Pixels of a strip to rows of channels.
void Worker::TransposePixels(const float* strip, float* to, int64_t channel_stride, int64_t channels,
                             int64_t pixels) const {
  if (channels < kFewColumns) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) to[c * channel_stride + p] = strip[p * lanes_ + c];
    }
    return;
  }
  reorder::TransposeArgs args;
  args.src_row_bytes = lanes_ * kFloat, args.dst_row_bytes = channel_stride * kFloat;
  args.columns = channels;
  args.src_group_bytes = kStripRows * lanes_ * kFloat, args.dst_group_bytes = kStripRows * kFloat;
  const int64_t whole = pixels / kStripRows, rest = pixels % kStripRows;
  if (whole > 0) {
    args.src = strip, args.dst = to;
    args.groups = whole;
    plan_.from_strip_[kStripRows](&args);
  }
  if (rest == 0) return;
  args.src = strip + whole * kStripRows * lanes_, args.dst = to + whole * kStripRows;
  args.groups = 1;
  plan_.from_strip_[rest](&args);
}

}  // namespace rafter::winograd
