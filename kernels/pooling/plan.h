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

// What one item of work reads, about: enough to be worth a call, little enough to be shared and to stay in the
// second-level cache, since channel plans walk its rows once per segment.
inline constexpr int64_t kItemBytes = 65536;

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

// Read and written by a call.
inline double BytesOf(const PoolingProblem& problem) noexcept {
  const auto bytes = [](const TensorShape& s) {
    return 4.0 * static_cast<double>(s.n) * static_cast<double>(s.c) * static_cast<double>(s.h) *
           static_cast<double>(s.w);
  };
  return bytes(problem.src_shape()) + bytes(problem.dst_shape());
}

// NHWC and blocked layouts. `threads`: about how many will share the items. kUnsupported: too many different windows.
Result<std::unique_ptr<Plan>> MakeChannelPlan(const PoolingProblem& problem, Isa isa, int threads);
// NCHW. kUnsupported: windows so wide that no line holds a vector of outputs, or too many different ones.
Result<std::unique_ptr<Plan>> MakeColumnPlan(const PoolingProblem& problem, Isa isa);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_PLAN_H_
