// bench/op_runner.h: measures one case of a memory-bound operator: create, verify, then time, alone or against a
// baseline. Convolutions: bench/case_runner.h, which hands such cases over.
#ifndef RAFTER_BENCH_OP_RUNNER_H_
#define RAFTER_BENCH_OP_RUNNER_H_

#include "bench/baseline.h"
#include "bench/bounds.h"
#include "bench/case_result.h"
#include "bench/case_runner.h"
#include "bench/op_descriptor.h"

namespace rafter::bench {

// Fills everything but the description. `bounds` and `baseline` may be null. May throw bad_alloc.
Status RunOpCase(const CaseOptions& options, Bounds* bounds, Baseline* baseline, const OpCase& op, CaseResult& result);

// What describes the case: notation, layout, threads.
void DescribeOpCase(const CaseOptions& options, const OpCase& op, CaseResult& result);

// Time that RunOpCase will need.
double EstimateOpUs(const CaseOptions& options, const OpCase& op) noexcept;

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_OP_RUNNER_H_
