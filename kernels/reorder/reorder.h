// kernels/reorder/reorder.h: copies a tensor between its own layout and NHWC. Internal: for plans that run in
// NHWC whatever the layout of their tensors.
#ifndef RAFTER_KERNELS_REORDER_REORDER_H_
#define RAFTER_KERNELS_REORDER_REORDER_H_

#include <cstdint>

#include "jit/compiled_kernel.h"
#include "kernels/reorder/transpose_kernel.h"
#include "rafter/status.h"
#include "rafter/tensor.h"
#include "runtime/parallel.h"

namespace rafter::reorder {

struct Shape {
  int64_t n = 0, c = 0, h = 0, w = 0;
};

// Between a tensor in `layout` with `strides` and one in NHWC with `nhwc` strides; from NHWC to NHWC only ToNhwc.
class Reorder {
 public:
  // kUnsupported where executable memory is refused.
  static Result<Reorder> Make(const Shape& shape, Layout layout, const Strides& strides,
                              const Strides& nhwc);

  // Units of work: some pixels of a row times some channels each. Ranges of them may run on different threads.
  int64_t units() const noexcept { return shape_.n * shape_.h * pixel_pieces() * channel_pieces(); }
  void ToNhwc(const float* tensor, float* nhwc, Range units) const noexcept;
  // Lanes behind the last channel of a blocked layout become zero.
  void FromNhwc(const float* nhwc, float* tensor, Range units) const noexcept;

 private:
  // 16 KB on either side, so that even 7x7 images are shared by threads; whole lines in both layouts.
  static constexpr int64_t kPiecePixels = 64, kPieceChannels = 64;
  struct Piece {
    int64_t tensor = 0, nhwc = 0;  // offsets in floats
    int64_t pixels = 0, channels = 0;
  };
  int64_t pixel_pieces() const noexcept { return (shape_.w + kPiecePixels - 1) / kPiecePixels; }
  int64_t channel_pieces() const noexcept { return (shape_.c + kPieceChannels - 1) / kPieceChannels; }
  Piece PieceOf(int64_t unit) const noexcept;
  void Transpose(const float* src, int64_t src_row, int64_t rows, float* dst, int64_t dst_row,
                 int64_t columns, const jit::KernelPtr& rest) const noexcept;

  Shape shape_;  // rows that follow each other in both tensors are joined
  Layout layout_ = Layout::kNchw;
  Strides strides_, nhwc_;
  // NCHW only: for 8 rows, and for what is left of the channels (to NHWC) or pixels (from it).
  jit::KernelPtr full_, channel_rest_, pixel_rest_;
};

}  // namespace rafter::reorder

#endif  // RAFTER_KERNELS_REORDER_REORDER_H_
