// kernels/reorder/transpose_kernel.h: the generated kernel behind every change between channels together and columns
// together: transposes up to 16 rows of a matrix, four columns at a time, held in registers.
//
//   for group in groups
//     for j in columns
//       dst[j][0 … rows-1] = src[0 … rows-1][j];  dst[j][rows … rows+zeros-1] = 0
//     src += src_group_bytes, dst += dst_group_bytes
//
// Four floats of a row are loaded at a time, each to its quarter of a register, so that only shuffles within quarters
// are left: four registers make four columns with eight of them.
#ifndef RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_
#define RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::reorder {

inline constexpr int kTransposeRows = 16;

struct TransposeSpec {
  int32_t isa = 0;            // an Isa other than kNone
  int32_t rows = 0;           // 1 … kTransposeRows
  int32_t zeros = 0;          // rows + zeros is at most kTransposeRows
  int32_t few_columns = 0;    // 1 … 3: exactly so many columns; 0: TransposeArgs::columns, at least 4
  int32_t non_temporal = 0;   // rows + zeros is 8 or 16, dst rows start at multiples of as many floats;
                              // the caller orders the stores (FinishStores in kernels/store_choice.h)
  int32_t fetch_rows = 0;     // rows of dst are brought to the cache before they are stored: for rows far apart
};

struct TransposeArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t src_row_bytes = 0, dst_row_bytes = 0;
  int64_t columns = 0;
  int64_t groups = 1;  // at least 1
  int64_t src_group_bytes = 0, dst_group_bytes = 0;
  int64_t back_bytes = 0;  // the kernel's own
};
using TransposeFunction = void(TransposeArgs*);

Result<jit::KernelPtr> GetTransposeKernel(const TransposeSpec& spec);

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_
