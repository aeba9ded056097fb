// roofline/peaks.h: all limits of this machine in one measurement: FMA peaks, bandwidth curves,
// clock, fork-join cost. Each kind has its own probe (fma_probe.h, bandwidth_probe.h,
// clock_probe.h, fork_join_probe.h); machine.h keeps the results for the day.
#ifndef RAFTER_ROOFLINE_PEAKS_H_
#define RAFTER_ROOFLINE_PEAKS_H_

#include <functional>
#include <string>
#include <vector>

#include "rafter/cpu.h"
#include "rafter/status.h"
#include "rafter/threads.h"
#include "roofline/bandwidth_curve.h"
#include "roofline/clock_probe.h"
#include "roofline/fork_join_probe.h"
#include "roofline/plateaus.h"

namespace rafter::roofline {

struct FmaPeak {
  Isa isa = Isa::kNone;         // kNone: whatever set (data sheets)
  int threads = 0;              // 0: the whole machine (data sheets)
  double gflops = 0;            // FMAs on registers: the roof
  double with_load_gflops = 0;  // each FMA with one load from L1; 0 = not measured
  double with_add_gflops = 0;   // FMAs and additions side by side; 0 = not measured
};

// Little's law: throughput over the number of independent FMA chains, one thread.
struct ChainPeak {
  Isa isa = Isa::kNone;
  int chains = 0;
  double gflops = 0;
};

// Which footprints the caches serve for a thread count, from that count's load curve.
struct LevelEnds {
  Isa isa = Isa::kNone;
  int threads = 0;
  LevelCapacities measured;   // 0 where the curve shows no edge
  LevelCapacities effective;  // cross-checked with the reported sizes: what `binding` uses
};

struct Roofs {
  bool quick = false;  // fewer, shorter samples
  std::vector<FmaPeak> peaks;
  std::vector<ChainPeak> chains;
  std::vector<BandwidthCurve> curves;
  std::vector<LevelEnds> levels;
  ClockEstimate clock;
  std::vector<ForkJoinCost> fork_joins;
};

struct RoofOptions {
  std::vector<Isa> isas;  // empty: every set up to EffectiveIsa()
  std::vector<int> threads{1};
  bool quick = false;             // about 2 s per ISA and thread count instead of about 6 s
  ParallelFor* pool = nullptr;    // null: OpenMpThreads()
  LevelCapacities reported;       // of one core, from topology; decides how far the sweep goes
  double memory_limit_bytes = 0;  // largest arena; 0 = 1 GiB
  // Called with what is measured and the fraction done (0 … 1), on the calling thread and between
  // measurements; may be empty, may throw to end the work.
  std::function<void(const std::string& what, double done)> progress;
  // Called more often, between the batches of a probe: on a busy machine a single point may take seconds. Must be
  // quick; may be empty, may throw to end the work.
  std::function<void()> poll;
};

// Measures everything for all pairs of `isas` and `threads`, narrow sets first (on some cores
// 512-bit code lowers the clock for a while). kUnsupported: the machine has no supported set, or
// executable memory is refused; kInvalidArgument: threads below 1 or beyond the pool's.
Result<Roofs> MeasureRoofs(const RoofOptions& options);

// The peak or curve for exactly this ISA and thread count, or one from a data sheet that fits
// everything; null when there is none.
const FmaPeak* FindPeak(const Roofs& roofs, Isa isa, int threads) noexcept;
const BandwidthCurve* FindCurve(const Roofs& roofs, Isa isa, int threads, Mix mix,
                                bool non_temporal = false) noexcept;
const LevelEnds* FindLevels(const Roofs& roofs, Isa isa, int threads) noexcept;

// Adds what `from` has to `into`; for the same ISA and thread count `from` wins.
void MergeRoofs(const Roofs& from, Roofs& into);

}  // namespace rafter::roofline

#endif  // RAFTER_ROOFLINE_PEAKS_H_
