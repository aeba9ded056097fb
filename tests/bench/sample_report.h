// tests/bench/sample_report.h: a whole run as it could be: sample cases under made-up roofs.
#ifndef RAFTER_TESTS_BENCH_SAMPLE_REPORT_H_
#define RAFTER_TESTS_BENCH_SAMPLE_REPORT_H_

#include "bench/report_json.h"
#include "roofline/machine_json.h"
#include "tests/bench/sample_cases.h"

namespace rafter::bench {

// 100 GFLOP/s; loads at 400, 200, 80 and 20 GB/s in L1, L2, L3 and memory.
inline roofline::Roofs SampleRoofs() {
  roofline::Roofs roofs;
  roofs.peaks = {{Isa::kAvx2, 1, 100, 98, 130}};
  roofline::BandwidthCurve curve{Isa::kAvx2, 1, roofline::Mix::kLoad, false, {}};
  for (const auto& [footprint, rate] : {std::pair{16e3, 400.0}, {256e3, 200.0}, {4e6, 80.0}, {256e6, 20.0}}) {
    curve.points.push_back({footprint, rate, rate});
  }
  roofs.curves = {curve};
  const roofline::LevelCapacities caches{32 << 10, 512 << 10, 32 << 20};
  roofs.levels = {{Isa::kAvx2, 1, caches, caches}};
  roofs.clock = {3.5, 3.5, 3.5};
  return roofs;
}

inline Report SampleReport() {
  Report report;
  report.environment = {{"date", "2025-03-01T00:00:00Z"}, {"cpu", {{"model_name", "Sample CPU"}}}};
  report.environment["roofs"] = roofline::RoofsToJson(SampleRoofs());
  report.cases = MakeCases();
  return report;
}

}  // namespace rafter::bench

#endif  // RAFTER_TESTS_BENCH_SAMPLE_REPORT_H_
