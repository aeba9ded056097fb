// jit/post_op_emitter.h: applies element-wise post-ops to registers. Stateless, register-level: it knows
// neither tensors nor tiles (operations that read memory belong to the kernel that knows the addresses).
//
// Accuracy against exact arithmetic (checked by tests/jit/post_op_emitter_test.cc): exp-based functions
// within 3e-7 * max(1, |result|) absolute. NaN passes through every operation.
#ifndef RAFTER_JIT_POST_OP_EMITTER_H_
#define RAFTER_JIT_POST_OP_EMITTER_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>

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

// --- chains, as specifications of kernels hold them: PostOpKind, 8 bits each, the first operation lowest; 0 ends ---

uint64_t PostOpChain(const PostOps& ops);
// "_residual_relu": the end of kernels' names.
std::string PostOpSuffix(uint64_t chain);

// Calls visit(index, kind) for each operation.
template <typename Visit>
void ForEachPostOp(uint64_t chain, const Visit& visit) {
  int op = 0;
  for (; chain != 0; chain >>= 8, ++op) visit(op, static_cast<PostOpKind>(chain & 0xff));
}

// Applies a chain to each register of `values`. `params` holds the address of {alpha, beta} per operation; `scratch` is
// destroyed. What reads tensors is left to the kernel: add_residual(index), scale_channels(index), in their places.
template <typename AddResidual, typename ScaleChannels>
void ApplyPostOps(Assembler& a, uint64_t chain, std::span<const Xmm> values, const PostOpTemps& temps,
                  const Reg64& scratch, const Address& params, const AddResidual& add_residual,
                  const ScaleChannels& scale_channels) {
  ForEachPostOp(chain, [&](int op, PostOpKind kind) {
    if (kind == PostOpKind::kResidualAdd) return add_residual(op);
    if (kind == PostOpKind::kChannelScale) return scale_channels(op);
    a.mov(scratch, params);
    ApplyPostOp(a, kind, values, temps, scratch + op * 2 * static_cast<int>(sizeof(float)));
  });
}

}  // namespace rafter::jit

#endif  // RAFTER_JIT_POST_OP_EMITTER_H_
