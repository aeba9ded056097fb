// bench/baseline_onednn_post_ops.h: rafter's post-ops in oneDNN's terms. For baseline_onednn.cc only.
//
// A residual is a tensor of its own there too (binary addition): oneDNN's cheaper "sum" would overwrite it, so that
// every repeated call would compute something else.
#ifndef RAFTER_BENCH_BASELINE_ONEDNN_POST_OPS_H_
#define RAFTER_BENCH_BASELINE_ONEDNN_POST_OPS_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "rafter/post_ops.h"
#include "rafter/status.h"

namespace rafter::bench {

// Whether oneDNN of the version that this was built with has all of them: kUnsupported names the first
// one that it lacks.
Status OneDnnHasPostOps(const PostOps& ops);

// Adds them to `attributes`. `output` is the descriptor of residuals, `channels` that of scales.
void AddOneDnnPostOps(const PostOps& ops, const dnnl::memory::desc& output,
                      const dnnl::memory::desc& channels, dnnl::primitive_attr& attributes);

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_ONEDNN_POST_OPS_H_
