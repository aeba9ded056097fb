// kernels/eltwise/emitter.h: Spec → kernel. The structs and the loops: spec.h.
#ifndef RAFTER_KERNELS_ELTWISE_EMITTER_H_
#define RAFTER_KERNELS_ELTWISE_EMITTER_H_

#include "jit/compiled_kernel.h"
#include "kernels/eltwise/spec.h"
#include "rafter/status.h"

namespace rafter::eltwise {

// Vectors of a unit and of a group.
int UnitVecs(const Spec& spec);
int GroupVecs(const Spec& spec);

// "eltwise_f32_avx2_relu_add".
std::string KernelName(const Spec& spec);

Result<jit::KernelPtr> GetKernel(const Spec& spec);

}  // namespace rafter::eltwise

#endif  // RAFTER_KERNELS_ELTWISE_EMITTER_H_
