// jit/eltwise_emitter.h: applies functions of one value to registers: the activations of element-wise chains and of
// post-ops. Register-level: it knows neither tensors nor tiles (what reads channels or other tensors belongs to the
// kernel that knows the addresses).
#ifndef RAFTER_JIT_ELTWISE_EMITTER_H_
#define RAFTER_JIT_ELTWISE_EMITTER_H_

#include <span>

#include "jit/assembler.h"
#include "rafter/eltwise.h"

namespace rafter::jit {

// Whether ApplyEltwise handles `kind` (the others read channel values or tensors).
constexpr bool IsUnary(EltwiseKind kind) {
  return !IsBinary(kind) && kind != EltwiseKind::kPrelu && kind != EltwiseKind::kChannelLinear;
}

// Vector registers that `kind` destroys beside a group of `values`.
int EltwiseTemps(EltwiseKind kind, int values);

// Applies `kind` to each register of `values`. `params` addresses two floats, alpha and beta.
void ApplyEltwise(Assembler& a, EltwiseKind kind, std::span<const Xmm> values, std::span<const Xmm> temps,
                  const Xbyak::RegExp& params);

// x = min or max of x and `other` (destroyed): NaN if either is.
void ApplyMinMax(Assembler& a, bool max, const Xmm& x, const Xmm& other, const Xmm& temp);

// x = max(x, 0) + slope * min(x, 0). `temp`: destroyed.
void ApplySlope(Assembler& a, const Xmm& x, const Xbyak::Operand& slope, const Xmm& temp, const Xmm& zero);

}  // namespace rafter::jit

#endif  // RAFTER_JIT_ELTWISE_EMITTER_H_
