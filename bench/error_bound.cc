// bench/error_bound.cc: see error_bound.h.
#include "bench/error_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/conv/reference/reference.h"

namespace rafter::bench {
namespace {

constexpr double kEpsilon = std::numeric_limits<float>::epsilon();
// One evaluation of exp, erf or tanh, by any library.
constexpr double kFunctionRelative = 4e-6, kFunctionAbsolute = 1e-6;

double SteepestSlope(const PostOp& op, int64_t oc) {
  const double alpha = std::abs(double{op.alpha});
  switch (op.kind) {
    case PostOpKind::kLeakyRelu:
    case PostOpKind::kElu:
      return std::max(1.0, alpha);
    case PostOpKind::kHardSwish:
      return 1.5;
    case PostOpKind::kHardSigmoid:
      return alpha;
    case PostOpKind::kSwish:
    case PostOpKind::kGelu:
      return 1.2;
    case PostOpKind::kChannelScale:
      return std::abs(double{op.scale[static_cast<size_t>(oc)]});
    default:
      return 1;
  }
}

}  // namespace

BoundedValue BoundSum(double value, double magnitude, int64_t terms) noexcept {
  // Rounding errors of a float sum grow like the root of its length; a forgotten or doubled product
  // is about 1/length of the magnitude, far more for every length that occurs.
  return {value, 4 * kEpsilon * (std::sqrt(static_cast<double>(terms)) + 4) * magnitude +
                     double{std::numeric_limits<float>::min()}};
}

BoundedValue BoundPostOp(const PostOp& op, const BoundedValue& in, int64_t oc,
                         double residual) noexcept {
  const double out = reference::ApplyPostOp(op, in.value, oc, residual);
  double own = 4 * kEpsilon * (std::abs(in.value) + std::abs(out) + std::abs(residual) + 1);
  switch (op.kind) {
    case PostOpKind::kRelu:
    case PostOpKind::kClip:
      own = 0;
      break;
    case PostOpKind::kSigmoid:
    case PostOpKind::kSwish:
    case PostOpKind::kTanh:
    case PostOpKind::kGelu:
    case PostOpKind::kElu:
      own += kFunctionRelative * std::abs(out) + kFunctionAbsolute * (1 + std::abs(in.value));
      break;
    default:
      break;
  }
  return {out, SteepestSlope(op, oc) * in.error + own};
}

}  // namespace rafter::bench
