// jit/math_emitter.cc: exp by reduction to |r| <= ln2/2 and a polynomial; everything else through it, except log.
//
// vminps and vmaxps return their second source when either is NaN: values always come second. Coefficients are minimax
// (Remez exchange in double precision, then rounded); their errors stand beside them.
#include "jit/math_emitter.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

namespace rafter::jit {

namespace {

constexpr float kLog2e = 1.44269504088896341f;
constexpr float kLn2 = 0.693147180559945309f;
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;  // high: 9 bits, so n * high is exact
constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the rounded number in the low mantissa bits
constexpr uint32_t kSignBit = 0x80000000u;
// exp(x) is 0 below the first and infinity above the second, once n takes the exponent field to its ends.
constexpr float kExpZero = -88.0f, kExpInfinity = 88.7f;

// exp(r) = 1 + r + r^2 * (c2 + r * (…)), |r| <= ln2/2: relative error 1.05e-7. c5 … c2, then c1.
constexpr std::array kExp = {0.008312491367784317f, 0.041890151429159916f, 0.16667115001444352f, 0.49999231566050467f,
                             1.0f};
// The same, for exp(r) - 1: relative error 1.3e-8 of that. c6 … c2, then c1.
constexpr std::array kExpMinusOne = {0.001394642683585731f, 0.008366571397584182f, 0.041666282466593034f,
                                     0.16666543122687869f, 0.5000000061742821f, 1.0f};
// (log(1 + f) - f + f^2 / 2) / f^3 for 1 + f from sqrt(1/2) to sqrt(2): relative error 6e-9 of log. From the highest.
constexpr std::array kLog = {-0.07635630958725462f, 0.12761671145745943f, -0.13159745229257533f, 0.14201708719768846f,
                             -0.16623403459400096f, 0.20001231461512609f, -0.25000819578105354f,
                             0.3333333160681738f};
// Phi(-a)^(-1/8) = 2^(1/8) + a * polynomial(a), where Phi is the share of x that GELU lets through: a * Phi(-a) is off
// by 9e-9 up to a = 5.6, behind which both are below 1e-7. From the highest down.
constexpr std::array kErfTail = {3.9848580968282477e-07f,  -2.563761654528207e-06f,  1.5950236047501676e-05f,
                                  -1.7586751255294075e-06f,  0.000318771053571254f,  0.0008592146914452314f,
                                  0.009494919329881668f,  0.04880480095744133f,  0.10876327753067017f};

constexpr uint8_t kLessThan = 1, kNotLessThan = 5, kEqual = 0;  // predicates of vcmpps

}  // namespace

void MathEmitter::Horner(Group x, int q, std::span<const float> coefficients) {
  for (const float c : coefficients) {
    a_.vmovups(shared(), a_.constant(c));
    for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, q, i), x[i], shared());
  }
}

void MathEmitter::Reduce(Group x, const Reduction& by) {
  const Xmm c = shared();
  const float round = kRound + by.bias;
  const float first = by.low / by.scale, last = by.high / by.scale;
  a_.vmovups(c, a_.constant(std::max(first, last)));
  for (const Xmm& v : x) a_.vminps(v, c, v);
  a_.vmovups(c, a_.constant(std::min(first, last)));
  for (const Xmm& v : x) a_.vmaxps(v, c, v);
  a_.vmovups(c, a_.constant(by.scale * kLog2e));
  for (size_t i = 0; i < x.size(); ++i) a_.vmovaps(temp(x, 0, i), x[i]);
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 0, i), c, a_.constant(round));
  a_.vmovups(c, a_.constant(round));
  for (size_t i = 0; i < x.size(); ++i) a_.vsubps(temp(x, 1, i), temp(x, 0, i), c);
  const std::array parts = {by.two_parts ? kLn2High : kLn2, kLn2Low};
  for (const float part : std::span(parts).first(by.two_parts ? 2 : 1)) {
    a_.vmovups(c, a_.constant(part / by.scale));
    for (size_t i = 0; i < x.size(); ++i) a_.vfnmadd231ps(x[i], temp(x, 1, i), c);
  }
  for (size_t i = 0; i < x.size(); ++i) a_.vpslld(temp(x, 0, i), temp(x, 0, i), 23);
  // Coefficient k takes the scale k times.
  std::vector<float> coefficients(kExp.begin(), kExp.end());
  if (by.minus_one) coefficients.assign(kExpMinusOne.begin(), kExpMinusOne.end());
  float power = by.factor;
  for (size_t k = coefficients.size(); k-- > 0;) coefficients[k] *= power *= by.scale;
  a_.vmovups(c, a_.constant(coefficients[0]));
  for (size_t i = 0; i < x.size(); ++i) a_.vmovaps(temp(x, 1, i), c);
  Horner(x, 1, std::span(coefficients).subspan(1));
}

