// kernels/cost/operator_cost.h: the cost of the memory-bound operators that compute: element-wise chains, pooling,
// softmax. Closed forms, like conv_cost.h; the time does not depend on the sizes.
//
// Bytes count elements that must be read or written once: neither lanes behind the last channel of a blocked layout nor
// gaps of slices; a broadcast operand counts once. Only footprint_bytes includes the lanes, since they occupy cache.
#ifndef RAFTER_KERNELS_COST_OPERATOR_COST_H_
#define RAFTER_KERNELS_COST_OPERATOR_COST_H_

#include "kernels/cost/conv_cost.h"
#include "rafter/eltwise.h"
#include "rafter/pool.h"
#include "rafter/softmax.h"
#include "rafter/status.h"

namespace rafter {

struct OperatorCost {
  double flops = 0;          // by the weights below; such operators are bound by bytes, so never in a bound
  double src_bytes = 0;      // pooling: only elements that some window reaches
  double operand_bytes = 0;  // operands of binary operations, scales, shifts and slopes
  double dst_bytes = 0;
  double bytes = 0;            // the sum
  double footprint_bytes = 0;  // all tensors whole
  double intensity = 0;        // flops / bytes
};

// FLOPs of one operation on one element, version 1 of the table: additions, multiplications, comparisons and divisions
// of the generated code, a fused multiply-add counting 2. abs, neg: 0 (sign bits only).
double EltwiseFlops(EltwiseKind kind) noexcept;

// kInvalidArgument as in Create.
Result<OperatorCost> CostOf(const EltwiseDesc& desc);
// Windows: taps inside the image minus one per output, and one division per output for averages.
Result<OperatorCost> CostOf(const PoolingDesc& desc);
Result<OperatorCost> CostOf(const SoftmaxDesc& desc);

// Elements that a tensor of this shape holds, with the lanes behind the last channel.
double HeldElements(Layout layout, TensorShape shape) noexcept;

// What a bound is made of. Its flops are 0: the bytes bind.
BoundTerms BoundTermsOf(const OperatorCost& cost) noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_COST_OPERATOR_COST_H_
