// kernels/pooling/plan.h: how a pooling is carried out. Everything is decided when a plan is made; Run executes.
#ifndef RAFTER_KERNELS_POOLING_PLAN_H_
#define RAFTER_KERNELS_POOLING_PLAN_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "kernels/pooling/problem.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter::pooling {

class Plan {
 public:
  virtual ~Plan() = default;
  virtual const std::string& kernel_name() const noexcept = 0;
  virtual Isa isa() const noexcept = 0;
  // Pieces of work that may run at the same time, and a range of them.
  virtual int64_t items() const noexcept = 0;
  virtual void Run(const float* src, float* dst, Range items) const noexcept = 0;
};

// What a window without taps gives; every other one starts from here.
inline float EmptyWindow(const PoolingDesc& desc) noexcept {
  if (desc.kind == PoolingKind::kMax) return -std::numeric_limits<float>::infinity();
  return desc.count_include_pad ? 0.0f : std::numeric_limits<float>::quiet_NaN();
}

// Taps that an average divides by along one axis.
inline int64_t DivisorTaps(const PoolingDesc& desc, const PoolAxis& axis, int64_t o) noexcept {
  const TapRange taps = axis.Taps(o);
  return desc.count_include_pad ? axis.PaddedTaps(o) : taps.end - taps.begin;
}

// NHWC and blocked layouts. `threads`: about how many will share the items.
Result<std::unique_ptr<Plan>> MakeChannelPlan(const PoolingProblem& problem, Isa isa, int threads);
// NCHW. kUnsupported: windows so wide that no line holds a vector of outputs.
Result<std::unique_ptr<Plan>> MakeColumnPlan(const PoolingProblem& problem, Isa isa);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_PLAN_H_
