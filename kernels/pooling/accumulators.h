// kernels/pooling/accumulators.h: the registers that collect the taps of windows, where channels are in the lanes and
// in the plane kernel.
#ifndef RAFTER_KERNELS_POOLING_ACCUMULATORS_H_
#define RAFTER_KERNELS_POOLING_ACCUMULATORS_H_

#include <limits>

#include "jit/assembler.h"
#include "kernels/pooling/spec.h"

namespace rafter::pooling {

// `vecs` accumulators; for exact maxima as many marks of NaN, for fast ones a few sums of all taps; then temporaries.
class Accumulators {
 public:
  // `sums`: of fast maxima; more of them wait less for each other.
  Accumulators(jit::Assembler& a, Reduction reduction, int vecs, int sums = kSums)
      : a_(a), reduction_(reduction), vecs_(vecs), sums_(sums) {}
  static constexpr int kSums = 4, kFewestSums = 2;

  // Registers that marks or sums take.
  static constexpr int Marks(Reduction reduction, int vecs, int sums = kSums) {
    return reduction == Reduction::kExactMax ? vecs : reduction == Reduction::kFastMax ? sums : 0;
  }

  int vecs() const { return vecs_; }
  bool fast() const { return reduction_ == Reduction::kFastMax; }
  jit::Xmm acc(int v) const { return a_.vec(v); }
  // Registers that nothing else uses, from 0 on.
  jit::Xmm temp(int i) const { return a_.vec(vecs_ + Marks(reduction_, vecs_, sums_) + i); }
  static constexpr int kTemps = 4;  // of which Add takes temp(3)

  // Of fast maxima: once per call, before the first tap and after the last one (destroys temp(0)).
  void InitSums() {
    for (int i = 0; fast() && i < sums_; ++i) a_.Zero(mark(i));
  }
  // The result is in the lowest lane of this register.
  jit::Xmm FinishSums() {
    for (int i = 1; i < sums_; ++i) a_.vaddps(mark(0), mark(0), mark(i));
    for (int lanes = a_.isa().vec_lanes() / 2; lanes >= 1; lanes /= 2) {
      a_.UpperPart(temp(0), mark(0), lanes);
      a_.vaddps(mark(0), mark(0), temp(0));
    }
    return jit::Xmm(mark(0).getIdx());
  }

  void Init() {
    for (int v = 0; v < vecs_; ++v) {
      if (reduction_ == Reduction::kSum) {
        a_.Zero(acc(v));
      } else {
        a_.vmovups(acc(v), a_.constant(-std::numeric_limits<float>::infinity()));
      }
      if (exact()) a_.Zero(mark(v));
    }
  }
  // One or, with `second`, two values in registers.
  void Add(int v, const jit::Xmm& value, const jit::Xmm* second = nullptr) {
    if (exact()) a_.MarkNan(mark(v), value, second != nullptr ? *second : value, temp(3));
    Combine(acc(v), value);
    if (second == nullptr) return Sum(value);
    Combine(acc(v), *second);
    if (fast()) a_.vaddps(temp(3), value, *second);
    Sum(temp(3));
  }
  // acc = acc with the value, marking nothing.
  void Combine(const jit::Xmm& acc, const jit::Xmm& value) {
    if (reduction_ == Reduction::kSum) {
      a_.vaddps(acc, acc, value);
    } else {
      a_.vmaxps(acc, acc, value);
    }
  }
  // Taps, or a sum of some, that fast maxima must add up. The sums take turns: an addition takes 3 or 4 cycles, in
  // which up to 6 taps can be loaded.
  void Sum(const jit::Xmm& value) {
    if (!fast()) return;
    a_.vaddps(mark(next_sum_), mark(next_sum_), value);
    next_sum_ = (next_sum_ + 1) % sums_;
  }
  // Puts NaN where one was met.
  void Finish() {
    for (int v = 0; exact() && v < vecs_; ++v) a_.vorps(acc(v), acc(v), mark(v));
  }

 private:
  bool exact() const { return reduction_ == Reduction::kExactMax; }
  jit::Xmm mark(int v) const { return a_.vec(vecs_ + v); }

  jit::Assembler& a_;
  const Reduction reduction_;
  const int vecs_, sums_;
  int next_sum_ = 0;
};

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_ACCUMULATORS_H_
