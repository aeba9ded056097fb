// bench/baseline_onednn_layout.h: rafter's layouts in oneDNN's terms. For baseline_onednn*.cc only.
#ifndef RAFTER_BENCH_BASELINE_ONEDNN_LAYOUT_H_
#define RAFTER_BENCH_BASELINE_ONEDNN_LAYOUT_H_

#include <oneapi/dnnl/dnnl.hpp>

#include "rafter/tensor.h"

namespace rafter::bench {

inline dnnl::memory::format_tag OneDnnTag(Layout layout) {
  using Tag = dnnl::memory::format_tag;
  switch (layout) {
    case Layout::kNhwc: return Tag::nhwc;
    case Layout::kNchw: return Tag::nchw;
    case Layout::kNchw16c: return Tag::nChw16c;
    case Layout::kNchw8c: return Tag::nChw8c;
  }
  return Tag::undef;
}

}  // namespace rafter::bench

#endif  // RAFTER_BENCH_BASELINE_ONEDNN_LAYOUT_H_
