// rafter/softmax.h: softmax over channels, f32.
//
//   dst[n][c][h][w] = exp(src[n][c][h][w] - m) / (sum over k of exp(src[n][k][h][w] - m)),
//   m = max over k of src[n][k][h][w]
//
// A pixel with a NaN or +infinity, or with nothing but -infinity, is NaN in all channels. Error: docs/operators.md.
#ifndef RAFTER_SOFTMAX_H_
#define RAFTER_SOFTMAX_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/operator.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

struct SoftmaxDesc {
  int64_t n = 1, c = 0, h = 1, w = 1;
  TensorFormat src{}, dst{};  // the same layout
  DataType type = DataType::kF32;
};

// A planned softmax. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Softmax {
 public:
  // kInvalidArgument names field, value and what is allowed. kOutOfMemory.
  static Result<Softmax> Create(const SoftmaxDesc& desc, const OperatorOptions& options = {});

  // Tensors of the description, aligned to 4 bytes. dst may be src (same pointer and strides); any other overlap is
  // kInvalidArgument, as is a null or misaligned pointer. Lanes behind the last channel of a blocked layout are written
  // as zero. Allocates nothing. With n == 0: success, no work.
  Status Run(const float* src, float* dst, const OperatorRunOptions& options = {}) const noexcept;

  const SoftmaxDesc& desc() const noexcept;
  // e.g. "softmax_f32_avx2_channels"; "reference_softmax" where no code can be generated.
  const std::string& kernel_name() const noexcept;
  Isa isa() const noexcept;  // kNone for the reference
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Softmax(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_SOFTMAX_H_
