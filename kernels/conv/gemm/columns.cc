// kernels/conv/gemm/columns.cc
#include "kernels/conv/gemm/columns.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/sizes.h"

namespace rafter::gemm {

namespace {

// Whole vectors of 8: copies of known length are a few instructions each.
void CopyTile(const float* from, int32_t width, float* to) {
  for (int32_t i = 0; i < width; i += 8) std::memcpy(to + i, from + i, 8 * sizeof(float));
}

void CopyEvery(const float* from, int64_t stride, int64_t count, float* to) {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
  } else if (stride == 2) {
    for (int64_t i = 0; i < count; ++i) to[i] = from[2 * i];
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[stride * i];
  }
}

}  // namespace

TapOrder::TapOrder(int64_t ic, int64_t kh, int64_t kw, int64_t k)
    : channels_(ic), kernel_h_(kh), kernel_w_(kw), step_(std::min(ic, SumBlock(ic))) {
  const int64_t taps = kh * kw;
  block_ = k / (step_ * taps) * step_;
  k -= block_ * taps;
  const int64_t here = BlockChannels();
  channel_ = k % here;
  kw_ = k / here % kw;
  kh_ = k / here / kw;
}

void TapOrder::Next() {
  if (++channel_ < BlockChannels()) return;
  channel_ = 0;
  if (++kw_ < kernel_w_) return;
  kw_ = 0;
  if (++kh_ < kernel_h_) return;
  kh_ = 0;
  block_ += step_;
}

Columns::Columns(const ConvProblem& problem)
    : in_(problem.desc.in),
      kernel_(problem.desc.kernel),
      stride_(problem.desc.stride),
      dilation_(problem.desc.dilation),
      pad_top_(problem.desc.pad.top),
      pad_left_(problem.desc.pad.left),
      ic_(problem.ic_g),
      out_w_(problem.ow),
      src_(problem.src) {
  padded_ = pad_top_ > 0 || pad_left_ > 0;
  for (int64_t kw = 0; kw < kernel_.w; ++kw) {
    const int64_t at = kw * dilation_.w - pad_left_;  // of output column 0
    const int64_t begin = at >= 0 ? 0 : CeilDiv(-at, stride_.w), end = CeilDiv(in_.w - at, stride_.w);
    inside_.push_back({std::min(begin, out_w_), std::clamp<int64_t>(end, 0, out_w_)});
    padded_ = padded_ || inside_.back().end < out_w_;
  }
  const int64_t last_row = (problem.oh - 1) * stride_.h - pad_top_ + (kernel_.h - 1) * dilation_.h;
  padded_ = padded_ || last_row >= in_.h;
  plain_ = !padded_ && kernel_ == Size2{1, 1} && stride_ == Size2{1, 1} && problem.ow == in_.w &&
           (in_.h == 1 || src_.h == in_.w);
}

template <Columns::What what>
void Columns::Gather(const float* image, const TapOrder& tap, Range pixels, float* line) const {
  const auto zero = [&](int64_t count) {
    if (count > 0) std::memset(line, 0, static_cast<size_t>(count) * sizeof(float)), line += count;
  };
  const Range inside = inside_[static_cast<size_t>(tap.kw())];
  int64_t oy = pixels.begin / out_w_, ox = pixels.begin % out_w_;
  for (int64_t left = pixels.end - pixels.begin; left > 0; ++oy, ox = 0) {
    const int64_t end = std::min(out_w_, ox + left);
    left -= end - ox;
    const int64_t iy = oy * stride_.h - pad_top_ + tap.kh() * dilation_.h;
    if (iy < 0 || iy >= in_.h) {
      zero(end - ox);
      continue;
    }
    const int64_t first = std::clamp(inside.begin, ox, end), last = std::clamp(inside.end, first, end);
    zero(first - ox);
    if constexpr (what == What::kValues) {
      const int64_t ix = first * stride_.w - pad_left_ + tap.kw() * dilation_.w;
      if (last > first) {
        CopyEvery(image + tap.ic() * src_.c + iy * src_.h + ix, stride_.w, last - first, line);
      }
    } else {
      std::fill_n(line, last - first, std::bit_cast<float>(int32_t{-1}));
    }
    line += last - first;
    zero(end - last);
  }
}

// Row k of the panels in the plain case: straight from the plane.
void Columns::FillPlain(const float* plane, int64_t pixels, const std::vector<int32_t>& tiles, int64_t k,
                        int64_t count, float* panels) const {
  for (const int32_t width : tiles) {
    float* to = panels + k * width;
    if (pixels >= width) {
      CopyTile(plane, width, to);
    } else {
      std::fill(std::copy_n(plane, pixels, to), to + width, 0.0F);
    }
    plane += width, pixels -= width, panels += count * width;
  }
}

template <Columns::What what>
void Columns::FillAll(const float* image, Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line,
                      float* panels) const {
  int64_t width_of_all = 0;
  for (const int32_t width : tiles) width_of_all += width;
  const int64_t used = pixels.end - pixels.begin, count = ks.end - ks.begin;
  std::fill(line + used, line + width_of_all, 0.0F);
  TapOrder tap(ic_, kernel_.h, kernel_.w, ks.begin);
  for (int64_t k = 0; k < count; ++k, tap.Next()) {
    if (what == What::kValues && plain_) {
      FillPlain(image + tap.ic() * src_.c + pixels.begin, used, tiles, k, count, panels);
      continue;
    }
    Gather<what>(image, tap, pixels, line);
    const float* from = line;
    float* to = panels;
    for (const int32_t width : tiles) {
      CopyTile(from, width, to + k * width);
      from += width, to += count * width;
    }
  }
}

void Columns::Fill(const float* image, Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line,
                   float* panels) const {
  FillAll<What::kValues>(image, ks, pixels, tiles, line, panels);
}

void Columns::FillMasks(Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line,
                        float* panels) const {
  FillAll<What::kMasks>(nullptr, ks, pixels, tiles, line, panels);
}

}  // namespace rafter::gemm
