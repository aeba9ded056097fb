// kernels/conv/gemm/picker.h: writes panels (columns.h) of 1x1 kernels with strides, or over rows with gaps, straight
// from the planes: a generated kernel copies chunks of a vector of pixels of one row each.
//
// A chunk always writes a whole vector. Where its row or the tile ends earlier, the next chunk, or the next row of the
// panel, is written over it, so one vector of room is needed behind a panel. Chunks that would read behind their plane
// have masks.
#ifndef RAFTER_KERNELS_CONV_GEMM_PICKER_H_
#define RAFTER_KERNELS_CONV_GEMM_PICKER_H_

#include <cstdint>
#include <type_traits>

#include "jit/assembler.h"
#include "jit/compiled_kernel.h"
#include "kernels/conv/problem.h"
#include "runtime/parallel.h"

namespace rafter::gemm {

struct PickSpec {
  Isa isa;
  uint8_t stride;  // between the pixels of a row: 1 or 2; 0: any, by an index

  bool operator==(const PickSpec&) const = default;
};
static_assert(std::has_unique_object_representations_v<PickSpec>);

struct PickChunk {
  int64_t src, dst;  // bytes from the plane's first pixel, and from the first pixel of the panel's row
  // Careful chunks only: lane masks of the two vectors that are read (one for stride 1); for any stride the index.
  const int32_t *first, *second;
};

struct PickArgs {
  const float* src;  // first plane
  float* dst;        // panel
  int64_t ks, src_step, dst_step;
  const PickChunk *chunks, *careful_chunks;
  int64_t whole, careful;  // numbers of chunks; the careful ones come last
  const int32_t* index;    // any stride: of whole chunks
  int64_t last_lane;       // any stride: from a chunk's first element to its last one
};
using PickFunction = void(PickArgs*);

// For kernel dumps and tests.
void EmitPicker(const PickSpec& spec, jit::Assembler& assembler);

class Picker {
 public:
  // Whether the columns of a problem are pixels of planes, without padding.
  static bool Fits(const ConvProblem& problem);

  Picker() = default;
  // kUnsupported where executable memory is refused.
  static Result<Picker> Make(const ConvProblem& problem, Isa isa);

  bool is_used() const { return kernel_ != nullptr; }
  const jit::KernelPtr& kernel() const { return kernel_; }
  // Panel of `width` pixels from `pixel` on, for the channels `ks`; `image`: first channel of the group.
  void Fill(const float* image, Range ks, int64_t pixel, int32_t width, float* panel) const;

 private:
  static constexpr int kMaxLanes = 16, kMaxWidth = 48;

  int64_t out_w_ = 1, pixels_ = 0;
  int64_t plane_ = 0;  // floats from a plane's first pixel to behind its last one
  int64_t row_step_ = 0, pixel_step_ = 0, channel_step_ = 0;  // floats between pixels that are used
  int lanes_ = 0;
  int32_t index_[kMaxLanes] = {};
  jit::KernelPtr kernel_;
};

}  // namespace rafter::gemm

#endif  // RAFTER_KERNELS_CONV_GEMM_PICKER_H_