void MathEmitter::Exp(Group x) {
  // One exponent less, so that 2^128 is in reach and results below 2^-125.5 become zero; the polynomial makes up.
  Reduce(x, {.low = -87.6f, .high = 88.8f, .factor = 2, .bias = 126, .two_parts = true});
  a_.vmovups(shared(), a_.constant(2.0f));
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 1, i), x[i], shared());
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(x[i], temp(x, 1, i), temp(x, 0, i));
}

void MathEmitter::OnePlusExp(Group x) {
  a_.vmovups(shared(), a_.constant(1.0f));
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 1, i), x[i], shared());
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 1, i), temp(x, 0, i), shared());
}

void MathEmitter::ExpMinusOne(Group x) {
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(temp(x, 1, i), temp(x, 1, i), x[i]);
  // 2^n * (exp(r) - 1) + (2^n - 1): the bracket is exact wherever it matters.
  a_.vmovups(shared(), a_.constant(1.0f));
  for (size_t i = 0; i < x.size(); ++i) a_.vsubps(x[i], temp(x, 0, i), shared());
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 1, i), temp(x, 0, i), x[i]);
}

void MathEmitter::Sigmoid(Group x) {
  Reduce(x, {.low = kExpZero, .high = kExpInfinity, .scale = -1});
  OnePlusExp(x);
  for (size_t i = 0; i < x.size(); ++i) a_.vdivps(x[i], shared(), temp(x, 1, i));  // shared is still 1
}

void MathEmitter::Tanh(Group x) {
  // With m = exp(2x) - 1: tanh = m / (m + 2). Beyond 9.1 it rounds to 1.
  Reduce(x, {.low = -18.2f, .high = 18.2f, .scale = 2, .minus_one = true});
  ExpMinusOne(x);
  a_.vmovups(shared(), a_.constant(2.0f));
  for (size_t i = 0; i < x.size(); ++i) a_.vaddps(x[i], temp(x, 1, i), shared());
  for (size_t i = 0; i < x.size(); ++i) a_.vdivps(x[i], temp(x, 1, i), x[i]);
}

void MathEmitter::DivideByOnePlusExpOfTemp(Group x) {
  std::vector<Xmm> y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back(temp(x, 2, i));
  Reduce(y, {.low = kExpZero, .high = kExpInfinity, .scale = -1});
  OnePlusExp(y);
  // -infinity must not meet an infinite denominator.
  a_.vmovups(shared(), a_.constant(std::numeric_limits<float>::lowest()));
  for (const Xmm& v : x) a_.vmaxps(v, shared(), v);
  for (size_t i = 0; i < x.size(); ++i) a_.vdivps(x[i], x[i], temp(x, 1, i));
}

void MathEmitter::Swish(Group x, const Xbyak::RegExp& alpha) {
  a_.vbroadcastss(shared(), a_.dword[alpha]);
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(temp(x, 2, i), x[i], shared());
  DivideByOnePlusExpOfTemp(x);
}

void MathEmitter::GeluTanh(Group x) {
  // (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y))
  constexpr float kLinear = 1.59576912160573f, kCubic = 0.0713548162726f;  // 2 sqrt(2 / pi), that * 0.044715
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(temp(x, 2, i), x[i], x[i]);
  a_.vmovups(shared(), a_.constant(kCubic));
  for (size_t i = 0; i < x.size(); ++i) a_.vmovups(temp(x, 1, i), a_.constant(kLinear));
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(temp(x, 2, i), shared(), temp(x, 1, i));
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(temp(x, 2, i), temp(x, 2, i), x[i]);
  DivideByOnePlusExpOfTemp(x);
}

void MathEmitter::Gelu(Group x) {
  // x * Phi(x) = max(x, 0) - a * Phi(-a), a = |x|.
  constexpr double kC0 = 1.0905077326652577;  // 2^(1/8)
  constexpr float kCut = 1000.0f;  // the eighth power is infinite from about 16 on: infinity must not meet infinity
  const Xmm c = shared();
  std::vector<Xmm> a, t;
  for (size_t i = 0; i < x.size(); ++i) a.push_back(temp(x, 0, i)), t.push_back(temp(x, 1, i));
  const auto magnitude = [&] {
    a_.vmovups(c, a_.constant_bits(~kSignBit));
    for (size_t i = 0; i < x.size(); ++i) a_.vandps(a[i], x[i], c);
  };
  magnitude();
  a_.vmovups(c, a_.constant(kErfTail[0]));
  for (const Xmm& v : t) a_.vmovaps(v, c);
  for (const float coefficient : std::span(kErfTail).subspan(1)) {
    a_.vmovups(c, a_.constant(coefficient));
    for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(t[i], a[i], c);
  }
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(t[i], t[i], a[i]);
  // (c0 + t)^2 = c0^2 + t * (t + 2 c0), and once more: these keep more digits than squares of rounded sums.
  a_.vmovups(c, a_.constant(static_cast<float>(2 * kC0)));
  for (size_t i = 0; i < x.size(); ++i) a_.vaddps(a[i], t[i], c);
  for (size_t i = 0; i < x.size(); ++i) a_.vmulps(t[i], t[i], a[i]);
  a_.vmovups(c, a_.constant(static_cast<float>(2 * kC0 * kC0)));
  for (size_t i = 0; i < x.size(); ++i) a_.vaddps(a[i], t[i], c);
  a_.vmovups(c, a_.constant(static_cast<float>(kC0 * kC0 * kC0 * kC0)));
  for (size_t i = 0; i < x.size(); ++i) a_.vfmadd213ps(t[i], a[i], c);
  for (const Xmm& v : t) a_.vmulps(v, v, v);
  magnitude();  // again rather than in registers all the while
  a_.vmovups(c, a_.constant(kCut));
  for (const Xmm& v : a) a_.vminps(v, c, v);
  for (size_t i = 0; i < x.size(); ++i) a_.vdivps(t[i], a[i], t[i]);
  a_.Zero(c);
  for (const Xmm& v : x) a_.vmaxps(v, c, v);
  for (size_t i = 0; i < x.size(); ++i) a_.vsubps(x[i], x[i], t[i]);
}

