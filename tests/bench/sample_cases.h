// tests/bench/sample_cases.h: results as a run could have them, for the tests of summary and
// reports.
#ifndef RAFTER_TESTS_BENCH_SAMPLE_CASES_H_
#define RAFTER_TESTS_BENCH_SAMPLE_CASES_H_

#include <string>
#include <vector>

#include "bench/case_result.h"

namespace rafter::bench {

inline CaseResult MakeCase(const std::string& name, double bound_us, double time_us) {
  CaseResult result;
  result.descriptor = "mb1ic64ih56oc64oh56kh3ph1";
  result.name = name;
  result.layout = "NHWC";
  result.isa = "avx2";
  result.algorithm = "direct";
  result.kernel = "direct_f32_avx2_px6_oc2v";
  result.time = {time_us,
                 time_us * 0.99,
                 time_us * 0.995,
                 time_us * 1.02,
                 time_us * 0.998,
                 time_us * 1.002,
                 120,
                 3,
                 5,
                 false};
  result.create_us = 61.5;
  result.flops_valid = 2.25e8;
  result.flops_nominal = 2.3e8;
  result.bytes = 1.7e6;
  result.gflops = result.flops_valid / time_us * 1e-3;
  result.bound_us = bound_us;
  result.binding = "compute";
  result.efficiency = bound_us / time_us;
  return result;
}

inline VersusResult MakeVersus(double speedup, const char* verdict) {
  return {"oneDNN", "3.12.1", "brgconv:avx2", "NHWC",         100 * speedup,
          350,      speedup,  speedup - 0.01, speedup + 0.01, verdict};
}

inline std::vector<CaseResult> MakeCases() {
  std::vector<CaseResult> cases = {MakeCase("a", 90, 100),     MakeCase("b", 40, 100),
                                   MakeCase("tiny", 0.5, 1.0), MakeCase("tiny2", 0.5, 2.0),
                                   MakeCase("bad", 1, 1),      MakeCase("unbound", 0, 10)};
  cases[0].vs_same = MakeVersus(1.2, "FASTER");
  cases[0].vs_best = MakeVersus(1.0, "SAME");
  cases[1].vs_same = MakeVersus(0.9, "SLOWER");
  cases[1].vs_best = MakeVersus(0.8, "SLOWER");
  cases[2].vs_same = MakeVersus(1.0, "AMBIGUOUS");
  cases[4].error = "wrong output";
  cases[5].efficiency = 0;
  cases[5].binding = "";
  return cases;
}

}  // namespace rafter::bench

#endif  // RAFTER_TESTS_BENCH_SAMPLE_CASES_H_
