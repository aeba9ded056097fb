// kernels/conv/depthwise/axis.h: one direction of a depthwise convolution, cut into phases. With
// dilation d (and stride s), every (d / gcd(d, s))-th output looks at the same interleaved inputs:
// such a phase is an undilated convolution of its own, whose neighbouring outputs lie a whole
// number of taps apart. Without dilation there is one phase.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_AXIS_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_AXIS_H_

#include <cstdint>

#include "kernels/conv/problem.h"

namespace rafter::depthwise {

class Axis {
 public:
  Axis() = default;
  Axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad);

  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t kernel() const { return kernel_; }
  int64_t dilation() const { return dilation_; }  // inputs between taps
  int64_t stride() const { return stride_; }

  int64_t phases() const { return distance_ < out_ ? distance_ : out_; }
  // Outputs between neighbours of one phase.
  int64_t distance() const { return distance_; }
  // Taps between neighbouring outputs of one phase.
  int64_t step() const { return step_; }
  // Outputs of phase p; phases 0 … wide_phases() - 1 have one more than the others.
  int64_t outputs(int64_t phase) const {
    return distance_ == 1 ? out_ : (out_ - phase + distance_ - 1) / distance_;  // a division takes longer than the rest
  }
  int64_t wide_phases() const {
    if (distance_ == 1) return phases();
    return out_ % distance_ == 0 || out_ < distance_ ? phases() : out_ % distance_;
  }
  // Input coordinate of the first tap of output `i` of a phase; may lie outside the image.
  int64_t input(int64_t phase, int64_t i) const { return output(phase, i) * stride_ - pad_; }
  int64_t output(int64_t phase, int64_t i) const { return phase + i * distance_; }
  // Those of `taps` neighbouring taps, the first of which reads input coordinate `begin`, that fall
  // inside the image. Empty: {taps, taps}.
  TapRange Inside(int64_t begin, int64_t taps) const;

 private:
  int64_t in_ = 1, out_ = 1, kernel_ = 1, stride_ = 1, dilation_ = 1, pad_ = 0;
  int64_t distance_ = 1, step_ = 1;
};

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_AXIS_H_
