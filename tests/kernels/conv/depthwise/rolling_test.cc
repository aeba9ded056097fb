// The order of a rolling row's products, and which blocks end before all output rows are in flight.
#include "kernels/conv/depthwise/rolling.h"

#include <gtest/gtest.h>

namespace rafter::depthwise {
namespace {

RollingShape Shape(int kernel, int stride, int columns, int registers) {
  RollingShape shape;
  shape.kh = shape.kw = kernel, shape.row_stride = shape.stride = stride, shape.columns = columns;
  shape.temps = registers - shape.slots() * columns;
  return shape;
}

TEST(RollingOrder, ByInputsWhereWeightsFitTheRegisters) {
  EXPECT_TRUE(OrderOf(Shape(3, 1, 3, 16)).by_inputs) << "6 of 9 weights";
  EXPECT_FALSE(OrderOf(Shape(3, 1, 4, 16)).by_inputs) << "3 of 9: 30 loads for 36 FMAs instead of 20";
  EXPECT_TRUE(OrderOf(Shape(3, 1, 7, 32)).by_inputs) << "all weights";
  EXPECT_FALSE(OrderOf(Shape(5, 2, 4, 16)).by_inputs) << "3 of 25";
}

TEST(RollingOrder, FewerInstructionsByInputs) {
  EXPECT_NEAR(OrderOf(Shape(3, 1, 3, 16)).instructions, (27 + 5) / 27.0, 1e-9);
  EXPECT_NEAR(OrderOf(Shape(3, 1, 4, 16)).instructions, (36 + 9 + 10) / 36.0, 1e-9);
}

// The last output of a block starts at input row (rows - 1) * stride; all output rows are in flight from row kh - 1 on.
TEST(Rolling, ShortBlocksEndBeforeAllRowsAreInFlight) {
  for (int kh = 1; kh <= 7; ++kh) {
    for (int stride = 1; stride <= kh; ++stride) {
      const int rows = RollingShortRows(kh, stride);
      EXPECT_TRUE(rows == 0 || (rows - 1) * stride < kh - 1) << kh << " rows, stride " << stride;
      EXPECT_GE(rows * stride, kh - 1) << kh << " rows, stride " << stride;
    }
  }
}

}  // namespace
}  // namespace rafter::depthwise
