// kernels/conv/wisdom_key.h: for what a remembered choice holds, on one CPU: everything that may
// change which algorithm is the fastest. The values of weights, scales and activation parameters, the
// bias and the strides of residuals are no part of it.
#ifndef RAFTER_KERNELS_CONV_WISDOM_KEY_H_
#define RAFTER_KERNELS_CONV_WISDOM_KEY_H_

#include <cstddef>
#include <cstdint>

#include "kernels/conv/plan.h"
#include "kernels/conv/problem.h"
#include "rafter/conv.h"

namespace rafter {

struct WisdomKey {
  Isa isa = Isa::kNone;
  Accuracy accuracy = Accuracy::kDefault;
  int threads = 1;
  int64_t n = 1, groups = 1, ic = 1, oc = 1;
  Size2 in{}, kernel{}, stride{}, dilation{};
  Padding pad{};
  Layout src_layout = Layout::kNhwc, dst_layout = Layout::kNhwc;
  Strides src{}, dst{};   // as in ConvProblem: never left out
  uint64_t post_ops = 0;  // a PostOpKind per byte, the first one lowest, 0 behind the last one
  bool operator==(const WisdomKey&) const = default;
};
static_assert(kMaxPostOps <= 8);

WisdomKey MakeWisdomKey(const ConvProblem& problem, const PlanContext& context) noexcept;

struct WisdomKeyHash {
  size_t operator()(const WisdomKey& key) const noexcept;
};

}  // namespace rafter

#endif  // RAFTER_KERNELS_CONV_WISDOM_KEY_H_
