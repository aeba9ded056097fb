// kernels/conv/winograd/work.cc: see work.h.
#include "kernels/conv/winograd/work.h"

#include "kernels/cost/conv_cost.h"

namespace rafter::winograd {

namespace {

// FLOPs of one transform along an axis (input_emitter.cc, output_emitter.cc); an FMA counts 2.
double InputFlops(Axis axis) { return axis == Axis::kFour ? 20 : axis == Axis::kTwo ? 4 : 0; }
double OutputFlops(Axis axis) { return axis == Axis::kFour ? 18 : axis == Axis::kTwo ? 4 : 0; }

}  // namespace

AlgorithmWork WorkOf(const ConvProblem& problem, const Geometry& g, const PackLayout& layout,
                     const Blocking& blocking) {
  const TileShape& shape = g.shape;
  const auto tiles = static_cast<double>(g.tiles), groups = static_cast<double>(layout.groups);
  const auto ic = static_cast<double>(layout.ic_g), oc = static_cast<double>(layout.oc_g);
  const double positions = shape.positions();
  const double in = shape.in_h() * InputFlops(shape.columns) + shape.in_w() * InputFlops(shape.rows);
  const double out = shape.in_w() * OutputFlops(shape.rows) + shape.out_h() * OutputFlops(shape.columns);
  const ConvCost direct = CostOf(problem);
  AlgorithmWork work;
  work.transforms = true;
  work.flops = tiles * groups * (2 * positions * ic * oc + in * ic + out * oc);
  const double weights = groups * positions * ic * oc * sizeof(float);
  work.load_bytes = direct.src_bytes + direct.residual_bytes + weights;
  work.store_bytes = direct.dst_bytes;
  // Transformed inputs and products are each written once and read once.
  work.intermediate_bytes = 2 * tiles * groups * positions * (ic + oc) * sizeof(float);
  work.block_bytes = static_cast<double>(blocking.max_tiles * blocking.groups) * positions * (ic + oc) * sizeof(float);
  return work;
}

}  // namespace rafter::winograd
