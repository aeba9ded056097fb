// kernels/conv/winograd/axis.h: the one-dimensional algorithms that a tile is made of, as matrices (ADR 10).
//
// Along one axis, m outputs of a kernel of 3 taps come from m + 2 products: y = A^T ((G g) * (B^T d)), with d the
// m + 2 inputs and g the taps (S. Winograd; A. Lavin, S. Gray). The products belong to the points 0, infinity and
// pairs +-p, in this order. kTwo: +-1. kFour: +-sqrt(1/2) and +-sqrt(2), whose product is 1, so that only these two
// roots are rounded; errors are 3 to 5 times smaller than with +-1, +-2.
//
// The emitters write B^T and A^T out by hand (input_emitter.cc, output_emitter.cc); G is applied by pack.cc.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_AXIS_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_AXIS_H_

#include <cstdint>

namespace rafter::winograd {

// The value is the number of outputs. kPlain: a kernel of one tap along this axis, nothing is transformed.
enum class Axis : uint8_t { kPlain = 1, kTwo = 2, kFour = 4 };

constexpr int Outputs(Axis axis) { return static_cast<int>(axis); }
constexpr int Taps(Axis axis) { return axis == Axis::kPlain ? 1 : 3; }
constexpr int Inputs(Axis axis) { return Outputs(axis) + Taps(axis) - 1; }

inline constexpr double kRootHalf = 0.70710678118654752440, kRootTwo = 1.41421356237309504880;
inline constexpr int kMaxInputs = 6;

// A tile: rows x columns of outputs, from more rows and columns of inputs.
struct TileShape {
  Axis rows = Axis::kFour, columns = Axis::kFour;

  constexpr bool operator==(const TileShape&) const = default;
  constexpr int out_h() const { return Outputs(rows); }
  constexpr int out_w() const { return Outputs(columns); }
  constexpr int in_h() const { return Inputs(rows); }
  constexpr int in_w() const { return Inputs(columns); }
  // Products per tile and channel pair; position = column * in_h + row, both in the order of points.
  constexpr int positions() const { return in_h() * in_w(); }
  constexpr int outputs() const { return out_h() * out_w(); }
  constexpr int taps() const { return Taps(rows) * Taps(columns); }
};

// Rows of G: what each product's share of the taps is.
struct WeightRow {
  double tap[3];
};
constexpr WeightRow WeightRowOf(Axis axis, int point) {
  constexpr WeightRow kTwoRows[] = {{{1, 0, 0}}, {{0, 0, 1}}, {{0.5, 0.5, 0.5}}, {{0.5, -0.5, 0.5}}};
  constexpr double a = kRootHalf / 1.5, b = kRootTwo / 6;
  constexpr WeightRow kFourRows[] = {{{1, 0, 0}},
                                     {{0, 0, 1}},
                                     {{-1 / 1.5, -a, -0.5 / 1.5}},
                                     {{-1 / 1.5, a, -0.5 / 1.5}},
                                     {{1.0 / 6, b, 2.0 / 6}},
                                     {{1.0 / 6, -b, 2.0 / 6}}};
  if (axis == Axis::kPlain) return {{1, 0, 0}};
  return axis == Axis::kTwo ? kTwoRows[point] : kFourRows[point];
}

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_AXIS_H_
