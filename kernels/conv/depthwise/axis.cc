// kernels/conv/depthwise/axis.cc
#include "kernels/conv/depthwise/axis.h"

#include <algorithm>
#include <numeric>

namespace rafter::depthwise {

Axis::Axis(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t dilation, int64_t pad)
    : in_(in),
      out_(out),
      kernel_(kernel),
      stride_(stride),
      dilation_(kernel == 1 ? 1 : dilation),
      pad_(pad) {
  const int64_t common = std::gcd(stride_, dilation_);
  distance_ = dilation_ / common;
  step_ = stride_ / common;
}

TapRange Axis::Inside(int64_t begin, int64_t taps) const {
  int64_t first = begin < 0 ? -begin : 0, end = begin < in_ ? in_ - begin : 0;
  if (dilation_ != 1) first = (first + dilation_ - 1) / dilation_, end = (end + dilation_ - 1) / dilation_;
  const TapRange range{std::min(first, taps), std::min(end, taps)};
  return range.begin < range.end ? range : TapRange{taps, taps};
}

}  // namespace rafter::depthwise
