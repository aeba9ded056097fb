// bench/baseline_onednn_ops.h: the memory-bound operators of oneDNN as baselines: eltwise, binary, concat, pooling,
// reorder, softmax, each in the layout and on the tensors of the case. oneDNN 3 only.
#ifndef RAFTER_BENCH_BASELINE_ONEDNN_OPS_H_
#define RAFTER_BENCH_BASELINE_ONEDNN_OPS_H_

#include <memory>

#include "bench/baseline.h"

namespace rafter::bench {

// kUnsupported for what oneDNN does not have (padding) or is not compared (chains, per-channel factors).
Result<std::unique_ptr<BaselineRun>> PrepareOneDnnOp(const OpRequest& request);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_ONEDNN_OPS_H_
