// bench/baseline_self.h: rafter as its own competitor: the same plan with other packed weights in the same
// buffers. What differs from 1 in such a comparison is the error of the method (`rafter bench --vs self`).
#ifndef RAFTER_BENCH_BASELINE_SELF_H_
#define RAFTER_BENCH_BASELINE_SELF_H_

#include <memory>

#include "bench/baseline.h"

namespace rafter::bench {

std::unique_ptr<Baseline> MakeSelfBaseline();

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_SELF_H_
