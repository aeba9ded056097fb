// kernels/reorder/reference.cc: see the header.
#include "kernels/reorder/reference.h"

namespace rafter::reference {

void RunReorder(const ReorderProblem& problem, const float* src, float* dst) noexcept {
  const TensorShape& s = problem.shape;
  const ReorderDesc& desc = problem.desc;
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t c = 0; c < s.c; ++c) {
      for (int64_t h = 0; h < s.h; ++h) {
        for (int64_t w = 0; w < s.w; ++w) {
          dst[Offset(problem.dst, desc.dst.layout, n, c, h, w)] = src[Offset(problem.src, desc.src.layout, n, c, h, w)];
        }
      }
    }
  }
  ClearMissingLanes(s, desc.dst.layout, problem.dst, dst);
}

void ClearMissingLanes(const TensorShape& s, Layout layout, const Strides& strides, float* data) noexcept {
  const int64_t lanes = BlocksOf(layout, s.c) * ChannelBlock(layout);
  for (int64_t n = 0; n < s.n; ++n) {
    for (int64_t c = s.c; c < lanes; ++c) {
      for (int64_t h = 0; h < s.h; ++h) {
        for (int64_t w = 0; w < s.w; ++w) data[Offset(strides, layout, n, c, h, w)] = 0.0f;
      }
    }
  }
}

}  // namespace rafter::reference
