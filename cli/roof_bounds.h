// cli/roof_bounds.h: bounds of benchmarked cases from the roofs of a machine, with the arithmetic
// peak measured anew beside each case.
#ifndef RAFTER_CLI_ROOF_BOUNDS_H_
#define RAFTER_CLI_ROOF_BOUNDS_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bench/bounds.h"
#include "roofline/fma_probe.h"
#include "roofline/machine.h"

namespace rafter::cli {

// Peaks that were measured beside the cases of one set and thread count, GFLOP/s.
struct PeakSeries {
  Isa isa = Isa::kNone;
  int threads = 0;
  std::vector<double> gflops;
};

class RoofBounds : public bench::Bounds {
 public:
  // `machine` outlives the bounds. `fallback` is the set whose roofs bound kernels without vector
  // code.
  RoofBounds(const roofline::Machine& machine, Isa fallback)
      : machine_(machine), fallback_(fallback) {}

  void RefreshPeak(Isa isa, int threads) override;
  bench::BoundResult Bound(const ConvCost& cost, Isa isa, int threads) override;

  std::vector<PeakSeries> series() const;

 private:
  Isa RoofIsa(Isa isa) const { return isa == Isa::kNone ? fallback_ : isa; }

  const roofline::Machine& machine_;
  Isa fallback_;
  std::map<Isa, std::optional<roofline::FmaProbe>> probes_;  // no value: cannot be made
  std::map<std::pair<Isa, int>, std::vector<double>> peaks_;
};

}  // namespace rafter::cli

#endif  // RAFTER_CLI_ROOF_BOUNDS_H_
