// rafter/concat.h: joins tensors along one of the four dimensions.
//
//   rafter::ConcatDesc desc{.axis = rafter::Axis::kC, .h = 28, .w = 28, .inputs = {{64}, {128}}};
//   auto concat = rafter::Concat::Create(desc);
//   const float* inputs[] = {a, b};
//   rafter::Status status = concat->Run(inputs, dst);   // dst: 28 x 28 pixels of 192 channels
//
// Free where producers write into slices: let a producer's dst be the place of its input in the result (strides of the
// result; InputOffset says where it begins), and pass that same pointer as the input: nothing is copied.
//
// Inputs may be in any layouts, mixed at will, dense or slices; along channels they may begin inside a block of a
// blocked result. Values are copied bit by bit. Lanes behind the last channel of a blocked result become zero.
#ifndef RAFTER_CONCAT_H_
#define RAFTER_CONCAT_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rafter/cpu.h"
#include "rafter/export.h"
#include "rafter/operator.h"
#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

enum class Axis : uint8_t { kN, kC, kH, kW };

struct ConcatInput {
  int64_t size = 0;  // along the axis, in elements, at least 1
  TensorFormat format{};
};

inline constexpr int kMaxConcatInputs = 1024;

struct ConcatDesc {
  Axis axis = Axis::kC;
  int64_t n = 1, c = 1, h = 1, w = 1;  // what the inputs share; the one along the axis is ignored
  std::vector<ConcatInput> inputs{};   // 1 … kMaxConcatInputs
  TensorFormat dst{};
  DataType type = DataType::kF32;
};

// A planned concatenation. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Concat {
 public:
  // kInvalidArgument names field, value and what is allowed. kOutOfMemory.
  static Result<Concat> Create(const ConcatDesc& desc, const OperatorOptions& options = {});

  // One pointer per input, in their order, aligned to 4 bytes. An input that already lies at its place in the result
  // (pointer dst + InputOffset, the result's layout and strides) is not touched; any other element shared between an
  // input and the result is kInvalidArgument. Inputs may be the same tensor. Allocates nothing.
  // With n == 0: success, no work.
  Status Run(std::span<const float* const> inputs, float* dst, const OperatorRunOptions& options = {}) const noexcept;

  const ConcatDesc& desc() const noexcept;
  // Elements along the axis of the result.
  int64_t output_size() const noexcept;
  // Where input `index` begins in the result, in elements from its start. In a blocked result with an input that begins
  // inside a block: the lane of its first channel (a slice that begins there cannot be written by other operators).
  int64_t InputOffset(int index) const noexcept;
  // Kernel of the biggest input; "reference_concat" where no code can be generated.
  const std::string& kernel_name() const noexcept;
  Isa isa() const noexcept;
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Concat(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_CONCAT_H_
