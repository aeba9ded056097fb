// rafter/pool.h: 2-D max and average pooling (and 1-D as h = 1), windows or global, f32.
//
//   rafter::PoolingDesc desc{.kind = rafter::PoolingKind::kMax, .c = 64, .in = {112, 112}, .kernel = {3, 3},
//                            .stride = {2, 2}, .pad = {1, 1, 1, 1}};
//   auto pooling = rafter::Pooling::Create(desc);
//   rafter::Status status = pooling->Run(src, dst);
//
// dst[n][c][y][x] is the maximum or average over the taps (kh, kw) of
//   src[n][c][y*stride.h - pad.top + kh*dilation.h][x*stride.w - pad.left + kw*dilation.w]
// that lie inside the image; taps outside are never touched.
// Output size: floor((in + pad - (dilation * (kernel - 1) + 1)) / stride) + 1 in each direction. ceil_mode rounds up
// instead, but leaves out a last window that would begin behind the input and its leading padding.
//
// Maximum: NaN if any tap is NaN, in every lane; -infinity for a window without any tap. Average: the sum over the taps
// inside, in the order rows then columns, divided once (correctly rounded) by the number of
//   taps inside the image                                        count_include_pad false
//   taps inside the image and its padding, never those beyond    count_include_pad true
// A window without taps averages to 0/0 = NaN without count_include_pad and to 0 with it.
#ifndef RAFTER_POOL_H_
#define RAFTER_POOL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rafter/conv.h"
#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/operator.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

enum class PoolingKind : uint8_t { kMax = 1, kAverage };

// "max", "avg".
constexpr const char* PoolingName(PoolingKind kind) noexcept {
  return kind == PoolingKind::kMax ? "max" : kind == PoolingKind::kAverage ? "avg" : "unknown";
}

// Sizes in elements; dilation 1 is a dense window.
struct PoolingDesc {
  PoolingKind kind = PoolingKind::kMax;
  int64_t n = 1, c = 0;
  Size2 in{1, 0}, kernel{1, 1}, stride{1, 1}, dilation{1, 1};
  Padding pad{};
  bool ceil_mode = false;
  bool count_include_pad = false;  // averages only
  TensorFormat src{}, dst{};       // the same layout
  DataType type = DataType::kF32;

  // One window over the whole image, output 1x1.
  static PoolingDesc Global(PoolingKind kind, int64_t n, int64_t c, Size2 in, Layout layout = Layout::kNhwc) {
    PoolingDesc desc;
    desc.kind = kind, desc.n = n, desc.c = c, desc.in = in, desc.kernel = in;
    desc.src.layout = desc.dst.layout = layout;
    return desc;
  }
};

// A planned pooling. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Pooling {
 public:
  // kInvalidArgument names field, value and what is allowed. kOutOfMemory.
  static Result<Pooling> Create(const PoolingDesc& desc, const OperatorOptions& options = {});

  // Tensors of the description, aligned to 4 bytes, that share no memory: any overlap is kInvalidArgument, as is a null
  // or misaligned pointer. Lanes behind the last channel of a blocked layout are written as zero. Allocates nothing.
  // With n == 0: success, no work.
  Status Run(const float* src, float* dst, const OperatorRunOptions& options = {}) const noexcept;

  const PoolingDesc& desc() const noexcept;
  Size2 output_size() const noexcept;
  // e.g. "pool_f32_avx2_max_channels_4v_kw3"; "reference_pool" where no code can be generated.
  const std::string& kernel_name() const noexcept;
  Isa isa() const noexcept;  // kNone for the reference
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Pooling(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_POOL_H_
