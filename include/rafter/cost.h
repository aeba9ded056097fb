// rafter/cost.h: what a convolution costs by arithmetic alone: FLOPs, parameters, bytes, intensity.
#ifndef RAFTER_COST_H_
#define RAFTER_COST_H_

#include <cstdint>

#include "rafter/export.h"
#include "rafter/status.h"

namespace rafter {

struct ConvDesc;

// 1 FLOP = one addition or one multiplication; a fused multiply-add counts 2.
struct ConvCost {
  double flops_valid = 0;    // 2 * n * oc * ic/g * (pairs of an output and a tap inside the image)
  double flops_nominal = 0;  // 2 * n * oc * ic/g * kh * kw * oh * ow, what frameworks print
  double flops_extra = 0;    // bias (one per output) and post-ops (one per operation and output); never in a bound
  double macs_valid = 0;     // flops_valid / 2
  int64_t parameters = 0;    // weights and, when desc.bias, biases
  // Compulsory traffic: distinct bytes that must be read or written once.
  double src_bytes = 0;      // only elements that some valid tap reaches
  double weights_bytes = 0;  // only taps that are valid for some output; with bias
  double dst_bytes = 0;
  double residual_bytes = 0; // tensors read by kResidualAdd
  double bytes = 0;          // the sum
  double footprint_bytes = 0;// all tensors whole: src, dst, weights, bias, residuals
  double intensity = 0;      // flops_valid / bytes, FLOP/byte
};

// What the algorithm of a plan itself computes and moves, where it does something else than a direct sum. Never to be
// mixed with the problem's cost: FLOPs of ConvCost divided by a time are effective FLOP/s, which may exceed any peak.
struct AlgorithmWork {
  bool transforms = false;  // false: a direct sum; ConvCost is all there is to say
  double flops = 0;         // transforms included; a fused multiply-add counts 2
  double load_bytes = 0, store_bytes = 0;  // compulsory traffic with the weights as they are packed
  double intermediate_bytes = 0;           // written and read again in between
  double block_bytes = 0;                  // of intermediates that are in use at a time
};

// Exact and cheap (no loop over the image). kInvalidArgument as in Conv::Create.
RAFTER_EXPORT Result<ConvCost> CostOf(const ConvDesc& desc);

}  // namespace rafter

#endif  // RAFTER_COST_H_
