// cli/roof_bounds.h: bounds of benchmarked cases from the roofs of a machine, with the arithmetic
// peak measured anew beside each case.
//
// The roof that will bind a case, and FMAs that load an operand, are probed between its samples: 25 us each before a
// sample (or a round of a comparison), so that both see the same clock and the same neighbours. The bound counts on the
// share of the day's best that goes with the median time (TimeStats::roof_share).
//
// A probe can only be too low, and a roof that is too low makes a bound that real code beats. Where the case was
// faster than the share allows, and where nothing was probed between samples, the best of probes before and after the
// case counts; low ones are repeated; where all stay far below the day's peak, or below what the case reached, the
// day's peak is used and the case is marked as disturbed. A bandwidth that a case seems to beat is measured again at
// the case's footprint. The day's roofs never fall.
#ifndef RAFTER_CLI_ROOF_BOUNDS_H_
#define RAFTER_CLI_ROOF_BOUNDS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/bounds.h"
#include "roofline/bandwidth_curve.h"
#include "roofline/fma_probe.h"
#include "roofline/level_probe.h"
#include "roofline/machine.h"
#include "roofline/model.h"

namespace rafter::cli {

// Peaks that were measured beside the cases of one set and thread count, GFLOP/s: of each case the
// largest probe.
struct PeakSeries {
  Isa isa = Isa::kNone;
  int threads = 0;
  std::vector<double> gflops;
};

// Which peak bounds a case.
struct PeakChoice {
  double gflops = 0;
  bool disturbed = false;  // the day's peak, not that of the probes
};
// `probed`: the largest probe beside the case, `day`: the day's peak, `lowest`: what the case itself
// reached. 0 = unknown.
PeakChoice ChoosePeak(double probed, double day, double lowest) noexcept;
// The same with what probes between the samples found: `share` of the day's peak, 0 = not probed.
PeakChoice ChoosePeak(double share, double probed, double day, double lowest) noexcept;
// The bound alone: nothing is known of the cores.
bench::BoundResult AsResult(const roofline::Bound& bound);
// Whether another probe might help.
bool ProbeAgain(double probed, double day, double lowest) noexcept;

class RoofBounds : public bench::Bounds {
 public:
  // `fallback` is the set whose roofs bound kernels without vector code.
  RoofBounds(const roofline::Machine& machine, Isa fallback)
      : machine_(machine), fallback_(fallback) {}

  void BeginCase(Isa isa, int threads) override;
  bench::ShareProbe ProbeFor(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                             bench::CacheMode mode) override;
  bench::BoundResult EndCase(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                             const bench::TimeStats& time, bench::CacheMode mode) override;
  bench::ShareProbe ProbeForPass(const bench::PassBytes& bytes, Isa isa, int threads) override;
  bench::BoundResult EndPass(const bench::PassBytes& bytes, Isa isa, int threads,
                             const bench::TimeStats& time) override;

  std::vector<PeakSeries> series() const;
  // Bandwidths that were measured beside cases; a point each.
  const std::vector<roofline::BandwidthCurve>& bandwidths() const { return bandwidths_; }

 private:
  Isa RoofIsa(Isa isa) const { return isa == Isa::kNone ? fallback_ : isa; }
  void Probe(Isa isa, int threads);
  void ProbeSide(Isa isa, int threads);
  double CoreShare(const roofline::FmaPeak& day) const noexcept;
  const roofline::FmaProbe* ProbeOf(Isa isa, roofline::FmaKind kind);
  struct LevelRate {
    std::unique_ptr<roofline::LevelProbe> probe;  // null: cannot be made
    double best_gb_per_s = 0;                     // of the day's curve and of all batches so far
  };
  LevelRate* LevelRateOf(Isa isa, int threads, roofline::Level level, roofline::Mix mix);
  double LevelFootprint(Isa isa, int threads, roofline::Level level, double largest) const;
  bench::ShareProbe MakeProbe(Isa isa, int threads, const roofline::Bound& bound, roofline::Mix mix, bool level_too);
  bench::MachineShare ShareNow(Isa isa, int threads, LevelRate* level);
  void MeasureBandwidthAt(double footprint_bytes, Isa isa, int threads);
  PeakChoice PeakOfCase(roofline::FmaPeak& day, Isa isa, int threads, double reached, double share);
  Result<roofline::Bound> HotOrColdBound(const ConvCost& cost, Isa isa, int threads, bench::CacheMode mode,
                                         double peak_gflops) const;
  Result<roofline::Bound> DirectBound(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                      double time_us, bench::CacheMode mode, double peak_gflops);
  Result<roofline::Bound> OwnBound(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads, double time_us,
                                   bench::CacheMode mode, double peak_gflops);
  Result<roofline::Bound> BoundOfOwn(const ConvCost& cost, const AlgorithmWork& own, Isa isa, int threads,
                                     bench::CacheMode mode, double peak_gflops) const;

  roofline::Machine machine_;  // its roofs rise when something faster is seen
  Isa fallback_;
  // No value: cannot be made.
  std::map<std::pair<Isa, roofline::FmaKind>, std::optional<roofline::FmaProbe>> probes_;
  std::map<std::tuple<Isa, int, roofline::Level, roofline::Mix>, LevelRate> levels_;
  bool compute_probed_ = false, level_probed_ = false;  // what the shares of the current case are of
  double probed_ = 0;                                   // beside the current case
  std::vector<double> loaded_;  // the same with a load per FMA, typical rates before and after it
  std::map<std::pair<Isa, int>, std::vector<double>> peaks_;
  std::set<std::pair<Isa, int>> memory_measured_;  // again, for cold cases that beat it
  std::vector<roofline::BandwidthCurve> bandwidths_;
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_ROOF_BOUNDS_H_
