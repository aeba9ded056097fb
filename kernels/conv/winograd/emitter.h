// kernels/conv/winograd/emitter.h: specs → machine code. The code of each kind of kernel: input_emitter.cc,
// product_emitter.cc, output_emitter.cc.
#ifndef RAFTER_KERNELS_CONV_WINOGRAD_EMITTER_H_
#define RAFTER_KERNELS_CONV_WINOGRAD_EMITTER_H_

#include <string>

#include "jit/compiled_kernel.h"
#include "kernels/conv/winograd/spec.h"
#include "rafter/status.h"

namespace rafter::winograd {

// "winograd_input_f32_avx2_4x4", "winograd_product_f32_avx2_px6_oc2v", "winograd_output_f32_avx2_4x4_relu".
std::string KernelName(const InputSpec& spec);
std::string KernelName(const ProductSpec& spec);
std::string KernelName(const OutputSpec& spec);

// From the code cache, compiled when they are not there.
Result<jit::KernelPtr> GetKernel(const InputSpec& spec);
Result<jit::KernelPtr> GetKernel(const ProductSpec& spec);
Result<jit::KernelPtr> GetKernel(const OutputSpec& spec);

}  // namespace rafter::winograd

#endif  // RAFTER_KERNELS_CONV_WINOGRAD_EMITTER_H_
