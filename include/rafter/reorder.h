// rafter/reorder.h: copies a tensor to another layout, or to other strides.
//
//   rafter::ReorderDesc desc{.c = 64, .h = 56, .w = 56, .src = {rafter::Layout::kNchw}};   // dst: NHWC
//   auto reorder = rafter::Reorder::Create(desc);
//   rafter::Status status = reorder->Run(src, dst);
//
// Between all layouts of rafter/tensor.h, dense or slices. Values are copied bit by bit. Lanes behind the last channel
// of a blocked source are not read, those of a blocked destination become zero.
#ifndef RAFTER_REORDER_H_
#define RAFTER_REORDER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/operator.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

// Sizes in elements.
struct ReorderDesc {
  int64_t n = 1, c = 0, h = 1, w = 1;
  TensorFormat src{}, dst{};
  DataType type = DataType::kF32;
};

// A planned reorder. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Reorder {
 public:
  // kInvalidArgument names field, value and what is allowed. kOutOfMemory.
  static Result<Reorder> Create(const ReorderDesc& desc, const OperatorOptions& options = {});

  // Tensors of the description, aligned to 4 bytes. The same pointer with the same format on both sides is allowed and
  // no work; any other shared element is kInvalidArgument, as is a null or misaligned pointer. Slices of one tensor
  // that interleave are right when their strides agree. Allocates nothing. With n == 0: success, no work.
  Status Run(const float* src, float* dst, const OperatorRunOptions& options = {}) const noexcept;

  const ReorderDesc& desc() const noexcept;
  // e.g. "transpose_f32_avx2_rows16"; "reference_reorder" where no code can be generated.
  const std::string& kernel_name() const noexcept;
  Isa isa() const noexcept;  // kNone for the reference
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Reorder(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_REORDER_H_
