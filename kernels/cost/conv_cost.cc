// kernels/cost/conv_cost.cc: implements rafter/cost.h and conv_cost.h.
//
// Along one axis, output o and tap t read coordinate o * stride + t * dilation - pad_begin.
// Everything that is counted here follows from one function,
//   PairsUpTo(limit) = number of pairs (o, t) with o * stride + t * dilation <= limit,
// a sum of floors of a linear function, which Euclid's algorithm adds up in O(log) steps.
#include "kernels/cost/conv_cost.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/sizes.h"

namespace rafter {
namespace {

// Sums of all pairs need up to 126 bits, but hardly ever more than 62.
__extension__ using Wide = __int128;

// The counting below in integers of type Int, which hold every product of two of the axis's
// lengths.
template <typename Int>
class AxisCounter {
 public:
  explicit AxisCounter(const AxisShape& axis)
      : in_(axis.in),
        out_(axis.out),
        kernel_(axis.kernel),
        stride_(axis.stride),
        dilation_(axis.dilation),
        pad_(axis.pad_begin) {}

  AxisCounts Count() const {
    const Int before = pad_ - 1, last = before + in_;  // last values before and inside the image
    const Int pairs = PairsUpTo(last, out_, kernel_, stride_, dilation_) -
                      PairsUpTo(before, out_, kernel_, stride_, dilation_);
    return {static_cast<double>(pairs), static_cast<int64_t>(TapsUsed(pairs)),
            static_cast<int64_t>(DistinctUpTo(last) - DistinctUpTo(before))};
  }

 private:
  // Sum over i in [0, count) of floor((step * i + offset) / divisor); all non-negative, divisor
  // positive. Each round replaces (divisor, step) by (step, divisor mod step), as Euclid does.
  static Int SumOfFloors(Int count, Int divisor, Int step, Int offset) {
    Int sum = 0;
    for (;;) {
      sum += count * (count - 1) / 2 * (step / divisor) + count * (offset / divisor);
      step %= divisor;
      offset %= divisor;
      const Int top = step * count + offset;
      if (top < divisor) return sum;
      count = top / divisor;
      offset = top % divisor;
      std::swap(divisor, step);
    }
  }

  // Pairs of o in [0, outs) and t in [0, taps) with o * stride + t * dilation <= limit.
  static Int PairsUpTo(Int limit, Int outs, Int taps, Int stride, Int dilation) {
    if (limit < 0 || outs <= 0 || taps <= 0) return 0;
    const Int reach = (outs - 1) * stride;  // of the last output with tap 0
    // Taps before `all` pair with every output, taps from `some` on with none.
    const Int all = limit < reach ? 0 : std::min<Int>(taps, (limit - reach) / dilation + 1);
    if (all == taps) return taps * outs;
    const Int some = std::min<Int>(taps, limit / dilation + 1);
    if (some <= all) return all * outs;
    // From the last tap backwards the room for outputs grows by one dilation per tap.
    const Int count = some - all, room = limit - (some - 1) * dilation;
    return all * outs + SumOfFloors(count, stride, dilation, room) + count;
  }

  // Distinct values o * stride + t * dilation <= limit. With stride and dilation divided by their
  // common divisor, the pairs of one value form a chain (o + dilation, t - stride); a value is
  // counted by the pair that ends its chain: all pairs minus those that have a successor.
  Int DistinctUpTo(Int limit) const {
    if (limit < 0) return 0;
    const auto divisor = std::gcd(static_cast<int64_t>(stride_), static_cast<int64_t>(dilation_));
    const Int stride = stride_ / divisor, dilation = dilation_ / divisor;
    limit /= divisor;
    return PairsUpTo(limit, out_, kernel_, stride, dilation) -
           PairsUpTo(limit - stride * dilation, out_ - dilation, kernel_ - stride, stride,
                     dilation);
  }

  // Taps that are inside for some output.
  Int TapsUsed(Int pairs) const {
    // An image narrower than the stride holds at most one output per tap.
    if (in_ < stride_) return pairs;
    // Otherwise only taps that stay before or behind the image for all outputs are unused.
    const Int reach = (out_ - 1) * stride_;
    const Int first = pad_ <= reach ? 0 : (pad_ - reach - 1) / dilation_ + 1;
    const Int end = std::min<Int>(kernel_, (pad_ + in_ - 1) / dilation_ + 1);
    return std::max<Int>(end - first, 0);
  }

