// kernels/conv/winograd/input_stage.cc: gives the input kernel tiles in any layout: in place where all of a tile's
// inputs exist and a vector of channels lies together, through a table of pointers at the border of NHWC images, else
// from a copy in the stage, in which padding and missing channels are zero.
#include <algorithm>
#include <cstring>

#include "kernels/conv/winograd/worker.h"

namespace rafter::winograd {

namespace {

constexpr int64_t kFloat = sizeof(float);

}  // namespace

bool Worker::IsInside(int64_t y, int64_t x) const {
  const Size2& in = problem_.desc.in;
  return y >= 0 && x >= 0 && y + shape_.in_h() <= in.h && x + shape_.in_w() <= in.w;
}

// The tiles of a run that do not reach into the padding.
Range Worker::InsideTiles(const TileRun& run) const {
  const ConvDesc& d = problem_.desc;
  const int64_t y = run.y * shape_.out_h() - d.pad.top;
  if (y < 0 || y + shape_.in_h() > d.in.h) return {0, 0};
  const auto x = [&](int64_t i) { return (run.x + i) * shape_.out_w() - d.pad.left; };
  Range inside{0, run.count};
  while (inside.begin < inside.end && x(inside.begin) < 0) ++inside.begin;
  while (inside.end > inside.begin && x(inside.end - 1) + shape_.in_w() > d.in.w) --inside.end;
  return inside;
}

// NHWC: a tile after the other, all channels.
void Worker::TransformPixels(const TileRun& run) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t channels = problem_.ic_g, rest = channels % lanes_;
  const float* image = call_.src + run.n * s.n + group_ * channels;
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
    const float* src = Shift(image, y * s.h + x * s.w);
    args.src = src, args.src_offset = 0, args.v = v;
    args.count = channels / lanes_;
    kernel(&args);
    if (rest == 0) continue;
    // Once more, up to the last channel.
    args.src_offset = (channels - lanes_) * kFloat;
    args.src = Shift(src, channels - lanes_), args.v = v + channels - lanes_;
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

// Other layouts: a vector of channels after the other, all tiles of the run.
void Worker::TransformVectors(const TileRun& run) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t block = ChannelBlock(d.src.layout);
  const int64_t y = run.y * shape_.out_h() - d.pad.top;
  const Range inside = plan_.vectors_lie_together(d.src.layout) ? InsideTiles(run) : Range{0, 0};
  InputArgs args;
  args.v_plane = plan_.v_rows_.position * kFloat;
  args.v_column = shape_.in_h() * args.v_plane;
  args.v_step = plan_.v_rows_.tile * kFloat;
  args.src_row = s.h * kFloat, args.src_px = s.w * kFloat;
  args.src_step = shape_.out_w() * args.src_px;
  const auto part = [&](int64_t begin, int64_t end) {
    return TileRun{run.n, run.y, run.x + begin, end - begin, run.first + begin};
  };
  for (int64_t channel = 0; channel < problem_.ic_g; channel += lanes_) {
    if (inside.begin >= inside.end) {
      TransformStrip(run, channel);
      continue;
    }
    if (inside.begin > 0) TransformStrip(part(0, inside.begin), channel);
    const int64_t c = group_ * problem_.ic_g + channel;
    const int64_t x = (run.x + inside.begin) * shape_.out_w() - d.pad.left;
    args.src = call_.src + run.n * s.n + c / block * s.c + c % block + y * s.h + x * s.w;
    args.v = buffers_.v + (run.first + inside.begin) * plan_.v_rows_.tile + channel;
    args.count = inside.end - inside.begin;
    plan_.input_(&args);
    if (inside.end < run.count) TransformStrip(part(inside.end, run.count), channel);
  }
}

void Worker::TransformStrip(const TileRun& run, int64_t channel) {
  const int64_t columns = (run.count - 1) * shape_.out_w() + shape_.in_w();
  FillStrip(run, channel, columns);
  InputArgs args;
  args.src = buffers_.stage;
  args.v = buffers_.v + run.first * plan_.v_rows_.tile + channel;
  args.src_px = lanes_ * kFloat, args.src_row = columns * args.src_px;
  args.v_plane = plan_.v_rows_.position * kFloat;
  args.v_column = shape_.in_h() * args.v_plane;
  args.count = run.count;
  args.src_step = shape_.out_w() * args.src_px;
  args.v_step = plan_.v_rows_.tile * kFloat;
  plan_.input_(&args);
}

// stage[row][column][lane]: the inputs of a run of tiles, one vector of channels.
void Worker::FillStrip(const TileRun& run, int64_t channel, int64_t columns) {
  const ConvDesc& d = problem_.desc;
  const Strides& s = problem_.src;
  const int64_t block = ChannelBlock(d.src.layout);
  const int64_t first = group_ * problem_.ic_g + channel, channels = std::min<int64_t>(lanes_, problem_.ic_g - channel);
  const int64_t y = run.y * shape_.out_h() - d.pad.top, x = run.x * shape_.out_w() - d.pad.left;
  const int64_t begin = std::clamp<int64_t>(-x, 0, columns), end = std::clamp<int64_t>(d.in.w - x, begin, columns);
  const int64_t row_floats = columns * lanes_;
  if (channels < lanes_) std::fill_n(buffers_.stage, shape_.in_h() * row_floats, 0.0f);
  const float* src = call_.src + run.n * s.n + first / block * s.c + first % block;
  for (int64_t i = 0; i < shape_.in_h(); ++i) {
    float* to = buffers_.stage + i * row_floats;
    if (y + i < 0 || y + i >= d.in.h || begin == end) {
      std::fill_n(to, row_floats, 0.0f);
      continue;
    }
    std::fill(to, to + begin * lanes_, 0.0f);
    CopyRow(src + (y + i) * s.h + (x + begin) * s.w, channels, end - begin, to + begin * lanes_);
    std::fill(to + end * lanes_, to + row_floats, 0.0f);
  }
}

// `channels` of `pixels` neighbours of a row of the source.
void Worker::CopyRow(const float* from, int64_t channels, int64_t pixels, float* to) const {
  const Strides& s = problem_.src;
  const int64_t block = ChannelBlock(problem_.desc.src.layout);
  for (int64_t c = 0; c < channels; c += reorder::kTransposeRows) {
    const int64_t count = std::min<int64_t>(reorder::kTransposeRows, channels - c);
    if (block == 1) {
      TransposeChannels(from, s.c, to, channels, pixels);
      return;
    }
    for (int64_t p = 0; p < pixels; ++p) {
      std::memcpy(to + p * lanes_ + c, from + c / block * s.c + c % block + p * s.w,
                  static_cast<size_t>(count) * kFloat);
    }
  }
}

}  // namespace rafter::winograd
