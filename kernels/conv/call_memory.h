// kernels/conv/call_memory.h: whether the memory of one call may be used together: a destination that shares elements
// with what is still read gives wrong results and no error. Slices that interleave without sharing an element, such as
// two ranges of channels of one tensor, are fine.
//
// Not for null pointers and alignment: those are in conv.cc.
#ifndef RAFTER_KERNELS_CONV_CALL_MEMORY_H_
#define RAFTER_KERNELS_CONV_CALL_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/conv/problem.h"
#include "kernels/tensor_shape.h"
#include "rafter/post_ops.h"
#include "rafter/status.h"

namespace rafter {

// What Run needs to know about the tensors of a plan. A call whose tensors lie apart, or whose residual is the
// destination, costs a few comparisons; strides are looked at only where address ranges meet otherwise.
class CallMemory {
 public:
  CallMemory() noexcept = default;
  explicit CallMemory(const ConvProblem& problem);

  // Of pointers that are neither null nor misaligned; `residuals` are as many as the problem has. Never allocates.
  Status Check(const float* src, const float* dst, std::span<const float* const> residuals,
               std::span<const std::byte> scratch) const noexcept {
    return Apart(src, dst, residuals, scratch) ? Status() : CheckStrides(src, dst, residuals, scratch);
  }

 private:
  struct Extent {
    uintptr_t bytes = 0;   // from the first to the last element
    bool as_dst = false;   // of a residual: with the destination's strides
  };

  // As numbers: the pointers may belong to different objects.
  static bool Meet(const void* a, uintptr_t a_bytes, const void* b, uintptr_t b_bytes) noexcept {
    const auto begin_a = reinterpret_cast<uintptr_t>(a), begin_b = reinterpret_cast<uintptr_t>(b);
    return begin_a < begin_b + b_bytes && begin_b < begin_a + a_bytes;
  }

  // Whether nothing needs a closer look.
  bool Apart(const float* src, const float* dst, std::span<const float* const> residuals,
             std::span<const std::byte> scratch) const noexcept {
    bool apart = !Meet(src, src_.bytes, dst, dst_.bytes);
    if (!scratch.empty()) {
      apart &= !Meet(scratch.data(), scratch.size(), src, src_.bytes);
      apart &= !Meet(scratch.data(), scratch.size(), dst, dst_.bytes);
    }
    for (size_t i = 0; i < residuals.size(); ++i) {
      const Extent& extent = residuals_[i];
      apart &= (residuals[i] == dst && extent.as_dst) || !Meet(residuals[i], extent.bytes, dst, dst_.bytes);
      if (!scratch.empty()) apart &= !Meet(scratch.data(), scratch.size(), residuals[i], extent.bytes);
    }
    return apart;
  }

  Status CheckStrides(const float* src, const float* dst, std::span<const float* const> residuals,
                      std::span<const std::byte> scratch) const noexcept;

  Extent src_, dst_;
  std::array<Extent, kMaxPostOps> residuals_;
  // Where they lie, without pointers: the source, the destination, the residuals.
  std::vector<TensorPlace> places_;
};

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_CALL_MEMORY_H_
