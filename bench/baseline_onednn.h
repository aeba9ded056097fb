// bench/baseline_onednn.h: oneDNN as the baseline: forward inference, direct algorithm, f32,
// weights in the order that the primitive asks for, scratchpad given by us, the process's OpenMP
// runtime. Works with oneDNN 2.6 to 3.x; without oneDNN at build time a stub answers kUnsupported.
#ifndef RAFTER_BENCH_BASELINE_ONEDNN_H_
#define RAFTER_BENCH_BASELINE_ONEDNN_H_

#include <memory>

#include "bench/baseline.h"

namespace rafter::bench {

bool OneDnnBuiltIn() noexcept;

// See MakeBaseline.
Result<std::unique_ptr<Baseline>> MakeOneDnnBaseline(Isa isa);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_ONEDNN_H_
