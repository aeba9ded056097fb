// kernels/reorder/transpose_kernel.h: the generated kernel behind every change between channels together and columns
// together: transposes up to 16 rows of a matrix, four columns at a time, held in registers.
//
//   for sweep in sweeps                                       one, but for kernels that fetch ahead
//     for group in groups
//       for j in columns
//         dst[j][0 … rows-1] = src[0 … rows-1][j];  dst[j][rows … rows+zeros-1] = 0
//       src += src_group_bytes, dst += dst_group_bytes
//     src += src_sweep_bytes, dst += dst_sweep_bytes
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
  // What will be read later comes to the cache meanwhile: 256 bytes for each four columns of a group, as many as those
  // read; and, but for non_temporal, the next line of each row of dst. In bursts, or all lines of a piece before its
  // work, half of the bandwidth of the memory is lost. Not with fetch_rows.
  int32_t fetch_ahead = 0;
};

struct TransposeArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t src_row_bytes = 0, dst_row_bytes = 0;
  int64_t columns = 0;
  int64_t groups = 1;  // at least 1
  int64_t src_group_bytes = 0, dst_group_bytes = 0;
  int64_t back_bytes = 0;  // the kernel's own
  // fetch_ahead only:
  const void* ahead = nullptr;   // any address
  int64_t ahead_step_bytes = 0;  // from one to the next 256 bytes
  int64_t sweeps = 1;            // at least 1
  int64_t src_sweep_bytes = 0, dst_sweep_bytes = 0;
  int64_t sweep_groups = 0;      // groups once more
};
using TransposeFunction = void(TransposeArgs*);

Result<jit::KernelPtr> GetTransposeKernel(const TransposeSpec& spec);

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_TRANSPOSE_KERNEL_H_
