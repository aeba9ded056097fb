// kernels/conv/depthwise/depthwise.h: convolution in which every output looks at one input channel
// (groups = input channels), with any channel multiplier, kernel, stride, dilation and padding, and
// 1-D in either direction.
//
// Two FLOPs per tap and two tensors to move: what counts is that each input is loaded a few times,
// not once per tap, and that memory is walked through in long runs. Two kernel families:
//
//   NHWC, NCHWc   lanes = channels (channel_spec.h). Tiles of output rows x columns; the channels of
//                 a pixel are the inner loop. Kernels up to 7x7 with at most 3 output rows in flight
//                 roll down a block of rows (rolling.h; most weights of small ones in registers where
//                 that takes no more loads), others take two output rows at a time. With
//                 16 vector registers small kernels keep their weights in registers instead where
//                 images are wide and pixels short (channel_held_emitter.cc). Tensors that exceed
//                 what is left of L3 go row by row like that on every machine, and large outputs past
//                 the caches (some roll by whole lines). Kernels of one column follow the row of the
//                 image. Where pixels share L1 sets, rolling tiles take two vectors of channels, a
//                 whole line of each pixel; at the worst power-of-two distances pixels are staged
//                 (tuning.h). Several outputs per input channel: inputs pass a permutation. Lanes behind
//                 the last channel: NHWC computes the last full vector of channels once more.
//   NCHW          lanes = columns of a row (width_spec.h), stride 1 or 2, kernels up to 13x13 or 31x1;
//                 tiles roll down the plane, with the weights in registers where those suffice
//                 (width_registers.h). Planes of few short rows are one tile without loops.
//                 Where rows cannot roll, and for large kernels on wide rows, tiles take bands of a few rows along the
//                 image; kernels of one row go along long rows (width_line_emitter.cc). Taps that reach over the border
//                 load zeros there. Large outputs go past the caches through a buffer. Very
//                 short rows, large kernels, and what these kernels do not take, go through the channel kernels: strips
//                 of channels are transposed into a buffer and back, inside the caches. The rest goes through a copy in
//                 NHWC ("depthwise+reorder").
//
// What binds beside bytes, on Zen 3 with 16 registers (a loop of FMAs alone reaches 95 GFLOP/s): loads, of which
// 0.75 per FMA cost 12 % when the other hyper-thread is busy, and one per FMA 25 %; stores, each of which takes about
// half a cycle from the FMAs, 10 % of a 3x3 layer; shuffles that cross lanes, which take a whole one.
//
// Dilation: every d-th output sees the same interleaved inputs, an undilated problem of its own
// (axis.h). Padding is never read nor multiplied. Order of every sum: kernel rows, kernel columns,
// then the bias, in all layouts. Packed weights: pack.h, the same for all layouts and machines.
// Threads: images x row blocks x strips of channels.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_

#include "kernels/conv/plan.h"

namespace rafter::depthwise {

Offer Consider(const ConvProblem& problem, const PlanContext& context);
Result<std::unique_ptr<ConvPlan>> MakePlan(const ConvProblem& problem, const PlanContext& context);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_DEPTHWISE_H_
