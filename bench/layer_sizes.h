// bench/layer_sizes.h: the sizes of a layer by arithmetic: FLOPs, parameters, memory access, footprint, intensity; for
// convolutions and for what else networks consist of. Formulas and their sources: docs/sizes.md.
//
// One FLOP is one addition, multiplication or comparison on f32, a MAC counts two. Layers as text:
//   conv:DESC or DESC           a convolution in benchdnn's notation
//   deconv:DESC                 its transpose: ih is the smaller image, oh = (ih - 1) s - 2 p + (k - 1)(d + 1) + 1
//   fc:mb1ic2048oc1000          fully connected
//   matmul:64x128:128x256       two inputs; more dimensions in front are batches (one side may have 1)
//   lstm:t10mb1ic256hc512       t steps; layers l1, directions d1
//   maxpool:mb1ic64ih112kh3sh2ph1, avgpool:…   padding is not counted
//   relu:1x64x56x56             element-wise: any post-op's name, add, mul, copy
//   concat:1x64x56x56:1x32x56x56, pad:1x3x224x224:3,3,3,3   dense tensors copied
#ifndef RAFTER_BENCH_LAYER_SIZES_H_
#define RAFTER_BENCH_LAYER_SIZES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rafter/status.h"

namespace rafter::bench {

struct LayerSizes {
  std::string kind, text;
  double flops = 0;          // only what touches real data
  double flops_nominal = 0;  // as if padding were data: what frameworks print
  double macs = 0, macs_nominal = 0;
  double parameters = 0;                   // weights and biases
  double read_bytes = 0, write_bytes = 0;  // distinct bytes that must be read or written once
  double footprint_bytes = 0;              // all tensors whole

  double bytes() const noexcept { return read_bytes + write_bytes; }
  double intensity() const noexcept { return bytes() > 0 ? flops / bytes() : 0; }
};

// kInvalidArgument: "layer: 'fc:mb1': 'ic' is missing".
Result<LayerSizes> SizesOf(std::string_view layer);

// Kind "sum"; its footprint is the largest of a single layer.
LayerSizes SumOf(std::span<const LayerSizes> layers);

// FLOPs per element of an element-wise operation, as jit/post_op_emitter.cc computes it; -1 for an unknown name.
// Version 1 of the table: exp counts 24.
int FlopsPerElement(std::string_view name) noexcept;
inline constexpr int kFlopTableVersion = 1;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_LAYER_SIZES_H_
