// kernels/tensor_shape.h: rules that tensors of every operator keep: sizes whose byte offsets fit 64 bits, strides that
// let no two elements share memory; where an element lies; whether two tensors meet in memory.
//
// Not for rules of one operator: those are in kernels/conv/problem.cc and its like.
#ifndef RAFTER_KERNELS_TENSOR_SHAPE_H_
#define RAFTER_KERNELS_TENSOR_SHAPE_H_

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>

#include "rafter/status.h"
#include "rafter/tensor.h"

namespace rafter {

struct TensorShape {
  int64_t n = 0, c = 0, h = 0, w = 0;
  bool operator==(const TensorShape&) const = default;
};

// Elements that 64-bit byte offsets reach.
inline constexpr int64_t kMaxElements = std::numeric_limits<int64_t>::max() / 4;

// kInvalidArgument: "<field>: <value> <allowed>".
Status InvalidField(std::string field, int64_t value, const std::string& allowed);

// kInvalidArgument unless `layout` is one of rafter/tensor.h. `field` as in "src.layout".
Status CheckLayout(const char* field, Layout layout);

// kInvalidArgument unless `type` is kF32.
Status CheckType(DataType type);

// kInvalidArgument unless CheckType, both layouts are known, and dst has that of src.
Status CheckSameFormat(DataType type, Layout src, Layout dst);

// kInvalidArgument unless all sizes are at least 1 (n: 0), named "n", "c", "h", "w".
Status CheckSizes(const TensorShape& shape);

// Whether the product of non-negative factors stays within kMaxElements.
bool ProductFits(std::initializer_list<int64_t> factors) noexcept;

// Blocks of channels in a layout: c for NCHW and NHWC.
int64_t BlocksOf(Layout layout, int64_t c) noexcept;

// Strides of a dense tensor.
Strides DenseStrides(Layout layout, int64_t c, int64_t h, int64_t w) noexcept;

// Strides of a tensor: the given ones when they are valid, dense ones when absent. Sizes are at least 1 (n may be 0).
// A stride over a dimension of one element may be given as anything; the dense one takes its place.
// Errors name "<field>.strides.<dimension>".
Result<Strides> ResolveStrides(const std::string& field, Layout layout,
                               const std::optional<Strides>& given, const TensorShape& shape);

// `given` (valid) with dense strides over dimensions of one element.
Strides WithDenseSingles(Layout layout, const Strides& given, const TensorShape& shape) noexcept;

// Offset in elements of element (n, c, h, w).
constexpr int64_t Offset(const Strides& s, Layout layout, int64_t n, int64_t c, int64_t h,
                         int64_t w) noexcept {
  const int64_t block = ChannelBlock(layout);
  return n * s.n + (c / block) * s.c + c % block + h * s.h + w * s.w;
}

// A tensor in memory, strides resolved.
struct TensorPlace {
  const float* data = nullptr;
  Layout layout = Layout::kNhwc;
  Strides strides{};
  TensorShape shape{};
};

// Elements from the first to the last one, missing lanes of the last block included; 0 for an empty tensor.
int64_t SpanOf(const TensorPlace& place) noexcept;

// kSame: the same elements at the same places, so an operator that reads an element before it writes that element may
// work in place. kPartial: anything else that shares memory. Slices that interleave without sharing an element, such
// as two ranges of channels of one tensor, are kNone when their strides and block sizes agree; with different strides
// tensors whose address ranges meet count as kPartial.
enum class Overlap { kNone, kSame, kPartial };
Overlap OverlapOf(const TensorPlace& a, const TensorPlace& b) noexcept;

}  // namespace rafter

#endif  // RAFTER_KERNELS_TENSOR_SHAPE_H_