  Int in_, out_, kernel_, stride_, dilation_, pad_;
};

}  // namespace

AxisShape AxisH(const ConvProblem& problem) noexcept {
  const ConvDesc& desc = problem.desc;
  return {desc.in.h, problem.oh, desc.kernel.h, desc.stride.h, desc.dilation.h, desc.pad.top};
}

AxisShape AxisW(const ConvProblem& problem) noexcept {
  const ConvDesc& desc = problem.desc;
  return {desc.in.w, problem.ow, desc.kernel.w, desc.stride.w, desc.dilation.w, desc.pad.left};
}

AxisCounts CountAxis(const AxisShape& axis) noexcept {
  constexpr int64_t kNarrow = int64_t{1} << 30;
  const int64_t longest =
      std::max({axis.in, axis.out, axis.kernel, axis.stride, axis.dilation, axis.pad_begin});
  // The padded input bounds every reach: (out - 1) * stride and (kernel - 1) * dilation.
  const bool narrow = longest < kNarrow && (axis.out - 1) * axis.stride < kNarrow &&
                      (axis.kernel - 1) * axis.dilation < kNarrow;
  return narrow ? AxisCounter<int64_t>(axis).Count() : AxisCounter<Wide>(axis).Count();
}

ConvCost CostOf(const ConvProblem& problem) noexcept {
  const ConvDesc& desc = problem.desc;
  const AxisCounts h = CountAxis(AxisH(problem)), w = CountAxis(AxisW(problem));
  const double n = static_cast<double>(desc.n), oc = static_cast<double>(desc.oc);
  const double ic = static_cast<double>(desc.ic), ic_g = static_cast<double>(problem.ic_g);
  const double kh = static_cast<double>(desc.kernel.h), kw = static_cast<double>(desc.kernel.w);
  const double out_pixels = static_cast<double>(problem.oh) * static_cast<double>(problem.ow);
  const double outputs = n * oc * out_pixels;
  const double biases = desc.bias ? oc : 0;
  const double residuals = static_cast<double>(
      std::count_if(desc.post_ops.begin(), desc.post_ops.end(),
                    [](const PostOp& op) { return op.kind == PostOpKind::kResidualAdd; }));

  ConvCost cost;
  cost.macs_valid = n * oc * ic_g * h.pairs * w.pairs;
  cost.flops_valid = 2 * cost.macs_valid;
  cost.flops_nominal = 2 * outputs * ic_g * kh * kw;
  cost.flops_extra = outputs * ((desc.bias ? 1 : 0) + static_cast<double>(desc.post_ops.size()));
  cost.parameters =
      desc.oc * problem.ic_g * desc.kernel.h * desc.kernel.w + (desc.bias ? desc.oc : 0);
  if (desc.n > 0) {
    cost.src_bytes = kFloat * n * ic * static_cast<double>(h.inputs_used) * static_cast<double>(w.inputs_used);
    // A tap needs a row and a column inside at the same time.
    const double taps = static_cast<double>(h.taps_used) * static_cast<double>(w.taps_used);
    cost.weights_bytes = kFloat * (oc * ic_g * taps + biases);
  }
  cost.dst_bytes = kFloat * outputs;
  cost.residual_bytes = cost.dst_bytes * residuals;
  cost.bytes = cost.src_bytes + cost.weights_bytes + cost.dst_bytes + cost.residual_bytes;

  const auto padded = [](int64_t channels, Layout layout) {
    const int64_t block = ChannelBlock(layout);
    return static_cast<double>(channels) + static_cast<double>((block - channels % block) % block);
  };
  cost.footprint_bytes =
      kFloat * (n * padded(desc.ic, desc.src.layout) * static_cast<double>(desc.in.h) * static_cast<double>(desc.in.w) +
                n * padded(desc.oc, desc.dst.layout) * out_pixels * (1 + residuals) + oc * ic_g * kh * kw + biases);
  cost.intensity = cost.bytes > 0 ? cost.flops_valid / cost.bytes : 0;
  return cost;
}

Result<ConvCost> CostOf(const ConvDesc& desc) try {
  const Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return problem.status();
  return CostOf(*problem);
} catch (const std::bad_alloc&) {
  return Status::OutOfMemory();
}

BoundTerms BoundTermsOf(const ConvCost& cost) noexcept {
  return {cost.flops_valid, cost.src_bytes + cost.weights_bytes + cost.residual_bytes,
          cost.dst_bytes, cost.footprint_bytes};
}

}  // namespace rafter
