// kernels/conv/winograd/input_stage.cc: gives the input kernel tiles in any layout: in place where all of a tile's
// inputs exist and a vector of channels lies together, through a table of pointers at the border of such images, else
// from a copy in the stage, in which padding and missing channels are zero.
#include <algorithm>
#include <cstring>

#include "kernels/conv/winograd/worker.h"
#include "kernels/shift.h"
#include "kernels/sizes.h"

namespace rafter::winograd {

bool Worker::IsInside(int64_t y, int64_t x) const {
  const Size2& in = problem_.desc.in;
  return y >= 0 && x >= 0 && y + shape_.in_h() <= in.h && x + shape_.in_w() <= in.w;
}

// The inputs of a tile, less the columns that it shares with the one before it, which comes first.
void Worker::PrefetchInputs(int64_t group, const TileRun& run, bool is_first) const {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t y = run.y * shape_.out_h() - d.pad.top, x = run.x * shape_.out_w() - d.pad.left;
  const int64_t shared = is_first ? 0 : shape_.in_w() - shape_.out_w();
  const int64_t y_end = std::min<int64_t>(d.in.h, y + shape_.in_h()), x_end = std::min(d.in.w, x + shape_.in_w());
  const int64_t channels = plan_.blocking_.groups * problem_.ic_g;
  const float* image = call_.src + run.n * s.n + group * problem_.ic_g;
  for (int64_t row = std::max<int64_t>(y, 0); row < y_end; ++row) {
    for (int64_t px = std::max<int64_t>(x + shared, 0); px < x_end; ++px) {
      const float* pixel = image + row * s.h + px * s.w;
      for (int64_t c = 0; c < channels; c += kLineFloats) __builtin_prefetch(pixel + c, 0, 2);
    }
  }
}

// NHWC: a tile after the other, all channels.
void Worker::TransformPixels(const TileRun& run) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t channels = plan_.blocking_.groups * problem_.ic_g, rest = channels % lanes_;
  const float* image = call_.src + run.n * s.n + group_ * problem_.ic_g;
  const int64_t y = run.y * shape_.out_h() - d.pad.top;
  InputArgs args;
  args.v_plane = plan_.v_rows_.position * kFloat;
  args.v_column = shape_.in_h() * args.v_plane;
  args.src_step = args.v_step = lanes_ * kFloat;
  args.src_row = s.h * kFloat, args.src_px = s.w * kFloat;
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t x = (run.x + i) * shape_.out_w() - d.pad.left;
    float* v = buffers_.v + (run.first + i) * plan_.v_rows_.tile;
    const bool inside = IsInside(y, x);
    if (!inside) FindPixels(image, y, x, args);
    InputFunction* kernel = inside ? plan_.input_ : plan_.input_scattered_;
    const float* src = Shift(image, (y * s.h + x * s.w) * kFloat);
    args.src = src, args.src_offset = 0, args.v = v;
    args.count = channels / lanes_;
    kernel(&args);
    if (rest == 0) continue;
    // Once more, up to the last channel.
    args.src_offset = (channels - lanes_) * kFloat;
    args.src = Shift(src, (channels - lanes_) * kFloat), args.v = v + channels - lanes_;
    args.count = 1;
    kernel(&args);
  }
}

// Where each input of a tile lies; those in the padding are found among zeros.
void Worker::FindPixels(const float* image, int64_t y, int64_t x, InputArgs& args) const {
  const Size2& in = problem_.desc.in;
  const Strides& s = problem_.src;
  const float** pixel = args.pixels;
  for (int64_t i = y; i < y + shape_.in_h(); ++i) {
    for (int64_t j = x; j < x + shape_.in_w(); ++j) {
      const bool inside = i >= 0 && i < in.h && j >= 0 && j < in.w;
      *pixel++ = inside ? image + i * s.h + j * s.w : plan_.zeros_.data();
    }
  }
}

