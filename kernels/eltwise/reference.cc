// kernels/eltwise/reference.cc: see reference.h.
#include "kernels/eltwise/reference.h"

#include <cmath>
#include <limits>

namespace rafter::reference {
namespace {

constexpr double kSqrt2 = 1.4142135623730950488, kSqrt2OverPi = 0.79788456080286535588;

// NaN when either side is.
double Least(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a < b ? a : b; }
double Greatest(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : a > b ? a : b; }
double Clamp(double x, double low, double high) { return Least(Greatest(x, low), high); }

// x * share, where the share goes to zero faster than x to infinity.
double Shared(double x, double share) { return share == 0 ? 0.0 : x * share; }

double GeluTanh(double x) {
  // 1 + tanh(y) = 2 / (1 + exp(-2 y)), which keeps its digits for negative y.
  const double y = kSqrt2OverPi * (x + 0.044715 * x * x * x);
  return Shared(x, 1 / (1 + std::exp(-2 * y)));
}

double Activation(const EltwiseOp& op, double x) noexcept {
  switch (op.kind) {
    case EltwiseKind::kRelu: return Greatest(x, 0.0);
    case EltwiseKind::kLeakyRelu: return x >= 0 ? x : op.alpha * x;
    case EltwiseKind::kClip: return Clamp(x, op.alpha, op.beta);
    case EltwiseKind::kAbs: return std::fabs(x);
    case EltwiseKind::kNeg: return -x;
    case EltwiseKind::kExp: return std::exp(x);
    case EltwiseKind::kLog: return x < 0 ? std::numeric_limits<double>::quiet_NaN() : std::log(x);
    case EltwiseKind::kSqrt: return std::sqrt(x);
    case EltwiseKind::kSigmoid: return 1 / (1 + std::exp(-x));
    case EltwiseKind::kTanh: return std::tanh(x);
    case EltwiseKind::kGelu: return Shared(x, std::erfc(-x / kSqrt2) / 2);
    case EltwiseKind::kGeluTanh: return GeluTanh(x);
    case EltwiseKind::kSwish: return Shared(x, 1 / (1 + std::exp(-op.alpha * x)));
    case EltwiseKind::kElu: return x >= 0 ? x : op.alpha * std::expm1(x);
    case EltwiseKind::kHardSwish: return Shared(x, Clamp(x / 6 + 0.5, 0.0, 1.0));
    case EltwiseKind::kHardSigmoid: return Clamp(op.alpha * x + op.beta, 0.0, 1.0);
    case EltwiseKind::kLinear: return op.alpha * x + op.beta;
    default: return x;
  }
}

}  // namespace

double ApplyEltwise(const EltwiseOp& op, double x, int64_t c, double operand) noexcept {
  const auto channel = static_cast<size_t>(c);
  switch (op.kind) {
    case EltwiseKind::kPrelu: return x >= 0 ? x : op.scale[channel] * x;
    case EltwiseKind::kChannelLinear: return op.scale[channel] * x + op.shift[channel];
    case EltwiseKind::kAdd: return x + operand;
    case EltwiseKind::kSub: return x - operand;
    case EltwiseKind::kMul: return x * operand;
    case EltwiseKind::kDiv: return x / operand;
    case EltwiseKind::kMin: return Least(x, operand);
    case EltwiseKind::kMax: return Greatest(x, operand);
    default: return Activation(op, x);
  }
}

double EltwiseElement(const EltwiseProblem& problem, const float* src, const float* const* operands, int64_t n,
                      int64_t c, int64_t h, int64_t w) noexcept {
  const Layout layout = problem.layout();
  double x = src[Offset(problem.src, layout, n, c, h, w)];
  size_t next = 0;
  for (const EltwiseOp& op : problem.desc.ops) {
    double operand = 0;
    if (IsBinary(op.kind)) {
      const auto& [shape, strides] = problem.operands[next];
      operand = operands[next++][Offset(strides, layout, shape.n == 1 ? 0 : n, shape.c == 1 ? 0 : c,
                                        shape.h == 1 ? 0 : h, shape.w == 1 ? 0 : w)];
    }
    x = ApplyEltwise(op, x, c, operand);
  }
  return x;
}

void RunEltwise(const EltwiseProblem& problem, const float* src, const float* const* operands, float* dst,
                Range rows) noexcept {
  const EltwiseDesc& desc = problem.desc;
  const Layout layout = problem.layout();
  const int64_t lanes = BlocksOf(layout, desc.c) * ChannelBlock(layout);
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const int64_t n = row / desc.h, h = row % desc.h;
    for (int64_t c = 0; c < lanes; ++c) {
      for (int64_t w = 0; w < desc.w; ++w) {
        dst[Offset(problem.dst, layout, n, c, h, w)] =
            c < desc.c ? static_cast<float>(EltwiseElement(problem, src, operands, n, c, h, w)) : 0.0f;
      }
    }
  }
}

}  // namespace rafter::reference
