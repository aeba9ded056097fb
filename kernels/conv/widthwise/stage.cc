// kernels/conv/widthwise/stage.cc
#include "kernels/conv/widthwise/stage.h"

#include <algorithm>

#include "kernels/sizes.h"

namespace rafter::widthwise {

namespace {

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// Whether some output row's tap reads this input row.
bool RowIsUsed(const Geometry& g, int64_t in_y) {
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

Stage::Stage(const Geometry& g, int64_t strip_rows, int64_t strip_pixels) : channels_(g.ic_g) {
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
  const int64_t stride = g.stride.w, first_row = FirstRow(g, y.begin),
                first_column = FirstColumn(x);
  const int64_t reach = (y.end - 1) * g.stride.h - g.pad_top + (g.kernel.h - 1) * g.dilation.h + 1;
  const int64_t end_row = std::min({g.in.h, first_row + rows_, reach});
  for (int64_t in_y = first_row; in_y < end_row; ++in_y) {
    if (!RowIsUsed(g, in_y)) continue;
    for (size_t i = 0; i < phases_.size(); ++i) {
      // Columns of this phase inside the image, as far as the buffer reaches.
      const int64_t inside = (g.in.w - phases_[i] + stride - 1) / stride;
      const int64_t end_column = std::min(inside, first_column + phase_floats_);
      for (int64_t c = 0; c < channels_; ++c) {
        CopyPhase(image + c * g.src.c + in_y * g.src.h, first_column, end_column, stride,
                  phases_[i],
                  stage + c * channel_floats_ + (in_y - first_row) * row_floats_ +
                      static_cast<int64_t>(i) * phase_floats_);
      }
    }
  }
}

int64_t Stage::Offset(const Geometry& g, int64_t y, int64_t first, int64_t in_y, int64_t x) const {
  return (in_y - FirstRow(g, y)) * row_floats_ + x + first_step_ - FirstColumn(first);
}

}  // namespace rafter::widthwise
