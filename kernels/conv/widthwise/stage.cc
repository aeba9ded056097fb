// kernels/conv/widthwise/stage.cc
#include "kernels/conv/widthwise/stage.h"

#include <algorithm>
#include <utility>

#include "kernels/sizes.h"

namespace rafter::widthwise {

namespace {

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Whether some output row's tap reads this input row.
bool RowIsUsed(const Geometry& g, int64_t in_y) {
  if (g.stride.h == 1 || (g.dilation.h == 1 && g.kernel.h >= g.stride.h)) return true;
  for (int64_t kh = 0; kh < g.kernel.h; ++kh) {
    const int64_t y = in_y + g.pad_top - kh * g.dilation.h;
    if (y >= 0 && y % g.stride.h == 0) return true;
  }
  return false;
}

void CopyPhase(const float* row, int64_t begin, int64_t end, int64_t stride, int64_t phase,
               float* to) {
  if (stride == 1) {
    std::copy_n(row + begin, std::max<int64_t>(0, end - begin), to);
    return;
  }
  for (int64_t i = begin; i < end; ++i) *to++ = row[i * stride + phase];
}

}  // namespace

Stage::Stage(const Geometry& g, int64_t strip_rows, int64_t strip_pixels, RowSplitter splitter)
    : splitter_(std::move(splitter)), channels_(g.ic_g) {
  const int64_t stride = g.stride.w;
  int64_t last_step = 0;
  for (int64_t kw = 0; kw < g.kernel.w; ++kw) {
    const int64_t at = kw * g.dilation.w - g.pad_left, step = FloorDiv(at, stride);
    first_step_ = kw == 0 ? step : std::min(first_step_, step);
    last_step = kw == 0 ? step : std::max(last_step, step);
    const int64_t phase = at - step * stride;
    if (std::find(phases_.begin(), phases_.end(), phase) == phases_.end()) phases_.push_back(phase);
  }
  const int64_t columns =
      std::min((g.in.w + stride - 1) / stride, strip_pixels + last_step - first_step_);
  phase_floats_ = (columns + kLineFloats - 1) / kLineFloats * kLineFloats;
  row_floats_ = phase_floats_ * static_cast<int64_t>(phases_.size());
  rows_ = std::min(g.in.h, (strip_rows - 1) * g.stride.h + (g.kernel.h - 1) * g.dilation.h + 1);
  // Channels a line further apart than their rows: lengths tend to be powers of two.
  channel_floats_ = rows_ * row_floats_ + kLineFloats;
  for (int64_t kw = 0; kw < g.kernel.w; ++kw) {
    const int64_t at = kw * g.dilation.w - g.pad_left, step = FloorDiv(at, stride);
    const int64_t phase =
        std::find(phases_.begin(), phases_.end(), at - step * stride) - phases_.begin();
    column_table_.push_back((phase * phase_floats_ + step - first_step_) *
                            static_cast<int64_t>(sizeof(float)));
  }
}

double Stage::floats() const {
  return (static_cast<double>(rows_) * static_cast<double>(row_floats_) + kLineFloats) *
         static_cast<double>(channels_);
}

int64_t Stage::FirstRow(const Geometry& g, int64_t y) const {
  return std::max<int64_t>(0, y * g.stride.h - g.pad_top);
}

int64_t Stage::FirstColumn(int64_t x) const { return std::max<int64_t>(0, x + first_step_); }

void Stage::Fill(const Geometry& g, const float* image, Range y, int64_t x, float* stage) const {
  const int64_t first_row = FirstRow(g, y.begin);
  const int64_t reach = (y.end - 1) * g.stride.h - g.pad_top + (g.kernel.h - 1) * g.dilation.h + 1;
  const int64_t end_row = std::min({g.in.h, first_row + rows_, reach});
  for (int64_t begin = first_row, end = 0; begin < end_row; begin = end + 1) {
    for (end = begin; end < end_row && RowIsUsed(g, end);) ++end;
    if (begin == end) continue;
    FillRows(g, image + begin * g.src.h, end - begin, FirstColumn(x), stage + (begin - first_row) * row_floats_);
  }
}

// Columns of each phase inside the image, as far as the buffer reaches.
void Stage::FillRows(const Geometry& g, const float* image, int64_t rows, int64_t first, float* stage) const {
  const int64_t stride = g.stride.w;
  const auto end_of = [&](int64_t phase) {
    return std::min((g.in.w - phase + stride - 1) / stride, first + phase_floats_);
  };
  for (int64_t c = 0; c < channels_; ++c, image += g.src.c, stage += channel_floats_) {
    if (stride == 2 && phases_.size() == 2) {
      const int64_t odd = phases_[0] == 0 ? phase_floats_ : 0, pairs = std::max<int64_t>(0, end_of(1) - first);
      splitter_.Split({.src = image + 2 * first, .src_row = g.src.h, .even = stage + phase_floats_ - odd,
                       .odd = stage + odd, .dst_row = row_floats_, .count = rows, .pairs = pairs,
                       .even_left = end_of(0) > first + pairs});
      continue;
    }
    for (int64_t row = 0; row < rows; ++row) {
      for (size_t i = 0; i < phases_.size(); ++i) {
        CopyPhase(image + row * g.src.h, first, end_of(phases_[i]), stride, phases_[i],
                  stage + row * row_floats_ + static_cast<int64_t>(i) * phase_floats_);
      }
    }
  }
}

int64_t Stage::Offset(const Geometry& g, int64_t y, int64_t first, int64_t in_y, int64_t x) const {
  return (in_y - FirstRow(g, y)) * row_floats_ + x + first_step_ - FirstColumn(first);
}

}  // namespace rafter::widthwise
