// kernels/pooling/reference.cc: see reference.h.
#include "kernels/pooling/reference.h"

#include <cmath>
#include <limits>

namespace rafter::reference {

double PoolElement(const PoolingProblem& problem, const float* src, int64_t n, int64_t c, int64_t h,
                   int64_t w) noexcept {
  const PoolAxis &rows = problem.h, &columns = problem.w;
  const TapRange kh = rows.Taps(h), kw = columns.Taps(w);
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t i = kh.begin; i < kh.end; ++i) {
    for (int64_t j = kw.begin; j < kw.end; ++j) {
      const double x = src[Offset(problem.src, problem.layout(), n, c,
                                  h * rows.stride - rows.pad_begin + i * rows.dilation,
                                  w * columns.stride - columns.pad_begin + j * columns.dilation)];
      sum += x;
      if (std::isnan(x) || std::isnan(most)) {
        most = std::numeric_limits<double>::quiet_NaN();
      } else if (x > most) {
        most = x;
      }
    }
  }
  if (problem.desc.kind == PoolingKind::kMax) return most;
  if (problem.desc.count_include_pad) {
    return sum / (static_cast<double>(rows.PaddedTaps(h)) * static_cast<double>(columns.PaddedTaps(w)));
  }
  return sum / (static_cast<double>(kh.end - kh.begin) * static_cast<double>(kw.end - kw.begin));
}

void RunPooling(const PoolingProblem& problem, const float* src, float* dst, Range rows) noexcept {
  const TensorShape out = problem.dst_shape();
  const Layout layout = problem.layout();
  const int64_t lanes = BlocksOf(layout, out.c) * ChannelBlock(layout);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t n = row / out.h, h = row % out.h;
    for (int64_t c = 0; c < lanes; ++c) {
      for (int64_t w = 0; w < out.w; ++w) {
        dst[Offset(problem.dst, layout, n, c, h, w)] =
            c < out.c ? static_cast<float>(PoolElement(problem, src, n, c, h, w)) : 0.0f;
      }
    }
  }
}

}  // namespace rafter::reference
