// bench/accuracy.h: rounding errors of the algorithms for one layer against sums in double precision: the figures of
// docs/accuracy.md.
#ifndef RAFTER_BENCH_ACCURACY_H_
#define RAFTER_BENCH_ACCURACY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rafter/conv.h"
#include "rafter/status.h"

namespace rafter::bench {

struct AccuracyOptions {
  std::vector<int64_t> channels = {16, 32, 64, 128, 256, 512};  // input and output alike
  Size2 image{14, 14}, kernel{3, 3};                            // padding kernel / 2, stride 1
  float scale = 1;  // inputs and weights are uniform in (-scale, scale)
  uint64_t seed = 1;
};

// Errors of one algorithm, relative to the root mean square of the exact outputs.
struct AccuracyRow {
  int64_t channels = 0;
  std::string algorithm, isa;
  double max_error = 0, rms_error = 0;
  double rms_ratio = 0;  // rms_error / that of "direct"
};

// "direct", then every algorithm that transforms and takes the layer, for each number of channels. Each row from at
// least 1,000 outputs, for 1,024 channels about 0.2 s. Errors of Conv::Create and Run.
Result<std::vector<AccuracyRow>> MeasureAccuracy(const AccuracyOptions& options);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_ACCURACY_H_
