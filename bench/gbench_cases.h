// bench/gbench_cases.h: what rafter_gbench runs: for each algorithm of the library and each
// instruction set of the machine a few layers that it takes. A new algorithm appears by itself; one
// that takes none of the layers is caught by a test (tests/cli/gbench_test.py).
#ifndef RAFTER_BENCH_GBENCH_CASES_H_
#define RAFTER_BENCH_GBENCH_CASES_H_

#include <string>
#include <vector>

#include "rafter/conv.h"
#include "rafter/cpu.h"
#include "rafter/status.h"
#include "roofline/machine.h"

namespace rafter::bench {

struct GbenchCase {
  std::string algorithm;
  Isa isa = Isa::kNone;  // that the kernel uses
  std::string descriptor;
  ConvDesc desc;

  // "direct/avx2/NHWC/mb1ic64ih56oc64oh56kh3ph1"
  std::string name() const;
  // With the process capped to `isa`; one thread.
  Result<Conv> Create() const;
};

// Roofs of the day, measured roughly when there are none. Null where they cannot be measured.
const roofline::Machine* MachineWithRoofs();

// Deterministic; measures nothing.
std::vector<GbenchCase> EnumerateGbenchCases();

// Each kernel with the counters bound_us, %bound and GFLOP/s.
void RegisterKernelBenchmarks(const std::vector<GbenchCase>& cases);
// The operators beside convolution, with the counters bound_us, %bound and GB/s.
void RegisterOperatorBenchmarks();
// Creation with an empty code cache and with its kernels cached.
void RegisterCompileBenchmarks(const std::vector<GbenchCase>& cases);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_GBENCH_CASES_H_
