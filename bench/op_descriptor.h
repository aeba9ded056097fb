// bench/op_descriptor.h: the notation for cases of the memory-bound operators, beside the convolution descriptors of
// descriptor.h:
//
//   eltwise:OP[+OP…]:SHAPE[:inplace]     eltwise:relu:1x64x56x56, eltwise:clip=0=6:…, eltwise:add+relu:…
//   binary:OP:SHAPE[:SHAPE]              binary:add:1x64x56x56, binary:mul:1x64x56x56:1x64x1x1 (broadcast)
//   pool:max|avg:WINDOW:SHAPE            pool:max:k3s2p1:1x64x112x112, pool:avg:global:1x512x7x7; WINDOW may
//                                        end in ceil and, for avg, cip (padding counts)
//   concat:n|c|h|w:SHAPE+SHAPE…          concat:c:1x64x56x56+1x128x56x56
//   pad:constant|edge|reflect:pT[xLxBxR]:SHAPE
//   reorder:LAYOUT-LAYOUT:SHAPE          reorder:nchw-nhwc:1x64x56x56
//   softmax:SHAPE
//   scratch:BYTES                        takes a block of memory, touches each page, gives it back: scratch:8M
//
// SHAPE is NxCxHxW of the source. Numbers behind '=' are alpha and beta of the operation (rafter/eltwise.h).
#ifndef RAFTER_BENCH_OP_DESCRIPTOR_H_
#define RAFTER_BENCH_OP_DESCRIPTOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "rafter/concat.h"
#include "rafter/eltwise.h"
#include "rafter/pad.h"
#include "rafter/pool.h"
#include "rafter/reorder.h"
#include "rafter/softmax.h"
#include "rafter/status.h"

namespace rafter::bench {

struct ScratchDesc {
  int64_t bytes = 0;
};

// Layouts are those of the run, except for reorders. Factors per channel (prelu, channel_linear) are filled in by the
// runner.
struct OpCase {
  std::string text;
  bool in_place = false;
  std::variant<EltwiseDesc, PoolingDesc, ConcatDesc, PadDesc, ReorderDesc, SoftmaxDesc, ScratchDesc> desc;
};

// Whether `text` begins like one of these notations, so that it is meant as one.
bool LooksLikeOp(std::string_view text) noexcept;

// kInvalidArgument: names the part and what is allowed.
Result<OpCase> ParseOp(std::string_view text);

// Whether the library takes it: the error of its Create. Runs nothing and needs no tensors.
Status CheckOp(const OpCase& op);

// Sets the batch.
void OverrideBatch(OpCase& op, int64_t mb);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_OP_DESCRIPTOR_H_
