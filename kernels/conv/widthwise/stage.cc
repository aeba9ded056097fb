// kernels/conv/widthwise/stage.cc
#include "kernels/conv/widthwise/stage.h"

#include <xmmintrin.h>

#include <algorithm>
#include <utility>

#include "kernels/reorder/copy_kernel.h"
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

Stage::Stage(const Geometry& g, int64_t strip_rows, int64_t strip_pixels, bool whole_rows) : channels_(g.ic_g) {
  const int64_t stride = g.stride.w;
  int64_t last_step = 0;
  for (int64_t kw = 0; kw < g.kernel.w; ++kw) {
    const int64_t at = kw * g.dilation.w - g.pad_left, step = FloorDiv(at, stride);
    first_step_ = kw == 0 ? step : std::min(first_step_, step);
    last_step = kw == 0 ? step : std::max(last_step, step);
    const int64_t phase = at - step * stride;
    if (std::find(phases_.begin(), phases_.end(), phase) == phases_.end()) phases_.push_back(phase);
  }
  padded_ = IsPadded(g);
  columns_ = strip_pixels + last_step - first_step_;
  if (!padded_) columns_ = std::min((g.in.w + stride - 1) / stride, columns_);
  copies_whole_rows_ = whole_rows && first_step_ + columns_ >= g.in.w && (padded_ || first_step_ <= 0);
  phase_floats_ = (columns_ + kLineFloats - 1) / kLineFloats * kLineFloats;
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

Status Stage::UseKernels(const Geometry& g, Isa isa) {
  if (g.stride.w == 2) {
    Result<RowSplitter> splitter = RowSplitter::Make(isa);
    if (!splitter.ok()) return splitter.status();
    splitter_ = std::move(splitter).value();
    return {};
  }
  const int64_t before = padded_ ? -first_step_ : 0, after = padded_ ? columns_ - before - g.in.w : 0;
  const bool baked = g.in.w < reorder::kMinOpenRun;  // no kernel of its own for every width
  if (g.stride.w > 1 || !copies_whole_rows_ || after < 0 || std::max(before, after) > reorder::kMaxBorder) return {};
  Result<jit::KernelPtr> copy = reorder::GetCopyKernel(
      {.isa = static_cast<int32_t>(isa), .run = baked ? static_cast<int32_t>(g.in.w) : 0,
       .border = padded_ ? reorder::Border::kFill : reorder::Border::kNone, .before = static_cast<int32_t>(before),
       .after = static_cast<int32_t>(after)});
  if (!copy.ok()) return copy.status();
  copy_ = std::move(copy).value();
  return {};
}

bool Stage::IsPadded(const Geometry& g) {
  constexpr int64_t kWidest = 64;
  const int64_t right = (g.out.w - 1) * g.stride.w + (g.kernel.w - 1) * g.dilation.w - g.pad_left + 1 - g.in.w;
  return (g.pad_left > 0 || right > 0) && g.pad_left <= kWidest && right <= kWidest;
}

double Stage::floats() const {
  return (static_cast<double>(rows_) * static_cast<double>(row_floats_) + kLineFloats) *
         static_cast<double>(channels_);
}

int64_t Stage::FirstRow(const Geometry& g, int64_t y) const {
  return std::max<int64_t>(0, y * g.stride.h - g.pad_top);
}

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

void Stage::FillRows(const Geometry& g, const float* image, int64_t rows, int64_t first, float* stage) const {
  for (int64_t c = 0; c < channels_; ++c, image += g.src.c, stage += channel_floats_) {
    if (copy_ != nullptr) {
      constexpr float kZero = 0;
      const reorder::CopyArgs args{.src = image, .dst = stage + (padded_ ? -first : 0), .rows = rows,
                                   .src_row_bytes = g.src.h * kFloat, .dst_row_bytes = row_floats_ * kFloat,
                                   .run_bytes = g.in.w * kFloat, .fill = &kZero};
      copy_->entry<reorder::CopyFunction>()(&args);
      continue;
    }
    if (padded_) ZeroMargins(g, rows, first, stage);
    CopyRows(g, image, rows, first, stage);
  }
}

// Columns of each phase inside the image, as far as the buffer reaches.
void Stage::CopyRows(const Geometry& g, const float* image, int64_t rows, int64_t first, float* stage) const {
  const int64_t stride = g.stride.w, begin = std::max<int64_t>(0, first), margin = begin - first;
  const auto end_of = [&](int64_t phase) {
    return std::min((g.in.w - phase + stride - 1) / stride, first + phase_floats_);
  };
  if (stride == 2 && phases_.size() == 2) {
    const int64_t odd = phases_[0] == 0 ? phase_floats_ : 0, pairs = std::max<int64_t>(0, end_of(1) - begin);
    splitter_.Split({.src = image + 2 * begin, .src_row = g.src.h, .even = stage + phase_floats_ - odd + margin,
                     .odd = stage + odd + margin, .dst_row = row_floats_, .count = rows, .pairs = pairs,
                     .even_left = end_of(0) > begin + pairs});
    return;
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < phases_.size(); ++i) {
      CopyPhase(image + row * g.src.h, begin, end_of(phases_[i]), stride, phases_[i],
                stage + row * row_floats_ + static_cast<int64_t>(i) * phase_floats_ + margin);
    }
  }
}

void Stage::ZeroMargins(const Geometry& g, int64_t rows, int64_t first, float* stage) const {
  const int64_t stride = g.stride.w;
  const __m128 zero = _mm_setzero_ps();
  for (size_t i = 0; i < phases_.size(); ++i) {
    const int64_t inside = (g.in.w - phases_[i] + stride - 1) / stride;
    const int64_t left = std::clamp<int64_t>(-first, 0, columns_), right = std::clamp(inside - first, left, columns_);
    float* row = stage + static_cast<int64_t>(i) * phase_floats_;
    for (int64_t y = 0; y < rows; ++y, row += row_floats_) {
      for (int64_t x = 0; x < left; x += 4) _mm_storeu_ps(row + x, zero);
      for (int64_t x = columns_; x > right; x -= 4) _mm_storeu_ps(row + std::max<int64_t>(x - 4, 0), zero);
    }
  }
}

int64_t Stage::Offset(const Geometry& g, int64_t y, int64_t first, int64_t in_y, int64_t x) const {
  return (in_y - FirstRow(g, y)) * row_floats_ + x + first_step_ - FirstColumn(first);
}

}  // namespace rafter::widthwise
