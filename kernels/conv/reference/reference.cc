// kernels/conv/reference/reference.cc: see reference.h.
#include "kernels/conv/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace rafter::reference {
namespace {

// NaN passes through: every comparison with it is false.
double Clamp(double value, double low, double high) noexcept {
  if (value < low) return low;
  if (value > high) return high;
  return value;
}

// The sum over channels [ic_begin, ic_end) of the group at one tap.
double SumOverChannels(const ConvProblem& problem, const float* weights, const float* pixel,
                       int64_t first_channel, int64_t ic_begin, int64_t ic_end) noexcept {
  const ConvDesc& desc = problem.desc;
  const int64_t taps = desc.kernel.h * desc.kernel.w;
  double sum = 0;
  for (int64_t ic = ic_begin; ic < ic_end; ++ic) {
    const int64_t offset = Offset(problem.src, desc.src.layout, 0, first_channel + ic, 0, 0);
    sum += static_cast<double>(pixel[offset]) * static_cast<double>(weights[ic * taps]);
  }
  return sum;
}

}  // namespace

double SumAndBias(const ConvProblem& problem, const float* oihw, const float* bias,
                  const float* src, int64_t n, int64_t oc, int64_t oh, int64_t ow) noexcept {
  const ConvDesc& desc = problem.desc;
  const TapRange rows =
      ValidTaps(oh, desc.in.h, desc.kernel.h, desc.stride.h, desc.dilation.h, desc.pad.top);
  const TapRange columns =
      ValidTaps(ow, desc.in.w, desc.kernel.w, desc.stride.w, desc.dilation.w, desc.pad.left);
  const int64_t first_channel = oc / problem.oc_g * problem.ic_g;
  double sum = 0;
  if (columns.begin == columns.end) return bias != nullptr ? bias[oc] : 0.0;
  const int64_t step = SumBlock(problem.ic_g);
  for (int64_t ic = 0; ic < problem.ic_g; ic += step) {
    const int64_t ic_end = std::min(ic + step, problem.ic_g);
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const int64_t ih = oh * desc.stride.h - desc.pad.top + kh * desc.dilation.h;
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        const int64_t iw = ow * desc.stride.w - desc.pad.left + kw * desc.dilation.w;
        const float* pixel = src + n * problem.src.n + ih * problem.src.h + iw * problem.src.w;
        const float* weights = oihw + (oc * problem.ic_g * desc.kernel.h + kh) * desc.kernel.w + kw;
        sum += SumOverChannels(problem, weights, pixel, first_channel, ic, ic_end);
      }
    }
  }
  return bias != nullptr ? sum + bias[oc] : sum;
}

double ApplyPostOp(const PostOp& op, double x, int64_t oc, double residual) noexcept {
  const double alpha = op.alpha, beta = op.beta;
  switch (op.kind) {
    case PostOpKind::kRelu:
      return x < 0 ? 0.0 : x;
    case PostOpKind::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case PostOpKind::kClip:
      return Clamp(x, alpha, beta);
    case PostOpKind::kHardSwish:
      return x * Clamp(x / 6 + 0.5, 0, 1);
    case PostOpKind::kHardSigmoid:
      return Clamp(alpha * x + beta, 0, 1);
    case PostOpKind::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case PostOpKind::kSwish:
      return x / (1 + std::exp(-alpha * x));
    case PostOpKind::kTanh:
      return std::tanh(x);
    case PostOpKind::kGelu:
      return x / 2 * (1 + std::erf(x * 0.70710678118654752440));
    case PostOpKind::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case PostOpKind::kResidualAdd:
      return x + residual;
    case PostOpKind::kChannelScale:
      return x * static_cast<double>(op.scale[static_cast<size_t>(oc)]);
  }
  return x;
}

double ReferenceOutput(const ConvProblem& problem, const float* oihw, const float* bias,
                       const float* src, const float* const* residuals, int64_t n, int64_t oc,
                       int64_t oh, int64_t ow) noexcept {
  double value = SumAndBias(problem, oihw, bias, src, n, oc, oh, ow);
  size_t next_residual = 0;
  for (const PostOp& op : problem.desc.post_ops) {
    double residual = 0;
    if (op.kind == PostOpKind::kResidualAdd) {
      const Strides strides = ResidualStrides(problem, op);
      residual =
          residuals[next_residual++][Offset(strides, problem.desc.dst.layout, n, oc, oh, ow)];
    }
    value = ApplyPostOp(op, value, oc, residual);
  }
  return value;
}

}  // namespace rafter::reference
