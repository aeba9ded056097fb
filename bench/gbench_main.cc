// bench/gbench_main.cc: the program rafter_gbench, with Google Benchmark's usual flags, e.g.
// --benchmark_list_tests, --benchmark_filter=kernel/direct, --benchmark_format=json.
#include <benchmark/benchmark.h>

#include "bench/gbench_cases.h"
#include "rafter/version.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const auto cases = rafter::bench::EnumerateGbenchCases();
  rafter::bench::RegisterKernelBenchmarks(cases);
  rafter::bench::RegisterOperatorBenchmarks();
  rafter::bench::RegisterCompileBenchmarks(cases);
  benchmark::AddCustomContext("rafter", rafter::Version());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
