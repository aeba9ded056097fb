// kernels/softmax/emitter.h: Spec → kernel. The structs and the passes: spec.h.
#ifndef RAFTER_KERNELS_SOFTMAX_EMITTER_H_
#define RAFTER_KERNELS_SOFTMAX_EMITTER_H_

#include "jit/compiled_kernel.h"
#include "kernels/softmax/spec.h"
#include "rafter/status.h"

namespace rafter::softmax {

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec);
Result<jit::KernelPtr> GetPixelKernel(const PixelSpec& spec);

}  // namespace rafter::softmax

#endif  // RAFTER_KERNELS_SOFTMAX_EMITTER_H_
