// kernels/concat/reference.cc: see the header.
#include "kernels/concat/reference.h"

#include "kernels/reorder/reference.h"

namespace rafter::reference {

void RunConcat(const ConcatProblem& problem, std::span<const float* const> inputs, float* dst) noexcept {
  const Axis axis = problem.desc.axis;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const ConcatProblem::Input& input = problem.inputs[i];
    const Layout from = problem.desc.inputs[i].format.layout;
    const auto moved = [&](Axis along, int64_t index) { return along == axis ? index + input.begin : index; };
    for (int64_t n = 0; n < input.shape.n; ++n) {
      for (int64_t c = 0; c < input.shape.c; ++c) {
        for (int64_t h = 0; h < input.shape.h; ++h) {
          for (int64_t w = 0; w < input.shape.w; ++w) {
            dst[Offset(problem.dst, problem.desc.dst.layout, moved(Axis::kN, n), moved(Axis::kC, c),
                       moved(Axis::kH, h), moved(Axis::kW, w))] = inputs[i][Offset(input.strides, from, n, c, h, w)];
          }
        }
      }
    }
  }
  ClearMissingLanes(problem.shape, problem.desc.dst.layout, problem.dst, dst);
}

}  // namespace rafter::reference
