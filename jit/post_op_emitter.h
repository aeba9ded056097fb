// jit/post_op_emitter.h: applies element-wise post-ops to registers. Stateless, register-level: it knows
// neither tensors nor tiles (operations that read memory belong to the kernel that knows the addresses).
//
// Accuracy against exact arithmetic (checked by tests/jit/post_op_emitter_test.cc): exp-based functions
// within 3e-7 * max(1, |result|) absolute. NaN passes through every operation.
#ifndef RAFTER_JIT_POST_OP_EMITTER_H_
#define RAFTER_JIT_POST_OP_EMITTER_H_

#include <array>
#include <span>

#include "jit/assembler.h"
#include "rafter/post_ops.h"

namespace rafter::jit {

// Vector registers that an element-wise operation may destroy.
inline constexpr int kPostOpTemps = 4;
using PostOpTemps = std::array<Xmm, kPostOpTemps>;

// Whether ApplyPostOp handles `kind` (the others read tensors).
constexpr bool IsElementwise(PostOpKind kind) {
  return kind != PostOpKind::kResidualAdd && kind != PostOpKind::kChannelScale;
}

// Applies `kind` to each register of `values`. `params` addresses two floats, alpha and beta.
void ApplyPostOp(Assembler& a, PostOpKind kind, std::span<const Xmm> values, const PostOpTemps& temps,
                 const Xbyak::RegExp& params);

}  // namespace rafter::jit

#endif  // RAFTER_JIT_POST_OP_EMITTER_H_
