// rafter/pad.h: puts rows and columns around the images of a tensor.
//
//   rafter::PadDesc desc{.mode = rafter::PadMode::kReflect, .c = 64, .in = {56, 56}, .pad = {1, 1, 1, 1}};
//   auto pad = rafter::Pad::Create(desc);
//   rafter::Status status = pad->Run(src, dst);    // dst: 58 x 58 pixels
//
//   kConstant  the border holds `value`
//   kEdge      each border element is the nearest one of the image
//   kReflect   the image is mirrored at its first and last row and column, which are not repeated: 2 1 | 0 1 2 … Each
//              padding must be smaller than the image in its direction, else kInvalidArgument names the limit.
// Values are copied bit by bit. Lanes behind the last channel of a blocked layout become zero, in the border too.
#ifndef RAFTER_PAD_H_
#define RAFTER_PAD_H_

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

enum class PadMode : uint8_t { kConstant, kEdge, kReflect };

// "constant", "edge", "reflect".
constexpr const char* PadModeName(PadMode mode) noexcept {
  switch (mode) {
    case PadMode::kConstant: return "constant";
    case PadMode::kEdge: return "edge";
    case PadMode::kReflect: return "reflect";
  }
  return "unknown";
}

// Sizes in elements.
struct PadDesc {
  PadMode mode = PadMode::kConstant;
  float value = 0.0f;  // kConstant only; may be NaN or infinite
  int64_t n = 1, c = 0;
  Size2 in{1, 0};
  Padding pad{};
  TensorFormat src{}, dst{};  // the same layout: reorder first where they differ
  DataType type = DataType::kF32;
};

// A planned padding. Immutable: Run may be called from several threads at the same time.
class RAFTER_EXPORT Pad {
 public:
  // kInvalidArgument names field, value and what is allowed. kUnsupported: different layouts. kOutOfMemory.
  static Result<Pad> Create(const PadDesc& desc, const OperatorOptions& options = {});

  // Tensors of the description, aligned to 4 bytes. In place: where src lies at its place inside dst (the pixel at
  // pad.top, pad.left, with dst's strides) only the border is written. Any other shared element is kInvalidArgument, as
  // is a null or misaligned pointer. Allocates nothing. With n == 0: success, no work.
  Status Run(const float* src, float* dst, const OperatorRunOptions& options = {}) const noexcept;

  const PadDesc& desc() const noexcept;
  Size2 output_size() const noexcept;
  const std::string& kernel_name() const noexcept;  // "reference_pad" where no code can be generated
  Isa isa() const noexcept;
  int threads() const noexcept;

  struct Impl;  // for the library's own use
  explicit Pad(std::shared_ptr<const Impl> impl) noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace rafter

#endif  // RAFTER_PAD_H_
