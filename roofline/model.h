// roofline/model.h: the least time in which a machine can do a piece of work, and what binds it.
//
//   bound = max(valid FLOPs / peak of the ISA used, Q / B(mix, Q))
//
// Q: compulsory bytes. B(mix, Q): measured bandwidth at the footprint Q (WindowMaximum) for the
// work's own mix of loads and stores. Calls and fork-joins are never part of a bound; bias and
// post-ops are never part of its FLOPs. Efficiency = bound / time; more than 103 % means that bound
// or time is wrong.
#ifndef RAFTER_ROOFLINE_MODEL_H_
#define RAFTER_ROOFLINE_MODEL_H_

#include <cstdint>

#include "rafter/cost.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "roofline/machine.h"

namespace rafter::roofline {

struct Work {
  double flops = 0;                        // valid ones
  double load_bytes = 0, store_bytes = 0;  // compulsory, each byte once
  bool in_place = false;  // the output overwrites the input: read and written at the same address
};

// Source, weights and residuals are loaded, the destination is stored.
Work WorkOf(const ConvCost& cost) noexcept;

enum class Binding : uint8_t { kCompute, kL1, kL2, kL3, kDram };
// "compute", "L1", "L2", "L3", "DRAM".
const char* BindingName(Binding binding) noexcept;

struct Bound {
  double bound_us = 0;  // max of the next two
  double compute_us = 0, memory_us = 0;
  Binding binding = Binding::kCompute;
  Level level = Level::kDram;  // which level Q fits into, whatever binds
  double peak_gflops = 0;      // used for compute_us
  double gb_per_s = 0;         // B(mix, Q), used for memory_us
  double bytes = 0;            // Q
  double intensity = 0;        // FLOP/byte; 0 without bytes
  double ridge = 0;            // peak / B(mix, Q): where both times are equal, FLOP/byte
};

// `peak_gflops_now`: the peak measured just beside the case (FmaProbe), which replaces the stored
// one; 0 = the stored one. kInvalidArgument: no roofs for this ISA and thread count (says which
// exist), or negative or non-finite work.
Result<Bound> BoundOf(const Machine& machine, Isa isa, int threads, const Work& work,
                      double peak_gflops_now = 0);

// A footprint that no cache of `threads` threads holds, and at least `bytes`.
double FootprintInMemory(const Machine& machine, Isa isa, int threads, double bytes);

// The bound when caches do not hold everything: with `weights_only` the weights come from memory and the rest from
// wherever its own footprint fits (the two streams one after the other), else everything comes from memory.
Result<Bound> ColdBoundOf(const Machine& machine, Isa isa, int threads, const ConvCost& cost, bool weights_only,
                          double peak_gflops_now = 0);
// The same of an algorithm that does something else than the direct sum: what it loads beyond source and residuals are
// its packed weights.
Result<Bound> ColdBoundOf(const Machine& machine, Isa isa, int threads, const ConvCost& cost, const AlgorithmWork& work,
                          bool weights_only, double peak_gflops_now = 0);

// The bound of an algorithm that does something else than the direct sum: its own FLOPs, its compulsory bytes with the
// weights as they are packed, and its intermediates, copied once at the footprint of a block. Its `bytes` are the
// compulsory ones.
Result<Bound> BoundOf(const Machine& machine, Isa isa, int threads, const AlgorithmWork& work,
                      double peak_gflops_now = 0);

// B(mix, Q) in GB/s for a work's own mix. The time per byte is interpolated linearly over the share
// of stores between the two nearest measured mixes (load 0, 2:1 1/3, copy 1/2, store 1): adding
// times of pure loads and pure stores would be pessimistic, as they overlap. In-place work has its
// own curve. Where curves with non-temporal stores exist the faster of both counts: a roof is what
// no kernel can beat. 0 when there is no curve for the ISA and thread count.
double MixBandwidth(const Roofs& roofs, Isa isa, int threads, double store_share,
                    double footprint_bytes, bool in_place = false) noexcept;

// Peak / load bandwidth in the plateau of a level: FLOP/byte above which compute binds. 0 =
// unknown.
double RidgePoint(const Roofs& roofs, Isa isa, int threads, Level level,
                  Mix mix = Mix::kCopy) noexcept;

// Bandwidth of a mix within a level, GB/s: the largest value of its stretch of the curve, from twice the level before
// on. 0 = unknown.
double LevelBandwidth(const Roofs& roofs, Isa isa, int threads, Level level, Mix mix) noexcept;

// bound / time; 0 when no time was measured.
inline double Efficiency(double bound_us, double time_us) noexcept {
  return time_us > 0 ? bound_us / time_us : 0;
}
// A result that cannot be true: more than 3 % faster than its bound. To be shown as it is, with
// this flag.
inline bool OverRoof(double bound_us, double time_us) noexcept {
  return time_us > 0 && bound_us > 1.03 * time_us;
}

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_MODEL_H_
