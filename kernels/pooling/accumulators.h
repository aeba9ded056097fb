// kernels/pooling/accumulators.h: the registers that collect the taps of windows, for all pooling emitters.
#ifndef RAFTER_KERNELS_POOLING_ACCUMULATORS_H_
#define RAFTER_KERNELS_POOLING_ACCUMULATORS_H_

#include <limits>

#include "jit/assembler.h"

namespace rafter::pooling {

// `vecs` accumulators and, for maxima, as many marks of NaN, then temporaries.
class Accumulators {
 public:
  Accumulators(jit::Assembler& a, bool max, int vecs) : a_(a), max_(max), vecs_(vecs) {}

  int vecs() const { return vecs_; }
  jit::Xmm acc(int v) const { return a_.vec(v); }
  // Registers that nothing else uses, from 0 on.
  jit::Xmm temp(int i) const { return a_.vec((max_ ? 2 : 1) * vecs_ + i); }
  static constexpr int kTemps = 4;  // of which Add takes temp(3)

  void Init() {
    for (int v = 0; v < vecs_; ++v) {
      if (max_) {
        a_.vmovups(acc(v), a_.constant(-std::numeric_limits<float>::infinity()));
        a_.Zero(mark(v));
      } else {
        a_.Zero(acc(v));
      }
    }
  }
  // One or, with `second`, two values in registers.
  void Add(int v, const jit::Xmm& value, const jit::Xmm* second = nullptr) {
    if (!max_) {
      a_.vaddps(acc(v), acc(v), value);
      if (second != nullptr) a_.vaddps(acc(v), acc(v), *second);
      return;
    }
    a_.MarkNan(mark(v), value, second != nullptr ? *second : value, temp(3));
    a_.vmaxps(acc(v), acc(v), value);
    if (second != nullptr) a_.vmaxps(acc(v), acc(v), *second);
  }
  // Puts NaN where one was met.
  void Finish() {
    for (int v = 0; max_ && v < vecs_; ++v) a_.vorps(acc(v), acc(v), mark(v));
  }

 private:
  jit::Xmm mark(int v) const { return a_.vec(vecs_ + v); }

  jit::Assembler& a_;
  const bool max_;
  const int vecs_;
};

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_ACCUMULATORS_H_
