// kernels/softmax/plan.h: how a softmax is carried out: which kernel, and pieces of pixels for the threads.
#ifndef RAFTER_KERNELS_SOFTMAX_PLAN_H_
#define RAFTER_KERNELS_SOFTMAX_PLAN_H_

#include <cstdint>
#include <string>

#include "jit/compiled_kernel.h"
#include "kernels/softmax/problem.h"
#include "kernels/softmax/spec.h"
#include "rafter/status.h"
#include "runtime/parallel.h"

namespace rafter::softmax {

class Plan {
 public:
  // `threads`: how many will share the items.
  static Result<Plan> Make(const SoftmaxProblem& problem, Isa isa, int threads);

  const std::string& kernel_name() const noexcept { return kernel_->name(); }
  Isa isa() const noexcept { return isa_; }
  int64_t items() const noexcept { return problem_.desc.n * rows_ * pieces_; }
  void Run(const float* src, float* dst, Range items) const noexcept;

 private:
  void PlanChannels();
  void RunChannels(const float* src, float* dst, int64_t pixels) const noexcept;
  void RunPixels(const float* src, float* dst, int64_t pixels) const noexcept;

  SoftmaxProblem problem_;
  Isa isa_ = Isa::kNone;
  int64_t rows_ = 1, columns_ = 1;    // rows that follow each other in both tensors are joined
  int64_t piece_ = 1, pieces_ = 1;    // pixels of an item, items of a row
  ChannelSpec spec_;
  ChannelArgs channel_args_ = {};
  jit::KernelPtr kernel_;
};

}  // namespace rafter::softmax

#endif  // RAFTER_KERNELS_SOFTMAX_PLAN_H_
