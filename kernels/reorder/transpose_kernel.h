// kernels/reorder/transpose_kernel.h: the generated kernel behind NCHW ↔ NHWC: transposes up to 8 rows of a
// matrix in blocks of 8 x 8 held in registers. AVX2 code; runs on every supported machine.
#ifndef RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_
#define RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/status.h"

namespace rafter::reorder {

inline constexpr int kTransposeRows = 8;

// dst[j][i] = src[i][j] for i < rows (a property of the kernel), j < columns.
struct TransposeArgs {
  const float* src;
  float* dst;
  int64_t src_row_bytes, dst_row_bytes;
  int64_t columns;                // at least 1
  const int32_t* column_mask;     // 8 lanes, -1 for the first columns % 8
};
using TransposeFunction = void(TransposeArgs*);

// `rows` from 1 to kTransposeRows.
Result<jit::KernelPtr> GetTransposeKernel(int rows);

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_
