// kernels/conv/depthwise/copy.h: copies a few lines of each of many pixels from one distance to
// another; generated, since the library's own code may not assume vector instructions.
#ifndef RAFTER_KERNELS_CONV_DEPTHWISE_COPY_H_
#define RAFTER_KERNELS_CONV_DEPTHWISE_COPY_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::depthwise {

struct CopyArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t src_step = 0, dst_step = 0;  // bytes between pixels
  int64_t pixels = 0;                  // at least 1
};

using CopyFunction = void(const CopyArgs*);

// `bytes` per pixel, a multiple of 64; from the code cache.
Result<jit::KernelPtr> GetCopyKernel(Isa isa, int64_t bytes);

}  // namespace rafter::depthwise

#endif  // RAFTER_KERNELS_CONV_DEPTHWISE_COPY_H_
