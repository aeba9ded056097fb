// Width programs: every column is stored, masks agree with the taps inside the image, plain tiles
// read nothing outside.
#include "kernels/conv/depthwise/width_program.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::depthwise {
namespace {

void Check(const Axis& axis, const WidthShape& shape) {
  const auto program = MakeWidthProgram(axis, shape);
  ASSERT_TRUE(program);
  std::vector<int> stored(static_cast<size_t>(axis.out()), 0);
  for (const WidthRun& run : program->runs) {
    ASSERT_LE(run.vecs, shape.vecs);
    for (int64_t vec = 0; vec < run.tiles * run.vecs; ++vec) {
      const bool last = vec + 1 == run.tiles * run.vecs;
      const bool stepped = run.edge && vec > 0 && last;
      const int64_t begin = run.begin + (stepped ? run.vec_step : vec * shape.lanes);
      const int64_t lanes = last && run.last_lanes > 0 ? run.last_lanes : shape.lanes;
      for (int64_t lane = 0; lane < lanes; ++lane) ++stored.at(static_cast<size_t>(begin + lane));
      for (int64_t tap = 0; tap < axis.kernel(); ++tap) {
        const int64_t first = axis.input(0, 0) + begin * axis.stride() + tap * axis.dilation();
        const bool masked = (vec == 0 && (run.first_taps >> tap & 1) != 0) ||
                            (vec > 0 && last && (run.last_taps >> tap & 1) != 0);
        if (!masked) {
          ASSERT_GE(first, 0);
          ASSERT_LE(first + shape.lanes * axis.stride(), axis.in());
          continue;
        }
        ASSERT_TRUE(run.edge);
        const TapMasks& masks = program->masks[run.masks + static_cast<size_t>(2 * tap + (vec > 0))];
        int used = 0, products = 0;
        for (int64_t lane = 0; lane < shape.lanes; ++lane) {
          const int64_t input = lane * axis.stride(), at = first + input;
          const bool inside = at >= 0 && at < axis.in();
          ASSERT_EQ(masks.inputs[input / shape.lanes][input % shape.lanes], inside ? -1 : 0);
          used += inside && begin + lane < axis.out(), products += masks.products[lane] != 0;
        }
        ASSERT_EQ(used, products);
      }
    }
  }
  for (const int count : stored) ASSERT_GE(count, 1);
  if (!shape.may_overlap) {
    for (const int count : stored) ASSERT_EQ(count, 1);
  }
}

TEST(WidthProgram, EveryColumnWithTheRightMasks) {
  for (int lanes : {8, 16}) {
    for (bool may_overlap : {true, false}) {
      for (int64_t kernel : {1, 3, 5, 13}) {
        for (int64_t stride : {1, 2}) {
          for (int64_t dilation : {1, 12}) {
            for (int64_t in = 1; in <= 70; ++in) {
              const int64_t pad = kernel / 2 * dilation, extent = dilation * (kernel - 1) + 1;
              const Axis axis(in, (in + 2 * pad - extent) / stride + 1, kernel, stride, dilation,
                              pad);
              Check(axis, {lanes, 4, may_overlap});
              Check(axis, {lanes, 1, may_overlap});
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace rafter::depthwise