// Blocks whose vectors lie together: a tile after the other, all channels, a block at a time. Pointers to the inputs
// of a tile at the border move on with the blocks.
void Worker::TransformBlocks(const TileRun& run) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t block = ChannelBlock(d.src.layout), block_bytes = s.c * kFloat;
  const float* image = call_.src + run.n * s.n + group_ * problem_.ic_g / block * s.c;
  const int64_t y = run.y * shape_.out_h() - d.pad.top, positions = shape_.positions();
  InputArgs args;
  args.v_plane = plan_.v_rows_.position * kFloat;
  args.v_column = shape_.in_h() * args.v_plane;
  args.src_step = args.v_step = lanes_ * kFloat;
  args.src_row = s.h * kFloat, args.src_px = s.w * kFloat;
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t x = (run.x + i) * shape_.out_w() - d.pad.left;
    const bool inside = IsInside(y, x);
    InputFunction* kernel = inside ? plan_.input_ : plan_.input_scattered_;
    const float* src = Shift(image, (y * s.h + x * s.w) * kFloat);
    int64_t steps[kMaxInputs * kMaxInputs];
    if (!inside) {
      FindPixels(image, y, x, args);
      for (int64_t p = 0; p < positions; ++p) steps[p] = args.pixels[p] == plan_.zeros_.data() ? 0 : block_bytes;
    }
    float* v = buffers_.v + (run.first + i) * plan_.v_rows_.tile;
    for (int64_t channel = 0; channel < problem_.ic_g; channel += block) {
      args.src = src, args.src_offset = 0, args.v = v + channel;
      args.count = CeilDiv(std::min(block, problem_.ic_g - channel), lanes_);
      kernel(&args);
      src = Shift(src, block_bytes);
      if (inside) continue;
      for (int64_t p = 0; p < positions; ++p) args.pixels[p] = Shift(args.pixels[p], steps[p]);
    }
  }
}

// Other layouts: through a strip, a vector of channels after the other, all tiles of the run, and those of whole rows
// of tiles below it, as far as the plan says: they share inputs, and calls.
void Worker::TransformStrips(Range block, Range mine, Range channels) {
  strip_ = {};
  int64_t covered = mine.begin;
  ForEachRun(block, mine, kStripTiles, [&](const TileRun& run) {
    const int64_t tile = block.begin + run.first, per_row = geometry_.tiles_w;
    if (tile < covered) return;
    int64_t rows = 1;
    if (run.count == per_row) {
      const int64_t left = std::min(geometry_.tiles_h - run.y, (mine.end - tile) / per_row);
      rows = std::clamp<int64_t>(left, 1, plan_.strip_rows_);
    }
    for (int64_t channel = channels.begin; channel < channels.end; channel += lanes_) {
      TransformStrip(run, rows, channel);
    }
    covered = tile + rows * run.count;
  });
}

void Worker::TransformStrip(const TileRun& run, int64_t rows, int64_t channel) {
  const int64_t columns = (run.count - 1) * shape_.out_w() + shape_.in_w();
  FillStrip(run, rows, channel, columns);
  InputArgs args;
  args.src_px = lanes_ * kFloat, args.src_row = columns * args.src_px;
  args.v_plane = plan_.v_rows_.position * kFloat;
  args.v_column = shape_.in_h() * args.v_plane;
  args.src_step = shape_.out_w() * args.src_px;
  args.v_step = plan_.v_rows_.tile * kFloat;
  for (int64_t row = 0; row < rows; ++row) {
    args.src = buffers_.stage + row * shape_.out_h() * columns * lanes_;
    args.v = buffers_.v + (run.first + row * run.count) * plan_.v_rows_.tile + channel;
    args.count = run.count;
    plan_.input_(&args);
  }
}

