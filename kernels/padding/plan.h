// kernels/padding/plan.h: how a padding is executed: planes of rows of pixels, each pixel some lanes that lie together
// (1 in NCHW, a block, all channels of NHWC).
//
// Rows of the image go through one copy kernel, a few rows per unit of work; where the border of a row is short it is
// part of that kernel, so that a row is written once from left to right. Past the caches, short rows without gaps are
// one stream of lines (stream_kernel.h) or, with borders that are not constant, are finished in a buffer in L1 first,
// since incomplete lines would cost a read each. Wider borders, gaps between pixels, and the last block of a blocked
// layout when it is not full, go pixel by pixel.
#ifndef RAFTER_KERNELS_PADDING_PLAN_H_
#define RAFTER_KERNELS_PADDING_PLAN_H_

#include <array>
#include <cstdint>
#include <string>

#include "jit/compiled_kernel.h"
#include "kernels/padding/problem.h"
#include "runtime/parallel.h"

namespace rafter::padding {

// A multiple of the lanes of each blocked layout.
inline constexpr int64_t kPatternFloats = 16;

class Plan {
 public:
  // `isa` is not kNone. kUnsupported where executable memory is refused.
  static Result<Plan> Make(const PadProblem& problem, Isa isa, bool non_temporal);

  int64_t units() const noexcept { return problem_.in.n * planes_ * chunks_; }
  // `in_place`: the image lies in dst already.
  void Run(const float* src, float* dst, bool in_place, Range units) const noexcept;
  const std::string& kernel_name() const noexcept { return rows_->name(); }

 private:
  // The same rows of the source and the result.
  struct Place {
    const float* src = nullptr;  // first pixel of the plane's image
    float* dst = nullptr;        // row `first_row` of the result
    int64_t first_row = 0;
    bool partial = false;        // the block has missing lanes
    bool image_is_there = false;
  };

  bool Streams() const noexcept;
  Status GetKernels(Isa isa, bool non_temporal);
  void RunStream(const Place& place, int64_t begin, int64_t end) const noexcept;
  void RunStaged(Place place, int64_t begin, int64_t end) const noexcept;
  Place PlaceOf(const float* src, float* dst, int64_t n, int64_t plane) const noexcept;
  void RunRows(const Place& place, int64_t begin, int64_t end) const noexcept;
  // `rows` rows of the result from `out` on that show those of the image from `in` on.
  void CopyRows(const Place& place, int64_t out, int64_t in, int64_t rows) const noexcept;
  void CopySides(const Place& place, int64_t out, int64_t in, int64_t rows) const noexcept;
  void CopyPixels(const Place& place, const float* from, int64_t from_step, float* to, int64_t to_step,
                  int64_t count) const noexcept;
  void FillRow(const Place& place, float* to, int64_t pixels) const noexcept;

  PadProblem problem_;
  int64_t lanes_ = 1;             // of a pixel
  int64_t planes_ = 1;            // per image
  int64_t rows_per_chunk_ = 1, chunks_ = 1;
  bool rows_together_ = false;    // pixels of a row follow each other on both sides
  bool sides_in_kernel_ = false;  // rows_ writes the border at the left and right too
  jit::KernelPtr rows_, rows_past_caches_, pixel_, partial_pixel_;
  jit::KernelPtr stream_;  // rows without gaps past the caches, constant borders; null: not such rows
  jit::KernelPtr stage_;   // copies finished rows past the caches; null: rows are stored where they belong
  // What the border repeats: everywhere, and in the last block.
  using Pattern = std::array<float, kPatternFloats>;
  alignas(16) Pattern fill_{}, partial_fill_{};
};

}  // namespace rafter::padding

#endif  // RAFTER_KERNELS_PADDING_PLAN_H_
