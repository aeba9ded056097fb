// kernels/conv/gemm/columns.h: gathers the columns of X (gemm.h) for a segment of pixels and a pass of k into panels.
//
//   panels = [tile of pixels][k][pixel of the tile]
//
// so that the panel of the tile that starts `p` pixels into the segment lies p * (k of the pass) floats from the
// beginning. Padding, and pixels behind the image, are zeros.
#ifndef RAFTER_KERNELS_CONV_GEMM_COLUMNS_H_
#define RAFTER_KERNELS_CONV_GEMM_COLUMNS_H_

#include <cstdint>
#include <vector>

#include "kernels/conv/problem.h"
#include "runtime/parallel.h"

namespace rafter::gemm {

// The k of a sum in their order (ADR 3): blocks of input channels, kernel rows, kernel columns, channels of the block.
class TapOrder {
 public:
  // Starts at the k-th.
  TapOrder(int64_t ic, int64_t kh, int64_t kw, int64_t k);
  void Next();
  int64_t ic() const { return block_ + channel_; }
  int64_t kh() const { return kh_; }
  int64_t kw() const { return kw_; }

 private:
  int64_t BlockChannels() const { return block_ + step_ < channels_ ? step_ : channels_ - block_; }
  int64_t channels_, kernel_h_, kernel_w_, step_;
  int64_t block_ = 0, kh_ = 0, kw_ = 0, channel_ = 0;
};

class Columns {
 public:
  explicit Columns(const ConvProblem& problem);

  // Whether the pixels of an output image see neighbours of an input plane, all of them inside.
  bool is_plain() const { return plain_; }
  // Whether some tap of some pixel lies outside of the image.
  bool is_padded() const { return padded_; }

  // X of the k [ks.begin, ks.end) for the pixels [pixels.begin, pixels.end) of an image whose first channel of the
  // group is at `image`. `tiles`: widths of the tiles of the segment, in pixels, their sum at least the number of
  // pixels. `line`: room for that sum.
  void Fill(const float* image, Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line,
            float* panels) const;
  // In the same places: lane masks, -1 where the tap lies inside, otherwise 0.
  void FillMasks(Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line, float* panels) const;

 private:
  enum class What { kValues, kMasks };
  template <What what>
  void FillAll(const float* image, Range ks, Range pixels, const std::vector<int32_t>& tiles, float* line,
               float* panels) const;
  void FillPlain(const float* plane, int64_t pixels, const std::vector<int32_t>& tiles, int64_t k, int64_t count,
                 float* panels) const;
  template <What what>
  void Gather(const float* image, const TapOrder& tap, Range pixels, float* line) const;

  Size2 in_, kernel_, stride_, dilation_;
  int64_t pad_top_, pad_left_, ic_, out_w_;
  Strides src_;
  std::vector<Range> inside_;  // per kernel column: the output columns whose tap lies inside
  bool plain_, padded_;
};

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_COLUMNS_H_
