// kernels/conv/reference/reference.h: the oracle. Plain loops in double precision that support
// every problem: all layouts, strides, groups, dilation, padding and post-ops. No JIT, no blocking,
// no cleverness.
//
// It is what tests, fuzzers and benchmarks compare with, and the path that runs where no fast
// algorithm takes a problem or executable memory is refused. Only taps inside the image are
// touched, so NaN and infinity come out exactly where a real tap reads them. The plan over it is in
// plan.cc.
#ifndef RAFTER_KERNELS_CONV_REFERENCE_REFERENCE_H_
#define RAFTER_KERNELS_CONV_REFERENCE_REFERENCE_H_

#include <cstdint>
#include <memory>

#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"

namespace rafter::reference {

// The sum and the bias (null: zeros) of one output element, before any post-op. `oihw` is dense
// [oc][ic/groups][kh][kw].
double SumAndBias(const ConvProblem& problem, const float* oihw, const float* bias,
                  const float* src, int64_t n, int64_t oc, int64_t oh, int64_t ow) noexcept;

// One operation on one value, by the formula of rafter/post_ops.h. `residual` is the element that a
// kResidualAdd adds.
double ApplyPostOp(const PostOp& op, double value, int64_t oc, double residual) noexcept;

// One finished output element; the caller rounds it to float once. `residuals` has one pointer per
// kResidualAdd, in their order.
double ReferenceOutput(const ConvProblem& problem, const float* oihw, const float* bias,
                       const float* src, const float* const* residuals, int64_t n, int64_t oc,
                       int64_t oh, int64_t ow) noexcept;

// The row of the dispatch table. Consider never refuses.
Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::reference

#endif  // RAFTER_KERNELS_CONV_REFERENCE_REFERENCE_H_
