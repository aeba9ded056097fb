// kernels/softmax/problem.cc: see problem.h.
#include "kernels/softmax/problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace rafter {

Result<SoftmaxProblem> Validate(const SoftmaxDesc& desc) {
  Status status = CheckSameFormat(desc.type, desc.src.layout, desc.dst.layout);
  if (status.ok()) status = CheckSizes({desc.n, desc.c, desc.h, desc.w});
  if (!status.ok()) return status;
  SoftmaxProblem problem{desc, {}, {}};
  const Result<Strides> src = ResolveStrides("src", desc.src.layout, desc.src.strides, problem.shape());
  if (!src.ok()) return src.status();
  const Result<Strides> dst = ResolveStrides("dst", desc.dst.layout, desc.dst.strides, problem.shape());
  if (!dst.ok()) return dst.status();
  problem.src = *src, problem.dst = *dst;
  return problem;
}

namespace reference {
namespace {

void RunPixel(const SoftmaxProblem& problem, const float* src, float* dst, int64_t n, int64_t h, int64_t w) noexcept {
  const Layout layout = problem.layout();
  const int64_t channels = problem.desc.c;
  const auto at = [&](int64_t c) -> double { return src[Offset(problem.src, layout, n, c, h, w)]; };
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t c = 0; c < channels; ++c) most = std::max(most, at(c));  // a NaN shows in the sum
  for (int64_t c = 0; c < channels; ++c) sum += std::exp(at(c) - most);
  const int64_t lanes = BlocksOf(layout, channels) * ChannelBlock(layout);
  for (int64_t c = 0; c < lanes; ++c) {
    dst[Offset(problem.dst, layout, n, c, h, w)] =
        c < channels ? static_cast<float>(std::exp(at(c) - most) / sum) : 0.0f;
  }
}

}  // namespace

void RunSoftmax(const SoftmaxProblem& problem, const float* src, float* dst, Range rows) noexcept {
  const SoftmaxDesc& desc = problem.desc;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t w = 0; w < desc.w; ++w) RunPixel(problem, src, dst, row / desc.h, row % desc.h, w);
  }
}

}  // namespace reference
}  // namespace rafter
