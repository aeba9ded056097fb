// kernels/conv/gemm/stage.cc
#include "kernels/conv/gemm/stage.h"

#include <algorithm>
#include <cstring>

#include "kernels/sizes.h"

namespace rafter::gemm {

int64_t StageRow(int64_t pixels) { return (CeilDiv(pixels, kLineFloats) | 1) * kLineFloats; }

namespace {

// Line by line in the order of the prefetches: memcpy begins with both ends of a run.
void CopyLines(const float* from, int64_t floats, float* to) {
  const int64_t whole = floats / kLineFloats * kLineFloats;
  for (int64_t i = 0; i < whole; i += kLineFloats) std::memcpy(to + i, from + i, kLineBytes);
  std::copy(from + whole, from + floats, to + whole);
}

}  // namespace

void StageCopy::Skip(int64_t lines) {
  const int64_t run = block_.run_lines(), done = plane_ * run + pixel_ / kLineFloats + lines;
  if (run > 0) plane_ = done / run, pixel_ = done % run * kLineFloats;
}

void StageCopy::Copy(int64_t lines) {
  while (lines > 0 && plane_ < block_.planes) {
    const int64_t run = std::min(lines * kLineFloats, block_.pixels - pixel_);
    CopyLines(block_.first + plane_ * block_.plane_floats + pixel_, run, stage_ + plane_ * row_floats_ + pixel_);
    lines -= CeilDiv(run, kLineFloats);
    pixel_ += run;
    if (pixel_ == block_.pixels) pixel_ = 0, ++plane_;
  }
}

}  // namespace rafter::gemm
