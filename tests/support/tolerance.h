// tests/support/tolerance.h: how far an f32 result may lie from the reference. The bound of the sum
// follows from its length, not from experience: n roundings of relative size u on a total of sum |a
// * b|. It is then carried through the post-ops: each multiplies the error by its steepest slope
// and adds its own.
#ifndef RAFTER_TESTS_SUPPORT_TOLERANCE_H_
#define RAFTER_TESTS_SUPPORT_TOLERANCE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/conv/reference/reference.h"
#include "rafter/post_ops.h"

namespace rafter::testing {

inline constexpr double kUnitRoundoff = 0x1p-24;
// Relative and absolute error allowed to one evaluation of a transcendental post-op.
inline constexpr double kFunctionRelative = 2e-6, kFunctionAbsolute = 3e-7;

// A value known up to `error`.
struct Bounded {
  double value = 0, error = 0;
};

inline bool IsFloat(double value) {
  return value == static_cast<double>(static_cast<float>(value));
}

// `terms` products and the bias were added to `value`; `magnitude` is the sum of their absolute
// values. `exact`: the data are integers, so no order of summation rounds.
inline Bounded BoundOfSum(double value, double magnitude, int64_t terms, bool exact) {
  if (exact || !std::isfinite(value)) return {value, 0};
  const double n = static_cast<double>(terms + 1);
  return {value, n * kUnitRoundoff / (1 - std::min(0.5, n * kUnitRoundoff)) * magnitude +
                     n * static_cast<double>(std::numeric_limits<float>::denorm_min())};
}

// The steepest slope of an operation.
inline double Slope(const PostOp& op, int64_t oc) {
  const double alpha = std::fabs(op.alpha);
  switch (op.kind) {
    case PostOpKind::kLeakyRelu:
      return std::max(1.0, alpha);
    case PostOpKind::kElu:
      return std::max(1.0, alpha);
    case PostOpKind::kHardSwish:
      return 1.5;
    case PostOpKind::kHardSigmoid:
      return alpha;
    case PostOpKind::kSigmoid:
      return 0.25;
    case PostOpKind::kSwish:
      return 1.1;
    case PostOpKind::kGelu:
      return 1.13;
    case PostOpKind::kChannelScale:
      return std::fabs(op.scale[static_cast<size_t>(oc)]);
    default:
      return 1.0;
  }
}

// What the operation adds by its own rounding.
inline double OwnError(const PostOp& op, double in, double out, double residual) {
  if (!std::isfinite(in)) return 0;
  switch (op.kind) {
    case PostOpKind::kRelu:
    case PostOpKind::kClip:
      return 0;
    case PostOpKind::kLeakyRelu:
    case PostOpKind::kResidualAdd:
    case PostOpKind::kChannelScale:
      return IsFloat(out) ? 0 : kUnitRoundoff * (std::fabs(out) + std::fabs(residual));
    case PostOpKind::kHardSwish:
    case PostOpKind::kHardSigmoid:
      return 4 * kUnitRoundoff * (std::fabs(in) + std::fabs(op.beta) + 1);
    case PostOpKind::kElu:
      return in >= 0 ? 0
                     : kFunctionRelative * std::fabs(out) + kFunctionAbsolute * std::fabs(op.alpha);
    default:
      return kFunctionRelative * std::fabs(out) + kFunctionAbsolute;
  }
}

inline Bounded ApplyPostOp(const PostOp& op, const Bounded& in, int64_t oc, double residual) {
  const double out = reference::ApplyPostOp(op, in.value, oc, residual);
  return {out, Slope(op, oc) * in.error + OwnError(op, in.value, out, residual)};
}

// Whether a stored result is what the bound allows. NaN and infinities must agree in kind.
inline bool Within(const Bounded& want, float got) {
  const auto rounded = static_cast<float>(want.value);
  if (std::isnan(rounded)) return std::isnan(got);
  if (std::isinf(rounded)) return got == rounded;
  if (want.error == 0) return got == rounded;
  const double slack = 1.001 * want.error + kUnitRoundoff * std::fabs(want.value);
  return std::fabs(static_cast<double>(got) - want.value) <= slack;
}

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_TOLERANCE_H_
