// jit/math_emitter.h: transcendental functions on groups of vector registers. Stateless, register-level.
//
// A group shares every load of a constant and its members hide each other's latencies; the result of a value does not
// depend on the group. Errors against exact arithmetic over all 2^32 inputs are in docs/operators.md (at most 4 ULP or
// 1e-7 absolute; checked by tests/jit/eltwise_emitter_test.cc). NaN passes through; so do limits at infinity.
#ifndef RAFTER_JIT_MATH_EMITTER_H_
#define RAFTER_JIT_MATH_EMITTER_H_

#include <span>

#include "jit/assembler.h"

namespace rafter::jit {

// Registers that functions may destroy, for a group of `values`.
inline constexpr int MathTemps(int values) { return 3 * values + 1; }

class MathEmitter {
 public:
  // `temps`: at least MathTemps(size of the largest group).
  MathEmitter(Assembler& a, std::span<const Xmm> temps) : a_(a), temps_(temps) {}

  using Group = std::span<const Xmm>;
  void Exp(Group x);
  void Log(Group x);
  void Sigmoid(Group x);
  void Tanh(Group x);
  void Gelu(Group x);      // by erf
  void GeluTanh(Group x);
  // `alpha` addresses a float.
  void Swish(Group x, const Xbyak::RegExp& alpha);
  void Elu(Group x, const Xbyak::RegExp& alpha);

 private:
  // How exp(scale * x) is reduced: x is clamped so that scale * x lies within low … high; 2^n as floating-point bits is
  // made with the exponent bias, and ln2 is subtracted in one or in two parts. The polynomial is for factor * exp.
  struct Reduction {
    float low, high;
    float scale = 1, factor = 1, bias = 127;
    bool two_parts = false;
    bool minus_one = false;  // the polynomial is to be accurate for exp - 1
  };
  Xmm temp(Group x, int which, size_t i) const {
    return temps_[1 + static_cast<size_t>(which) * x.size() + i];
  }
  Xmm shared() const { return temps_[0]; }

  // x = r, temp 0 = 2^n, temp 1 = factor * (exp(scale * r) - 1) / r, with exp(scale * x) = 2^n * exp(scale * r).
  void Reduce(Group x, const Reduction& by);
  // From that: temp 1 = 1 + exp(scale * x).
  void OnePlusExp(Group x);
  // From Reduce: temp 1 = exp(scale * x) - 1, without cancellation.
  void ExpMinusOne(Group x);
  // x = max(x, lowest) / (1 + exp(-temp 2)).
  void DivideByOnePlusExpOfTemp(Group x);
  // q = q * x + c for each coefficient.
  void Horner(Group x, int q, std::span<const float> coefficients);
  void LogMantissa(Group x);
  void LogSpecials(Group x);

  Assembler& a_;
  std::span<const Xmm> temps_;
};

}  // namespace rafter::jit

#endif  // RAFTER_JIT_MATH_EMITTER_H_
