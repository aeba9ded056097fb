// jit/post_op_emitter.cc: post-ops are functions of one value each, of which eltwise_emitter has the instructions. With
// the four temporaries that kernels keep free, they are applied to one register at a time.
#include "jit/post_op_emitter.h"

#include "jit/eltwise_emitter.h"
#include "jit/math_emitter.h"

namespace rafter::jit {

namespace {

static_assert(MathTemps(1) <= kPostOpTemps);

EltwiseKind KindOf(PostOpKind kind) {
  switch (kind) {
    case PostOpKind::kRelu: return EltwiseKind::kRelu;
    case PostOpKind::kLeakyRelu: return EltwiseKind::kLeakyRelu;
    case PostOpKind::kClip: return EltwiseKind::kClip;
    case PostOpKind::kHardSwish: return EltwiseKind::kHardSwish;
    case PostOpKind::kHardSigmoid: return EltwiseKind::kHardSigmoid;
    case PostOpKind::kSigmoid: return EltwiseKind::kSigmoid;
    case PostOpKind::kSwish: return EltwiseKind::kSwish;
    case PostOpKind::kTanh: return EltwiseKind::kTanh;
    case PostOpKind::kGelu: return EltwiseKind::kGelu;
    case PostOpKind::kElu: return EltwiseKind::kElu;
    case PostOpKind::kResidualAdd: return EltwiseKind::kAdd;
    case PostOpKind::kChannelScale: return EltwiseKind::kChannelLinear;
  }
  return EltwiseKind::kAdd;
}

}  // namespace

void ApplyPostOp(Assembler& a, PostOpKind kind, std::span<const Xmm> values, const PostOpTemps& temps,
                 const Xbyak::RegExp& params) {
  const EltwiseKind function = KindOf(kind);
  if (!IsUnary(function)) return;
  // Functions that need no more temporaries for many values than for one take all at once.
  const auto count = static_cast<int>(values.size());
  if (EltwiseTemps(function, count) <= kPostOpTemps) {
    return ApplyEltwise(a, function, values, temps, params);
  }
  for (const Xmm& x : values) ApplyEltwise(a, function, {&x, 1}, temps, params);
}

uint64_t PostOpChain(const PostOps& ops) {
  uint64_t chain = 0;
  for (size_t i = 0; i < ops.size(); ++i) chain |= static_cast<uint64_t>(ops[i].kind) << (8 * i);
  return chain;
}

std::string PostOpSuffix(uint64_t chain) {
  std::string suffix;
  ForEachPostOp(chain, [&](int, PostOpKind kind) { suffix += std::string("_") + PostOpName(kind); });
  return suffix;
}

}  // namespace rafter::jit
