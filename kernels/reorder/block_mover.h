// kernels/reorder/block_mover.h: pixels whose channels lie in whole blocks of 8 or 16 on both sides, moved up to
// kMostBlocks blocks at a time: the copier's way between NHWC and blocked layouts, and between blocks of 8 and 16.
#ifndef RAFTER_KERNELS_REORDER_BLOCK_MOVER_H_
#define RAFTER_KERNELS_REORDER_BLOCK_MOVER_H_

#include <array>
#include <cstdint>
#include <string>

#include "jit/compiled_kernel.h"
#include "kernels/reorder/blocks_kernel.h"
#include "rafter/cpu.h"
#include "rafter/status.h"

namespace rafter::reorder {

class BlockMover {
 public:
  // Where blocks lie, in floats. A period has one block (`along_periods`: blocks that are moved together are those of
  // neighbouring periods) or two.
  struct Places {
    int64_t run = 0;  // floats of a block
    bool along_periods = true;
    int64_t src_pixel = 0, dst_pixel = 0;
    int64_t src_period = 0, dst_period = 0;
    int64_t src_block = 0, dst_block = 0;  // from block to block of those that are moved together
    bool past_caches = false;              // rows, images and pieces of dst begin at the same place of a line
  };

  // `periods`: the numbers that Run will be given; 0 is ignored. kUnsupported where executable memory is refused.
  static Result<BlockMover> Make(Isa isa, const Places& places, std::array<int64_t, 2> periods);

  // From the first channel of the first pixel on. `aligned`: dst, but for the pixel, is where a line begins.
  void Run(const float* src, float* dst, int64_t periods, int64_t pixels, bool aligned) const noexcept;
  const std::string& kernel_name() const noexcept { return kernels_[most_].plain->name(); }

 private:
  struct Kernels {
    jit::KernelPtr plain, past_caches;  // past_caches may be null
  };

  Status Get(Isa isa, size_t blocks);
  Status GetStretches(Isa isa, int64_t blocks);

  Places places_;
  size_t most_ = 1;                               // blocks moved together
  std::array<Kernels, kMostBlocks + 1> kernels_;  // by blocks
  jit::KernelPtr stretches_;  // all blocks of pixels, past the caches; may be null
};

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_BLOCK_MOVER_H_
