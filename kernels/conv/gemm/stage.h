// kernels/conv/gemm/stage.h: a block of pixels of all input planes in rows of a buffer.
//
// Where the planes of many channels lie at multiples of a large power of two from each other, their lines share the
// sets of L1 and L2: no line stays until the neighbouring tile of pixels needs the rest of it, and prefetched lines are
// gone before they are used. Rows of the stage lie an odd number of lines apart, so they never share sets. Long runs of
// each plane are also what memory and address translation deliver fastest.
//
// The next block is copied while the present one is computed: whole lines by the kernel itself, a few at a time, those
// of the next plane are prefetched meanwhile (GemmArgs::copy_from); blocks that end inside of a line, here.
#ifndef RAFTER_KERNELS_CONV_GEMM_STAGE_H_
#define RAFTER_KERNELS_CONV_GEMM_STAGE_H_

#include <cstdint>

#include "kernels/sizes.h"

namespace rafter::gemm {

// Floats from a row of at most `pixels` pixels to the next one: whole lines, an odd number of them.
int64_t StageRow(int64_t pixels);

// The pixels of a block in all input planes.
struct PlaneBlock {
  const float* first = nullptr;  // pixel in the first plane
  int64_t plane_floats = 0, planes = 0, pixels = 0;

  // Lines count from the first pixel of each plane's run, wherever that lies in memory.
  int64_t run_lines() const { return CeilDiv(pixels, kLineFloats); }
  int64_t lines() const { return planes * run_lines(); }
};

// Copies a block to a stage line by line, plane by plane.
class StageCopy {
 public:
  StageCopy(const PlaneBlock& block, int64_t row_floats, float* stage)
      : block_(block), row_floats_(row_floats), stage_(stage) {}

  // The next lines, as far as there are so many.
  void Copy(int64_t lines);
  void CopyRest() { Copy(block_.lines()); }
  // The next lines are there.
  void Skip(int64_t lines);

 private:
  const PlaneBlock block_;
  const int64_t row_floats_;
  float* const stage_;
  int64_t plane_ = 0, pixel_ = 0;  // next to be copied
};

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_STAGE_H_
