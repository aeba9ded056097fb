// kernels/cost/conv_cost.h: the cost of a validated convolution (the public CostOf without the
// checks), the counting behind it, and the terms that a roofline bound needs. All by closed form:
// the time does not depend on the sizes, a kernel of 2^40 taps included.
//
// Bytes count elements, not memory: lanes behind the last channel of a blocked layout and gaps
// between the slices of a bigger tensor are no compulsory traffic, so all layouts of a layer have
// the same bytes. Only footprint_bytes includes the lanes, since they occupy cache. Predicted times
// live with the algorithms.
#ifndef RAFTER_KERNELS_COST_CONV_COST_H_
#define RAFTER_KERNELS_COST_CONV_COST_H_

#include <cstdint>

#include "kernels/conv/problem.h"
#include "rafter/cost.h"

namespace rafter {

// One axis of a convolution, as validated.
struct AxisShape {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad_begin = 0;
};
AxisShape AxisH(const ConvProblem& problem) noexcept;
AxisShape AxisW(const ConvProblem& problem) noexcept;

struct AxisCounts {
  double pairs = 0;         // pairs of an output and a tap that falls inside the image
  int64_t taps_used = 0;    // taps that fall inside the image for some output
  int64_t inputs_used = 0;  // distinct input coordinates that some tap of some output reaches
};
AxisCounts CountAxis(const AxisShape& axis) noexcept;

ConvCost CostOf(const ConvProblem& problem) noexcept;

// What the bound of measuring is made of: max(flops / peak, bytes / bandwidth of the load:store
// mix).
struct BoundTerms {
  double flops = 0;        // by valid taps
  double load_bytes = 0;   // source, weights and bias, residuals
  double store_bytes = 0;  // destination
  double footprint_bytes = 0;
};
BoundTerms BoundTermsOf(const ConvCost& cost) noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_COST_CONV_COST_H_
