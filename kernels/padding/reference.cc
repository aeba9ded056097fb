// kernels/padding/reference.cc: see the header.
#include "kernels/padding/reference.h"

#include "kernels/reorder/reference.h"

namespace rafter::reference {

void RunPad(const PadProblem& problem, const float* src, float* dst) noexcept {
  const PadDesc& desc = problem.desc;
  const TensorShape& out = problem.out;
  for (int64_t n = 0; n < out.n; ++n) {
    for (int64_t c = 0; c < out.c; ++c) {
      for (int64_t h = 0; h < out.h; ++h) {
        for (int64_t w = 0; w < out.w; ++w) {
          const int64_t y = SourceOf(desc.mode, h, desc.pad.top, desc.in.h);
          const int64_t x = SourceOf(desc.mode, w, desc.pad.left, desc.in.w);
          dst[Offset(problem.dst, desc.dst.layout, n, c, h, w)] =
              y < 0 || x < 0 ? desc.value : src[Offset(problem.src, desc.src.layout, n, c, y, x)];
        }
      }
    }
  }
  ClearMissingLanes(out, desc.dst.layout, problem.dst, dst);
}

}  // namespace rafter::reference
