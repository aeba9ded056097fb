// roofline/fma_probe.h: how many FLOPs per second the multipliers can really do: JIT'ed chains of
// dependent FMAs on registers, with enough chains to hide the latency.
//
// Cheap enough (0.5 ms) to be repeated around every group of benchmark cases: efficiency then uses
// the peak at that moment, and a wandering clock cancels out.
#ifndef RAFTER_ROOFLINE_FMA_PROBE_H_
#define RAFTER_ROOFLINE_FMA_PROBE_H_

#include <cstdint>
#include <utility>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/threads.h"

namespace rafter::roofline {

enum class FmaKind : uint8_t {
  kFma,          // the roof of a convolution
  kFmaWithLoad,  // one operand of each FMA comes from L1: what a real inner loop can hope for
  kFmaWithAdd,   // FMAs and additions side by side: higher only where adders are separate
};

// Chains that reach the peak on every known core: 12 with 16 registers, 24 with 32.
int FullChains(Isa isa) noexcept;

class FmaProbe {
 public:
  // `chains` independent accumulators, 1 … 14 (AVX2) or 1 … 28 (AVX-512); 0 = FullChains(isa).
  // kUnsupported: the machine lacks the set, or executable memory is refused. kInvalidArgument:
  // chains.
  static Result<FmaProbe> Create(Isa isa, FmaKind kind = FmaKind::kFma, int chains = 0);

  // GFLOP/s of the calling thread: the best of short batches (about 25 µs each) within `budget_us`.
  // Runs with denormals flushed; restores the mode.
  double Measure(double budget_us) const noexcept;

  // The same on `threads` threads of `pool` at the same time (not one thread's figure times n:
  // clocks and SMT siblings differ). Never more than pool.concurrency() threads are used.
  double Measure(ParallelFor& pool, int threads, double budget_us) const noexcept;

  // The median of the batches instead of the best: below Measure() by what others take of the cores at the moment.
  double MeasureTypical(ParallelFor& pool, int threads, double budget_us) const noexcept;

 private:
  FmaProbe(jit::KernelPtr kernel, double flops_per_round) noexcept
      : kernel_(std::move(kernel)), flops_per_round_(flops_per_round) {}

  void RunRounds(int64_t rounds) const noexcept;
  int64_t RoundsFor(double batch_us) const noexcept;
  // The given quantile of the batches' rates; 1: the best.
  double Rate(ParallelFor* pool, int threads, double budget_us, double quantile) const noexcept;

  jit::KernelPtr kernel_;
  double flops_per_round_;  // FLOPs of one round of the kernel's loop
};

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_FMA_PROBE_H_
