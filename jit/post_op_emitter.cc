// jit/post_op_emitter.cc: the instruction sequences of the element-wise post-ops.
//
// vminps and vmaxps return their second source when either is NaN: values always come second.
#include "jit/post_op_emitter.h"

namespace rafter::jit {

namespace {

// x = exp(x) for x clamped to [-87, 88]; t0, t1 are destroyed. Cody-Waite reduction to |r| <= ln2/2 and the
// polynomial of degree 5 from the Cephes library's expf (S. Moshier): about 1 ULP.
void Exp(Assembler& a, const Xmm& x, const Xmm& t0, const Xmm& t1) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves round(n) in the low mantissa bits
  a.vmovups(t0, a.constant(88.0f));
  a.vminps(x, t0, x);
  a.vmovups(t0, a.constant(-87.0f));
  a.vmaxps(x, t0, x);
  a.vmovups(t0, a.constant(kRound));
  a.vfmadd231ps(t0, x, a.constant(1.44269504088896341f));
  a.vsubps(t1, t0, a.constant(kRound));
  a.vfnmadd231ps(x, t1, a.constant(0.693359375f));
  a.vfnmadd231ps(x, t1, a.constant(-2.12194440e-4f));
  a.vpslld(t0, t0, 23);
  a.vpaddd(t0, t0, a.constant_bits(127u << 23));  // 2^n
  a.vmovups(t1, a.constant(1.9875691500e-4f));
  for (float c : {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f, 1.6666665459e-1f,
                  5.0000001201e-1f, 1.0f, 1.0f}) {
    a.vfmadd213ps(t1, x, a.constant(c));
  }
  a.vmulps(x, t1, t0);
}

// x = 1 + exp(-x)
void OnePlusExpOfMinus(Assembler& a, const Xmm& x, const Xmm& t0, const Xmm& t1) {
  a.vxorps(x, x, a.constant_bits(0x80000000u));
  Exp(a, x, t0, t1);
  a.vaddps(x, x, a.constant(1.0f));
}

void Clamp01(Assembler& a, const Xmm& x, const Xmm& t) {
  a.Zero(t);
  a.vmaxps(x, t, x);
  a.vmovups(t, a.constant(1.0f));
  a.vminps(x, t, x);
}

// |x| is cut at 14, where erfc is far below the smallest float, so that infinity does not meet zero.
void AbsCut(Assembler& a, const Xmm& abs, const Xmm& x, const Xmm& t) {
  a.vandps(abs, x, a.constant_bits(0x7fffffffu));
  a.vmovups(t, a.constant(14.0f));
  a.vminps(abs, t, abs);
}

// x = x * Phi(x), Phi by Abramowitz & Stegun 7.1.26 (|error| <= 1.5e-7 in erf): with z = |x|/sqrt2 and
// t = 1/(1 + p z), erfc(z) = poly(t) * exp(-z^2); Phi(x) is erfc(z)/2 for x < 0 and 1 - erfc(z)/2 else.
void Gelu(Assembler& a, const Xmm& x, const PostOpTemps& t) {
  AbsCut(a, t[2], x, t[0]);
  a.vmulps(t[2], t[2], a.constant(0.70710678118654752f));  // z
  a.vmulps(t[3], t[2], t[2]);
  a.vxorps(t[3], t[3], a.constant_bits(0x80000000u));  // -z^2
  Exp(a, t[3], t[0], t[1]);
  a.vmovups(t[0], a.constant(1.0f));
  a.vfmadd132ps(t[2], t[0], a.constant(0.3275911f));  // 1 + p z
  a.vdivps(t[0], t[0], t[2]);
  a.vmovups(t[1], a.constant(1.061405429f));
  for (float c : {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f}) {
    a.vfmadd213ps(t[1], t[0], a.constant(c));
  }
  a.vmulps(t[1], t[1], t[0]);
  a.vmulps(t[1], t[1], t[3]);
  a.vmulps(t[1], t[1], a.constant(0.5f));  // erfc(z) / 2
  // x * Phi(x) = max(x, 0) - |x| * erfc(z)/2
  AbsCut(a, t[2], x, t[0]);
  a.Zero(t[0]);
  a.vmaxps(x, t[0], x);
  a.vfnmadd231ps(x, t[2], t[1]);
}

// x = tanh(x) = 1 - 2 / (exp(2x) + 1). The subtraction keeps the absolute error near 1e-7, not the relative one.
void Tanh(Assembler& a, const Xmm& x, const PostOpTemps& t) {
  a.vaddps(x, x, x);
  Exp(a, x, t[0], t[1]);
  a.vaddps(x, x, a.constant(1.0f));
  a.vmovups(t[0], a.constant(2.0f));
  a.vdivps(x, t[0], x);
  a.vmovups(t[0], a.constant(1.0f));
  a.vsubps(x, t[0], x);
}

void Elu(Assembler& a, const Xmm& x, const PostOpTemps& t, const Xbyak::RegExp& params) {
  a.Zero(t[3]);
  a.vmaxps(t[2], t[3], x);  // positive part
  a.vminps(x, t[3], x);
  Exp(a, x, t[0], t[1]);
  a.vsubps(x, x, a.constant(1.0f));
  a.vbroadcastss(t[0], a.dword[params]);
  a.vfmadd213ps(x, t[0], t[2]);
}

void ApplyOne(Assembler& a, PostOpKind kind, const Xmm& x, const PostOpTemps& t,
              const Xbyak::RegExp& params) {
  const Address alpha = a.dword[params], beta = a.dword[params + 4];
  switch (kind) {
    case PostOpKind::kRelu:
      a.Zero(t[0]);
      a.vmaxps(x, t[0], x);
      break;
    case PostOpKind::kLeakyRelu:  // max(x, 0) + alpha * min(x, 0)
      a.Zero(t[0]);
      a.vminps(t[1], t[0], x);
      a.vmaxps(x, t[0], x);
      a.vbroadcastss(t[2], alpha);
      a.vfmadd231ps(x, t[1], t[2]);
      break;
    case PostOpKind::kClip:
      a.vbroadcastss(t[0], alpha);
      a.vmaxps(x, t[0], x);
      a.vbroadcastss(t[0], beta);
      a.vminps(x, t[0], x);
      break;
    case PostOpKind::kHardSwish:
      a.vmovups(t[1], a.constant(0.5f));
      a.vfmadd231ps(t[1], x, a.constant(1.0f / 6.0f));
      Clamp01(a, t[1], t[0]);
      a.vmulps(x, x, t[1]);
      break;
    case PostOpKind::kHardSigmoid:
      a.vbroadcastss(t[0], alpha);
      a.vbroadcastss(t[1], beta);
      a.vfmadd213ps(x, t[0], t[1]);
      Clamp01(a, x, t[0]);
      break;
    case PostOpKind::kSigmoid:
      OnePlusExpOfMinus(a, x, t[0], t[1]);
      a.vmovups(t[0], a.constant(1.0f));
      a.vdivps(x, t[0], x);
      break;
    case PostOpKind::kSwish:
      // The numerator is cut where the quotient is zero, since Exp never reaches infinity.
      a.vmovups(t[2], a.constant(-1e30f));
      a.vmaxps(t[2], t[2], x);
      a.vbroadcastss(t[0], alpha);
      a.vmulps(x, x, t[0]);
      OnePlusExpOfMinus(a, x, t[0], t[1]);
      a.vdivps(x, t[2], x);
      break;
    case PostOpKind::kTanh: Tanh(a, x, t); break;
    case PostOpKind::kGelu: Gelu(a, x, t); break;
    case PostOpKind::kElu: Elu(a, x, t, params); break;
    case PostOpKind::kResidualAdd:
    case PostOpKind::kChannelScale: break;
  }
}

}  // namespace

void ApplyPostOp(Assembler& a, PostOpKind kind, std::span<const Xmm> values, const PostOpTemps& temps,
                 const Xbyak::RegExp& params) {
  for (const Xmm& x : values) ApplyOne(a, kind, x, temps, params);
}

}  // namespace rafter::jit
