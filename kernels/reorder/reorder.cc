// kernels/reorder/reorder.cc: the loops around the transposition kernel, and block copies for NCHWc.
#include "kernels/reorder/reorder.h"

#include <algorithm>

namespace rafter::reorder {

namespace {

constexpr int64_t kFloat = sizeof(float);

// Lane masks: the window that starts at 8 - n has n used lanes.
constexpr int32_t kColumnMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};

}  // namespace

Result<Reorder> Reorder::Make(const Shape& shape, Layout layout, const Strides& strides,
                              const Strides& nhwc) {
  Reorder r;
  r.shape_ = shape, r.layout_ = layout, r.strides_ = strides, r.nhwc_ = nhwc;
  if (strides.h == shape.w * strides.w && nhwc.h == shape.w * nhwc.w) {
    r.shape_.w *= shape.h;
    r.shape_.h = 1;
  }
  if (layout != Layout::kNchw) return r;
  const auto get = [](int64_t rows, jit::KernelPtr& kernel) -> Status {
    if (rows == 0) return {};
    Result<jit::KernelPtr> made = GetTransposeKernel(static_cast<int>(rows));
    if (!made.ok()) return made.status();
    kernel = std::move(made).value();
    return {};
  };
  Status status = get(kTransposeRows, r.full_);
  if (status.ok()) status = get(r.shape_.c % kTransposeRows, r.channel_rest_);
  if (status.ok()) status = get(r.shape_.w % kTransposeRows, r.pixel_rest_);
  if (!status.ok()) return status;
  return r;
}

Reorder::Piece Reorder::PieceOf(int64_t unit) const noexcept {
  const int64_t c = unit % channel_pieces() * kPieceChannels, pixels = unit / channel_pieces();
  const int64_t x = pixels % pixel_pieces() * kPiecePixels, row = pixels / pixel_pieces();
  const int64_t n = row / shape_.h, y = row % shape_.h;
  return {n * strides_.n + c / ChannelBlock(layout_) * strides_.c + y * strides_.h + x * strides_.w,
          n * nhwc_.n + c + y * nhwc_.h + x * nhwc_.w, std::min(kPiecePixels, shape_.w - x),
          std::min(kPieceChannels, shape_.c - c)};
}

// dst[j][i] = src[i][j]; row distances in floats. `rest` takes the last rows % 8 rows.
void Reorder::Transpose(const float* src, int64_t src_row, int64_t rows, float* dst,
                        int64_t dst_row, int64_t columns,
                        const jit::KernelPtr& rest) const noexcept {
  for (int64_t i = 0; i < rows; i += kTransposeRows) {
    const jit::KernelPtr& kernel = rows - i >= kTransposeRows ? full_ : rest;
    TransposeArgs args{src + i * src_row, dst + i, src_row * kFloat, dst_row * kFloat, columns,
                       kColumnMasks + 8 - columns % 8};
    kernel->entry<TransposeFunction>()(&args);
  }
}

void Reorder::ToNhwc(const float* tensor, float* nhwc, Range units) const noexcept {
  const int64_t block = ChannelBlock(layout_);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const Piece piece = PieceOf(unit);
    const float* from = tensor + piece.tensor;
    float* to = nhwc + piece.nhwc;
    if (layout_ == Layout::kNchw) {
      Transpose(from, strides_.c, piece.channels, to, nhwc_.w, piece.pixels, channel_rest_);
      continue;
    }
    if (layout_ == Layout::kNhwc) {
      for (int64_t x = 0; x < piece.pixels; ++x) {
        std::copy_n(from + x * strides_.w, piece.channels, to + x * nhwc_.w);
      }
      continue;
    }
    for (int64_t c = 0; c < piece.channels; c += block) {
      const float* pixel = from + c / block * strides_.c;
      for (int64_t x = 0; x < piece.pixels; ++x, pixel += strides_.w) {
        std::copy_n(pixel, std::min(block, piece.channels - c), to + x * nhwc_.w + c);
      }
    }
  }
}

void Reorder::FromNhwc(const float* nhwc, float* tensor, Range units) const noexcept {
  const int64_t block = ChannelBlock(layout_);
  for (int64_t unit = units.begin; unit < units.end; ++unit) {
    const Piece piece = PieceOf(unit);
    const float* from = nhwc + piece.nhwc;
    float* to = tensor + piece.tensor;
    if (layout_ == Layout::kNchw) {
      Transpose(from, nhwc_.w, piece.pixels, to, strides_.c, piece.channels, pixel_rest_);
      continue;
    }
    for (int64_t c = 0; c < piece.channels; c += block) {
      const int64_t channels = std::min(block, piece.channels - c);
      float* pixel = to + c / block * strides_.c;
      for (int64_t x = 0; x < piece.pixels; ++x, pixel += strides_.w) {
        std::copy_n(from + x * nhwc_.w + c, channels, pixel);
        std::fill(pixel + channels, pixel + block, 0.0f);
      }
    }
  }
}

}  // namespace rafter::reorder
