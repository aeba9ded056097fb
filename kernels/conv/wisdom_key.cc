// kernels/conv/wisdom_key.cc: see wisdom_key.h.
#include "kernels/conv/wisdom_key.h"

namespace rafter {

WisdomKey MakeWisdomKey(const ConvProblem& problem, const PlanContext& context) noexcept {
  const ConvDesc& desc = problem.desc;
  WisdomKey key{.isa = context.isa,
                .accuracy = context.accuracy,
                .threads = context.threads,
                .n = desc.n,
                .groups = desc.groups,
                .ic = desc.ic,
                .oc = desc.oc,
                .in = desc.in,
                .kernel = desc.kernel,
                .stride = desc.stride,
                .dilation = desc.dilation,
                .pad = desc.pad,
                .src_layout = desc.src.layout,
                .dst_layout = desc.dst.layout,
                .src = problem.src,
                .dst = problem.dst};
  int shift = 0;
  for (const PostOp& op : desc.post_ops) {
    key.post_ops |= static_cast<uint64_t>(op.kind) << shift;
    shift += 8;
  }
  return key;
}

size_t WisdomKeyHash::operator()(const WisdomKey& key) const noexcept {
  uint64_t hash = 0;
  const auto mix = [&hash](auto value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  };
  // The enums and the thread count fit into one word.
  mix(static_cast<uint64_t>(key.isa) | static_cast<uint64_t>(key.accuracy) << 8 |
      static_cast<uint64_t>(key.src_layout) << 16 | static_cast<uint64_t>(key.dst_layout) << 24 |
      static_cast<uint64_t>(key.threads) << 32);
  mix(key.post_ops);
  for (const int64_t value : {key.n, key.groups, key.ic, key.oc}) mix(value);
  for (const Size2& size : {key.in, key.kernel, key.stride, key.dilation}) {
    mix(size.h);
    mix(size.w);
  }
  for (const int64_t value : {key.pad.top, key.pad.left, key.pad.bottom, key.pad.right}) mix(value);
  for (const Strides& strides : {key.src, key.dst}) {
    for (const int64_t value : {strides.n, strides.c, strides.h, strides.w}) mix(value);
  }
  return static_cast<size_t>(hash);
}

}  // namespace rafter
