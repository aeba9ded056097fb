// jit/eltwise_emitter.cc: instructions of functions of one value; the transcendental ones are in math_emitter.cc.
//
// vminps and vmaxps return their second source when either is NaN: values always come second.
#include "jit/eltwise_emitter.h"

#include "jit/math_emitter.h"

namespace rafter::jit {

namespace {

using Group = std::span<const Xmm>;

// x = min(max(x, 0), 1).
void Clamp01(Assembler& a, Group x, const Xmm& zero, const Xmm& one) {
  a.Zero(zero);
  a.vmovups(one, a.constant(1.0f));
  for (const Xmm& v : x) {
    a.vmaxps(v, zero, v);
    a.vminps(v, one, v);
  }
}

void HardSwish(Assembler& a, Group x, Group t) {
  const Xmm share = t[0], half = t[1], zero = t[2], one = t[3];
  a.vmovups(half, a.constant(0.5f));
  a.Zero(zero);
  a.vmovups(one, a.constant(1.0f));
  for (const Xmm& v : x) {
    // Below -3 the share is zero: cut there, so that infinity does not meet it.
    a.vmovups(share, a.constant(-3.0f));
    a.vmaxps(v, share, v);
    a.vmovaps(share, half);
    a.vfmadd231ps(share, v, a.constant(1.0f / 6.0f));
    a.vmaxps(share, zero, share);
    a.vminps(share, one, share);
    a.vmulps(v, v, share);
  }
}

void Linear(Assembler& a, Group x, Group t, const Address& alpha, const Address& beta) {
  a.vbroadcastss(t[0], alpha);
  a.vbroadcastss(t[1], beta);
  for (const Xmm& v : x) a.vfmadd213ps(v, t[0], t[1]);
}

void Clip(Assembler& a, Group x, Group t, const Address& alpha, const Address& beta) {
  a.vbroadcastss(t[0], alpha);
  a.vbroadcastss(t[1], beta);
  for (const Xmm& v : x) {
    a.vmaxps(v, t[0], v);
    a.vminps(v, t[1], v);
  }
}

void LeakyRelu(Assembler& a, Group x, Group t, const Address& alpha) {
  a.vbroadcastss(t[0], alpha);
  a.Zero(t[1]);
  for (const Xmm& v : x) ApplySlope(a, v, t[0], t[2], t[1]);
}

void Relu(Assembler& a, Group x, const Xmm& zero) {
  a.Zero(zero);
  for (const Xmm& v : x) a.vmaxps(v, zero, v);
}

}  // namespace

int EltwiseTemps(EltwiseKind kind, int values) {
  switch (kind) {
    case EltwiseKind::kExp:
    case EltwiseKind::kSigmoid:
    case EltwiseKind::kTanh:
    case EltwiseKind::kGelu: return 2 * values + 1;
    case EltwiseKind::kLog:
    case EltwiseKind::kGeluTanh:
    case EltwiseKind::kSwish:
    case EltwiseKind::kElu: return MathTemps(values);
    default: return 4;
  }
}

void ApplySlope(Assembler& a, const Xmm& x, const Xbyak::Operand& slope, const Xmm& temp, const Xmm& zero) {
  a.vminps(temp, zero, x);
  a.vmaxps(x, zero, x);
  a.vfmadd231ps(x, temp, slope);
}

void ApplyMinMax(Assembler& a, bool max, const Xmm& x, const Xmm& other, const Xmm& temp) {
  // Either order returns its second source when one is NaN: together they have the bits of every NaN, and without one
  // both are the same number.
  if (max) {
    a.vmaxps(temp, x, other);
    a.vmaxps(x, other, x);
  } else {
    a.vminps(temp, x, other);
    a.vminps(x, other, x);
  }
  a.vorps(x, x, temp);
}

void ApplyEltwise(Assembler& a, EltwiseKind kind, Group x, Group t, const Xbyak::RegExp& params) {
  const Address alpha = a.dword[params], beta = a.dword[params + 4];
  MathEmitter math(a, t);
  switch (kind) {
    case EltwiseKind::kRelu: return Relu(a, x, t[0]);
    case EltwiseKind::kLeakyRelu: return LeakyRelu(a, x, t, alpha);
    case EltwiseKind::kClip: return Clip(a, x, t, alpha, beta);
    case EltwiseKind::kAbs:
      a.vmovups(t[0], a.constant_bits(0x7fffffffu));
      for (const Xmm& v : x) a.vandps(v, v, t[0]);
      return;
    case EltwiseKind::kNeg:
      a.vmovups(t[0], a.constant_bits(0x80000000u));
      for (const Xmm& v : x) a.vxorps(v, v, t[0]);
      return;
    case EltwiseKind::kSqrt:
      for (const Xmm& v : x) a.vsqrtps(v, v);
      return;
    case EltwiseKind::kHardSwish: return HardSwish(a, x, t);
    case EltwiseKind::kHardSigmoid:
      Linear(a, x, t, alpha, beta);
      return Clamp01(a, x, t[0], t[1]);
    case EltwiseKind::kLinear: return Linear(a, x, t, alpha, beta);
    case EltwiseKind::kExp: return math.Exp(x);
    case EltwiseKind::kLog: return math.Log(x);
    case EltwiseKind::kSigmoid: return math.Sigmoid(x);
    case EltwiseKind::kTanh: return math.Tanh(x);
    case EltwiseKind::kGelu: return math.Gelu(x);
    case EltwiseKind::kGeluTanh: return math.GeluTanh(x);
    case EltwiseKind::kSwish: return math.Swish(x, params);
    case EltwiseKind::kElu: return math.Elu(x, params);
    default: return;
  }
}

}  // namespace rafter::jit
