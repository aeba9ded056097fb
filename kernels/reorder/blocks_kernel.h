// kernels/reorder/blocks_kernel.h: the generated kernel that moves all channels of a pixel at once between layouts
// whose blocks of channels lie apart on one side or both: the side that has them together is one stream of memory.
//
//   for row in rows                              a pixel
//     for i in blocks:  dst[i * dst_block … + run-1] = src[i * src_block … + run-1]
//     src += src_row_bytes, dst += dst_row_bytes
//
// Rows of any length without blocks: copy_kernel.h.
#ifndef RAFTER_KERNELS_REORDER_BLOCKS_KERNEL_H_
#define RAFTER_KERNELS_REORDER_BLOCKS_KERNEL_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::reorder {

inline constexpr int kMostBlocks = 8;

struct BlocksSpec {
  int32_t isa = 0;     // an Isa other than kNone
  int32_t run = 0;     // floats of a block, 8 or 16
  int32_t blocks = 0;  // 1 … kMostBlocks, but for stretches
  int32_t pairs = 0;   // of rows: dst_row_bytes is that of a run, so that two rows make lines of 8 channels
  // dst_row_bytes is that of a run, and rows of src follow each other without gaps: 512 bytes of a block of dst are
  // stored in one stretch, while as many bytes of src, some KB ahead, are asked for. Rows are taken in groups of 8 or
  // 16 with all blocks in turn, of which BlocksArgs has the number; 0 blocks here, no pairs.
  int32_t stretches = 0;
  // Stores go past the caches: dst is a multiple of 64 bytes, and what is stored one after the other are whole lines.
  // The caller orders the stores (FinishStores in kernels/store_choice.h).
  int32_t non_temporal = 0;
};

struct BlocksArgs {
  const float* src = nullptr;
  float* dst = nullptr;
  int64_t rows = 0;  // at least 1
  int64_t src_row_bytes = 0, dst_row_bytes = 0;
  int64_t src_block_bytes = 0, dst_block_bytes = 0;
  int64_t blocks = 0;  // stretches only, at least 1
};
using BlocksFunction = void(const BlocksArgs*);

Result<jit::KernelPtr> GetBlocksKernel(const BlocksSpec& spec);

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_BLOCKS_KERNEL_H_
