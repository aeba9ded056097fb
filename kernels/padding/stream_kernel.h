// kernels/padding/stream_kernel.h: the generated kernel for rows with constant borders that follow each other in the
// result without a gap, stored past the caches: the result is one stream of lines. Rows in general, and stores through
// the caches: kernels/reorder/copy_kernel.h.
//
//   for row in rows:  *dst++ = fill, `before` times;  *dst++ = src[0 … run-1];  *dst++ = fill, `after` times
//                     src += src_row_bytes
//
// Lines inside a row are copied directly. A line that two rows or a border share is put together in `seam`, and only
// the first and the last line of the call, where they are not whole, are stored the plain way.
#ifndef RAFTER_KERNELS_PADDING_STREAM_KERNEL_H_
#define RAFTER_KERNELS_PADDING_STREAM_KERNEL_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::padding {

inline constexpr int kLeastStreamRun = 32, kMostStreamBorder = 16;  // floats

struct StreamSpec {
  int32_t isa = 0;                // an Isa other than kNone
  int32_t before = 0, after = 0;  // floats, at most kMostStreamBorder each
};

struct StreamArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t rows = 0;  // at least 1
  int64_t src_row_bytes = 0;
  int64_t run_bytes = 0;  // of a row of the source: a multiple of 4, at least 4 * kLeastStreamRun
  const float* fill = nullptr;
  float* seam = nullptr;  // 64 floats, aligned to 64 bytes
};
using StreamFunction = void(const StreamArgs*);

// The caller orders the stores (FinishStores in kernels/store_choice.h).
Result<jit::KernelPtr> GetStreamKernel(const StreamSpec& spec);

}  // namespace rafter::padding

#endif  // RAFTER_KERNELS_PADDING_STREAM_KERNEL_H_
