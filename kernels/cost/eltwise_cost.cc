// kernels/cost/eltwise_cost.cc: what element-wise chains and softmax cost; see operator_cost.h.
#include <new>

#include "kernels/cost/operator_cost.h"
#include "kernels/eltwise/problem.h"
#include "kernels/sizes.h"
#include "kernels/softmax/problem.h"

namespace rafter {
namespace {

constexpr double kExpFlops = 21, kSoftmaxFlops = 1 + 1 + kExpFlops + 1 + 1;  // max; subtract, exp, add; scale

double Elements(const TensorShape& s) {
  return static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.h) * static_cast<double>(s.w);
}

void Finish(OperatorCost& cost) {
  cost.bytes = cost.src_bytes + cost.operand_bytes + cost.dst_bytes;
  cost.intensity = cost.bytes > 0 ? cost.flops / cost.bytes : 0;
}

}  // namespace

double HeldElements(Layout layout, TensorShape shape) noexcept {
  shape.c = BlocksOf(layout, shape.c) * ChannelBlock(layout);
  return Elements(shape);
}

double EltwiseFlops(EltwiseKind kind) noexcept {
  switch (kind) {
    case EltwiseKind::kAbs:
    case EltwiseKind::kNeg: return 0;
    case EltwiseKind::kRelu:
    case EltwiseKind::kSqrt:
    case EltwiseKind::kAdd:
    case EltwiseKind::kSub:
    case EltwiseKind::kMul:
    case EltwiseKind::kDiv: return 1;
    case EltwiseKind::kClip:
    case EltwiseKind::kMin:
    case EltwiseKind::kMax:
    case EltwiseKind::kLinear:
    case EltwiseKind::kChannelLinear: return 2;
    case EltwiseKind::kLeakyRelu:
    case EltwiseKind::kPrelu:
    case EltwiseKind::kHardSigmoid: return 4;
    case EltwiseKind::kHardSwish: return 5;
    case EltwiseKind::kExp: return kExpFlops;
    case EltwiseKind::kElu: return 24;
    case EltwiseKind::kSigmoid: return 20;
    case EltwiseKind::kSwish: return 22;
    case EltwiseKind::kTanh: return 21;
    case EltwiseKind::kLog: return 28;
    case EltwiseKind::kGeluTanh: return 26;
    case EltwiseKind::kGelu: return 36;
  }
  return 0;
}

Result<OperatorCost> CostOf(const EltwiseDesc& desc) try {
  const Result<EltwiseProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  OperatorCost cost;
  const TensorShape shape = problem->shape();
  const double elements = Elements(shape);
  cost.src_bytes = cost.dst_bytes = kFloat * elements;
  cost.footprint_bytes = 2 * kFloat * HeldElements(problem->layout(), shape);
  for (const EltwiseOp& op : desc.ops) {
    cost.flops += elements * EltwiseFlops(op.kind);
    const double values = kFloat * static_cast<double>(op.scale.size() + op.shift.size());
    cost.operand_bytes += values;
    cost.footprint_bytes += values;
  }
  for (const EltwiseProblem::Operand& operand : problem->operands) {
    cost.operand_bytes += kFloat * Elements(operand.shape);
    cost.footprint_bytes += kFloat * HeldElements(problem->layout(), operand.shape);
  }
  Finish(cost);
  return cost;
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

Result<OperatorCost> CostOf(const SoftmaxDesc& desc) try {
  const Result<SoftmaxProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  OperatorCost cost;
  const double elements = Elements(problem->shape());
  cost.flops = elements * kSoftmaxFlops;
  cost.src_bytes = cost.dst_bytes = kFloat * elements;
  cost.footprint_bytes = 2 * kFloat * HeldElements(problem->layout(), problem->shape());
  Finish(cost);
  return cost;
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

BoundTerms BoundTermsOf(const OperatorCost& cost) noexcept {
  return {0, cost.src_bytes + cost.operand_bytes, cost.dst_bytes, cost.footprint_bytes};
}

}  // namespace rafter
