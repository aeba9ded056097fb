// tests/support/random_desc.h: valid random problems, small enough to compute in full, with
// everything that a description can ask for.
#ifndef RAFTER_TESTS_SUPPORT_RANDOM_DESC_H_
#define RAFTER_TESTS_SUPPORT_RANDOM_DESC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/conv/problem.h"
#include "rafter/conv.h"
#include "tests/support/random_tensor.h"

namespace rafter::testing {

struct RandomDescLimits {
  int64_t max_n = 3, max_groups = 4;
  int64_t max_channels_g = 40;  // per group, input and output alike
  int64_t max_image = 14, max_kernel = 5, max_stride = 3, max_dilation = 3;
  bool slices = true;  // strides of bigger tensors
  int max_post_ops = 3;
  bool exact_post_ops = false;  // only those that do not round integer data
  std::vector<Layout> layouts = {Layout::kNhwc, Layout::kNchw, Layout::kNchw16c, Layout::kNchw8c};
};

// A number that is small more often than large.
inline int64_t Skewed(Random& random, int64_t low, int64_t high) {
  return std::min(random.Between(low, high), random.Between(low, high));
}

inline PostOp RandomPostOp(Random& random, int64_t oc, bool exact) {
  constexpr PostOpKind kExact[] = {PostOpKind::kRelu, PostOpKind::kLeakyRelu, PostOpKind::kClip,
                                   PostOpKind::kResidualAdd, PostOpKind::kChannelScale};
  PostOp op;
  op.kind = exact ? kExact[random.Between(0, 4)] : static_cast<PostOpKind>(random.Between(1, 12));
  if (op.kind == PostOpKind::kClip) {
    op.alpha = static_cast<float>(random.Between(-8, 0));
    op.beta = static_cast<float>(random.Between(0, 8));
  } else {
    op.alpha = static_cast<float>(random.Between(1, 4)) * 0.25f;
    op.beta = 0.5f;
  }
  if (op.kind == PostOpKind::kLeakyRelu) op.alpha = 0.25f;
  if (op.kind == PostOpKind::kChannelScale) {
    for (int64_t c = 0; c < oc; ++c) op.scale.push_back(static_cast<float>(random.Between(-2, 2)));
  }
  return op;
}

// Strides of a tensor that is a slice of a bigger one: more channels beside it, more columns, more
// rows.
inline Strides RandomSlice(Random& random, Layout layout, int64_t c, int64_t h, int64_t w) {
  const int64_t more_c = ChannelBlock(layout) * random.Between(0, 2);
  Strides strides =
      DenseStrides(layout, c + more_c + (layout == Layout::kNhwc ? random.Between(0, 9) : 0),
                   h + random.Between(0, 2), w + random.Between(0, 3));
  strides.n += 64 * random.Between(0, 1);
  return strides;
}

inline void AddSlices(Random& random, ConvDesc& desc) {
  const Result<ConvProblem> problem = Validate(desc);
  if (!problem.ok()) return;
  if (random.Between(0, 2) == 0) {
    desc.src.strides = RandomSlice(random, desc.src.layout, desc.ic, desc.in.h, desc.in.w);
  }
  const auto slice_of_dst = [&] {
    return RandomSlice(random, desc.dst.layout, desc.oc, problem->oh, problem->ow);
  };
  if (random.Between(0, 2) == 0) desc.dst.strides = slice_of_dst();
  for (PostOp& op : desc.post_ops) {
    if (op.kind == PostOpKind::kResidualAdd && random.Between(0, 1) == 0) {
      op.residual_strides = slice_of_dst();
    }
  }
}

// One axis with a kernel that fits.
inline void RandomAxis(Random& random, const RandomDescLimits& limits, int64_t* in, int64_t* kernel,
                       int64_t* stride, int64_t* dilation, int64_t* pad_begin, int64_t* pad_end) {
  *in = random.Between(1, limits.max_image);
  *kernel = random.Between(1, limits.max_kernel);
  *stride = Skewed(random, 1, limits.max_stride);
  *dilation = Skewed(random, 1, limits.max_dilation);
  const int64_t extent = *dilation * (*kernel - 1) + 1;
  // Up to one more than the extent: some taps, sometimes all, lie in the padding.
  *pad_begin = Skewed(random, 0, extent + 1);
  *pad_end = Skewed(random, 0, extent + 1);
  if (extent > *in + *pad_begin + *pad_end) *pad_end = extent - *in - *pad_begin;
}

inline ConvDesc RandomDesc(Random& random, const RandomDescLimits& limits = {}) {
  ConvDesc desc;
  desc.n = Skewed(random, 1, limits.max_n);
  desc.groups = random.Between(0, 1) == 0 ? 1 : random.Between(1, limits.max_groups);
  desc.ic = desc.groups * Skewed(random, 1, limits.max_channels_g);
  desc.oc = desc.groups * Skewed(random, 1, limits.max_channels_g);
  RandomAxis(random, limits, &desc.in.h, &desc.kernel.h, &desc.stride.h, &desc.dilation.h,
             &desc.pad.top, &desc.pad.bottom);
  RandomAxis(random, limits, &desc.in.w, &desc.kernel.w, &desc.stride.w, &desc.dilation.w,
             &desc.pad.left, &desc.pad.right);
  const auto layout = [&] {
    return limits.layouts[static_cast<size_t>(
        random.Between(0, static_cast<int64_t>(limits.layouts.size()) - 1))];
  };
  desc.src.layout = layout();
  desc.dst.layout = layout();
  desc.bias = random.Between(0, 1) == 1;
  const int64_t post_ops = Skewed(random, 0, limits.max_post_ops);
  for (int64_t i = 0; i < post_ops; ++i) {
    desc.post_ops.push_back(RandomPostOp(random, desc.oc, limits.exact_post_ops));
  }
  if (limits.slices) AddSlices(random, desc);
  return desc;
}

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_RANDOM_DESC_H_