void MathEmitter::Elu(Group x, const Xbyak::RegExp& alpha) {
  a_.Zero(shared());
  for (size_t i = 0; i < x.size(); ++i) a_.vmaxps(temp(x, 2, i), shared(), x[i]);
  for (const Xmm& v : x) a_.vminps(v, shared(), v);
  Reduce(x, {.low = kExpZero, .high = 0.0f, .minus_one = true});
  ExpMinusOne(x);
  a_.vbroadcastss(shared(), a_.dword[alpha]);
  for (size_t i = 0; i < x.size(); ++i) {
    a_.vmovaps(x[i], temp(x, 1, i));
    a_.vfmadd213ps(x[i], shared(), temp(x, 2, i));
  }
}

// x = mantissa - 1 with the mantissa from sqrt(1/2) to sqrt(2), temp 0 = exponent as a float; temp 2 = the input.
void MathEmitter::LogMantissa(Group x) {
  constexpr uint32_t kSqrtHalfBits = 0x3f3504f3u;
  constexpr float kLeastNormal = std::numeric_limits<float>::min();
  const Xmm c = shared();
  for (size_t i = 0; i < x.size(); ++i) {
    const Xmm exponent = temp(x, 0, i), offset = temp(x, 1, i), input = temp(x, 2, i);
    a_.vmovaps(input, x[i]);
    // Denormals are brought into the normal range.
    a_.vmulps(exponent, x[i], a_.constant(8388608.0f));
    a_.Zero(offset);
    a_.SelectWhere(offset, kLessThan, input, a_.constant(kLeastNormal), a_.constant(-23.0f), c);
    a_.SelectWhere(x[i], kLessThan, input, a_.constant(kLeastNormal), exponent, c);
    a_.vpsubd(exponent, x[i], a_.constant_bits(kSqrtHalfBits));
    a_.vpsrad(exponent, exponent, 23);
    a_.vpslld(c, exponent, 23);
    a_.vpsubd(x[i], x[i], c);
    a_.vcvtdq2ps(exponent, exponent);
    a_.vaddps(exponent, exponent, offset);
    a_.vsubps(x[i], x[i], a_.constant(1.0f));
  }
}

void MathEmitter::LogSpecials(Group x) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < x.size(); ++i) {
    const Xmm mask = temp(x, 0, i), input = temp(x, 2, i);
    a_.SelectWhere(x[i], kNotLessThan, input, a_.constant(kInfinity), input, mask);
    a_.SelectWhere(x[i], kLessThan, input, a_.constant(0.0f), a_.constant_bits(0x7fc00000u), mask);
    a_.SelectWhere(x[i], kEqual, input, a_.constant(0.0f), a_.constant(-kInfinity), mask);
  }
}

void MathEmitter::Log(Group x) {
  LogMantissa(x);
  for (size_t i = 0; i < x.size(); ++i) a_.vmovups(temp(x, 1, i), a_.constant(kLog[0]));
  Horner(x, 1, std::span(kLog).subspan(1));
  const float half[] = {-0.5f};
  Horner(x, 1, half);
  // exponent * ln2 + (f + f^2 * (f * p - 1/2)), small parts first
  for (size_t i = 0; i < x.size(); ++i) {
    const Xmm sum = temp(x, 1, i);
    a_.vmulps(sum, sum, x[i]);
    a_.vmulps(sum, sum, x[i]);
    a_.vfmadd231ps(sum, temp(x, 0, i), a_.constant(kLn2Low));
    a_.vaddps(x[i], x[i], sum);
    a_.vfmadd231ps(x[i], temp(x, 0, i), a_.constant(kLn2High));
  }
  LogSpecials(x);
}

}  // namespace rafter::jit
