// kernels/cost/pooling_cost.cc: what a pooling costs; see operator_cost.h.
#include <new>

#include "kernels/cost/operator_cost.h"
#include "kernels/pooling/problem.h"
#include "kernels/sizes.h"

namespace rafter {
namespace {

AxisCounts Count(const PoolAxis& axis) {
  return CountAxis({axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin});
}

}  // namespace

Result<OperatorCost> CostOf(const PoolingDesc& desc) try {
  const Result<PoolingProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  OperatorCost cost;
  const AxisCounts h = Count(problem->h), w = Count(problem->w);
  const double planes = static_cast<double>(desc.n) * static_cast<double>(desc.c);
  const double outputs = planes * static_cast<double>(problem->h.out) * static_cast<double>(problem->w.out);
  // Every window has at least 0 taps: those in the padding alone have none to compare.
  const double average = desc.kind == PoolingKind::kAverage ? 1 : 0;
  const double taps = planes * h.pairs * w.pairs;
  cost.flops = (taps > outputs ? taps - outputs : 0) + average * outputs;
  cost.src_bytes = kFloat * planes * static_cast<double>(h.inputs_used) * static_cast<double>(w.inputs_used);
  cost.dst_bytes = kFloat * outputs;
  cost.footprint_bytes = kFloat * (HeldElements(problem->layout(), problem->src_shape()) +
                                   HeldElements(problem->layout(), problem->dst_shape()));
  cost.bytes = cost.src_bytes + cost.dst_bytes;
  cost.intensity = cost.bytes > 0 ? cost.flops / cost.bytes : 0;
  return cost;
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

}  // namespace rafter
