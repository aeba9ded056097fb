// tests/support/random_tensor.h: reproducible test data, and the walk over the elements of a tensor
// in any layout. The same seed gives the same logical values in every layout.
#ifndef RAFTER_TESTS_SUPPORT_RANDOM_TENSOR_H_
#define RAFTER_TESTS_SUPPORT_RANDOM_TENSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/conv/problem.h"
#include "rafter/tensor.h"

namespace rafter::testing {

enum class DataKind {
  kInteger,   // -2 … 2: every sum of fewer than 2^22 products is exact in f32, in any order
  kReal,      // (-1, 1)
  kSpecials,  // real, with NaN, infinities, signed zeros and denormals among them
};

// xorshift64*: small, fast, the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x853c49e6748fea9bu) {
    if (state_ == 0) state_ = 1;
    for (int i = 0; i < 4; ++i) Next();
  }
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1du;
  }
  // In [low, high], both included.
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(Next() % static_cast<uint64_t>(high - low + 1));
  }
  float Value(DataKind data) {
    if (data == DataKind::kInteger) return static_cast<float>(Between(-2, 2));
    const auto real =
        static_cast<float>(static_cast<int64_t>(Next() >> 40) - (1 << 23)) / (1 << 23);
    if (data == DataKind::kReal) return real;
    using Limits = std::numeric_limits<float>;
    switch (Next() % 400) {  // rare enough that most sums stay finite
      case 0:
        return Limits::quiet_NaN();
      case 1:
        return Limits::infinity();
      case 2:
        return -Limits::infinity();
      case 3:
        return -0.0f;
      case 4:
        return Limits::denorm_min() * static_cast<float>(Between(1, 1000));
      default:
        return real;
    }
  }

 private:
  uint64_t state_;
};

// A tensor's shape and place in memory.
struct TensorView {
  Layout layout = Layout::kNhwc;
  Strides strides;
  int64_t n = 0, c = 0, h = 0, w = 0;

  // Elements from the first to the last, lanes of the last block included; 0 when there are none.
  int64_t Span() const {
    if (n * c * h * w == 0) return 0;
    const int64_t block = ChannelBlock(layout);
    return Offset(strides, layout, n - 1, (c + block - 1) / block * block - 1, h - 1, w - 1) + 1;
  }
};

inline TensorView SrcView(const ConvProblem& problem) {
  const ConvDesc& desc = problem.desc;
  return {desc.src.layout, problem.src, desc.n, desc.ic, desc.in.h, desc.in.w};
}
inline TensorView DstView(const ConvProblem& problem) {
  return {problem.desc.dst.layout, problem.dst, problem.desc.n,
          problem.desc.oc,         problem.oh,  problem.ow};
}

// Calls visit(n, c, h, w, offset) for every element, in logical order n, c, h, w.
template <typename Visit>
void ForEachElement(const TensorView& view, const Visit& visit) {
  for (int64_t n = 0; n < view.n; ++n) {
    for (int64_t c = 0; c < view.c; ++c) {
      const int64_t plane = Offset(view.strides, view.layout, n, c, 0, 0);
      for (int64_t h = 0; h < view.h; ++h) {
        for (int64_t w = 0; w < view.w; ++w) {
          visit(n, c, h, w, plane + h * view.strides.h + w * view.strides.w);
        }
      }
    }
  }
}

// Fills the elements of the tensor only: gaps of a slice and lanes behind the last channel stay as
// they are.
inline void FillTensor(const TensorView& view, float* data, DataKind kind, uint64_t seed) {
  Random random(seed);
  ForEachElement(view, [&](int64_t, int64_t, int64_t, int64_t, int64_t offset) {
    data[offset] = random.Value(kind);
  });
}

inline void FillDense(float* data, size_t count, DataKind kind, uint64_t seed) {
  Random random(seed);
  std::generate_n(data, count, [&] { return random.Value(kind); });
}

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_RANDOM_TENSOR_H_
