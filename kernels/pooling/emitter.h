// kernels/pooling/emitter.h: Spec → kernel. The structs and the loops: spec.h.
#ifndef RAFTER_KERNELS_POOLING_EMITTER_H_
#define RAFTER_KERNELS_POOLING_EMITTER_H_

#include "jit/compiled_kernel.h"
#include "kernels/pooling/spec.h"
#include "rafter/status.h"

namespace rafter::pooling {

// Vectors of a channel group at most, as registers allow.
int MostVecs(Isa isa, Reduction reduction);

Result<jit::KernelPtr> GetChannelKernel(const ChannelSpec& spec);
Result<jit::KernelPtr> GetRowsKernel(const RowsSpec& spec);
Result<jit::KernelPtr> GetPlaneKernel(const PlaneSpec& spec);
// Of averages, with a count and dst_plane_step of one float.
Result<jit::KernelPtr> GetPlaneGroupKernel(const PlaneSpec& spec);

}  // namespace rafter::pooling

#endif  // RAFTER_KERNELS_POOLING_EMITTER_H_