// stage[row][column][lane]: the inputs of a run of tiles, and of rows of tiles below it, one vector of channels.
void Worker::FillStrip(const TileRun& run, int64_t rows, int64_t channel, int64_t columns) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t block = ChannelBlock(d.src.layout);
  const int64_t first = group_ * problem_.ic_g + channel, channels = std::min<int64_t>(lanes_, problem_.ic_g - channel);
  const int64_t y = run.y * shape_.out_h() - d.pad.top, x = run.x * shape_.out_w() - d.pad.left;
  const int64_t begin = std::clamp<int64_t>(-x, 0, columns), end = std::clamp<int64_t>(d.in.w - x, begin, columns);
  const int64_t height = (rows - 1) * shape_.out_h() + shape_.in_h();
  int64_t top = std::clamp<int64_t>(-y, 0, height);
  const int64_t bottom = std::clamp<int64_t>(d.in.h - y, top, height);
  if (begin == end) top = bottom;  // nothing but padding
  const int64_t row_floats = columns * lanes_;
  float* strip = buffers_.stage;
  const StripShape shape{columns, height, top, bottom, begin, end};
  if (strip_ != shape) {
    std::fill_n(strip, top * row_floats, 0.0f);
    for (int64_t i = top; i < bottom; ++i) {
      std::fill_n(strip + i * row_floats, begin * lanes_, 0.0f);
      std::fill_n(strip + i * row_floats + end * lanes_, (columns - end) * lanes_, 0.0f);
    }
    std::fill_n(strip + bottom * row_floats, (height - bottom) * row_floats, 0.0f);
    strip_ = shape;
  }
  if (top == bottom) return;
  const float* image = call_.src + run.n * s.n + first / block * s.c + first % block;
  const float* src = image + (y + top) * s.h + (x + begin) * s.w;
  float* to = strip + top * row_floats + begin * lanes_;
  if (block == 1) {
    TransposeChannels(plan_.src_to_strip_, src, {s.c, s.h, channels, bottom - top}, end - begin, to, row_floats);
    return;
  }
  for (int64_t i = 0; i < bottom - top; ++i) CopyBlocks(src + i * s.h, channels, end - begin, to + i * row_floats);
}

// `channels` of `pixels` neighbours of a row of a blocked source.
void Worker::CopyBlocks(const float* from, int64_t channels, int64_t pixels, float* to) const {
  const Strides& s = problem_.src;
  const int64_t step = std::min<int64_t>(ChannelBlock(problem_.desc.src.layout), lanes_);
  for (int64_t c = 0; c < lanes_; c += step) {
    const int64_t count = std::clamp<int64_t>(channels - c, 0, step);
    for (int64_t p = 0; p < pixels; ++p) {
      float* pixel = to + p * lanes_ + c;
      if (count > 0) std::memcpy(pixel, from + c / step * s.c + p * s.w, static_cast<size_t>(count) * kFloat);
      std::fill(pixel + count, pixel + step, 0.0f);
    }
  }
}

// Rows of channels to pixels of a strip; missing channels become zero.
void Worker::TransposeChannels(const WinogradPlan::ToStrip& kernels, const float* from, const ChannelRows& rows,
                               int64_t pixels, float* strip, int64_t strip_row) const {
  if (pixels >= kFewColumns) {
    reorder::TransposeArgs args;
    args.src = from, args.dst = strip;
    args.src_row_bytes = rows.channel_stride * kFloat, args.dst_row_bytes = lanes_ * kFloat;
    args.columns = pixels;
    args.groups = rows.rows;
    args.src_group_bytes = rows.row_stride * kFloat, args.dst_group_bytes = strip_row * kFloat;
    (rows.channels == lanes_ ? kernels.full : kernels.tail)(&args);
    return;
  }
  for (int64_t row = 0; row < rows.rows; ++row) {
    for (int64_t p = 0; p < pixels; ++p) {
      float* pixel = strip + row * strip_row + p * lanes_;
      for (int64_t c = 0; c < rows.channels; ++c) pixel[c] = from[row * rows.row_stride + c * rows.channel_stride + p];
      std::fill(pixel + rows.channels, pixel + lanes_, 0.0f);
    }
  }
}

}  // namespace rafter::winograd
