// bench/baseline_self.h: rafter as its own competitor: the same calls on the same memory. What differs from 1 in such
// a comparison is the error of the method (`rafter bench --vs self`). With a factor each call is followed by waiting
// until it took that many times as long: a difference that is known, which the verdicts must find (`--vs self:1.05`).
#ifndef RAFTER_BENCH_BASELINE_SELF_H_
#define RAFTER_BENCH_BASELINE_SELF_H_

#include <memory>
#include <optional>
#include <string_view>

#include "bench/baseline.h"

namespace rafter::bench {

// `slowdown` is at least 1.
std::unique_ptr<Baseline> MakeSelfBaseline(double slowdown = 1);

// The factor in "self" (1) and "self:1.05"; nothing for other names and for factors outside of 1 to 100.
std::optional<double> SelfSlowdown(std::string_view name);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_SELF_H_
