// rafter/tensor.h: how a 4-D tensor (n, c, h, w) lies in memory.
#ifndef RAFTER_TENSOR_H_
#define RAFTER_TENSOR_H_

#include <cstdint>
#include <optional>

namespace rafter {

enum class DataType { kF32 };

// kNhwc      channels innermost
// kNchw      columns innermost
// kNchw16c   blocks of 16 channels: (n, ceil(c/16), h, w, 16); kNchw8c the same with 8.
//            Lanes of a partly filled last block are written as zero and never read as data.
enum class Layout { kNhwc, kNchw, kNchw16c, kNchw8c };

// Channels that lie together in one block of a blocked layout, 1 for the plain layouts.
constexpr int64_t ChannelBlock(Layout layout) noexcept {
  return layout == Layout::kNchw16c ? 16 : layout == Layout::kNchw8c ? 8 : 1;
}

// "NHWC", "NCHW", "NCHW16c", "NCHW8c".
constexpr const char* LayoutName(Layout layout) noexcept {
  switch (layout) {
    case Layout::kNhwc: return "NHWC";
    case Layout::kNchw: return "NCHW";
    case Layout::kNchw16c: return "NCHW16c";
    case Layout::kNchw8c: return "NCHW8c";
  }
  return "unknown";
}

// Distances in elements between neighbours along each dimension. In blocked layouts `c` is the distance
// between channel blocks. The innermost unit (a channel in NHWC, a column in NCHW, the block in NCHWc)
// is always contiguous: c == 1 in NHWC, w == 1 in NCHW.
struct Strides {
  int64_t n = 0, c = 0, h = 0, w = 0;
  bool operator==(const Strides&) const = default;
};

// A layout, and strides when the tensor is a slice of a bigger one (absent: dense).
// Slices make concatenation free: let every producer write its channels into the common tensor.
struct TensorFormat {
  Layout layout = Layout::kNhwc;
  std::optional<Strides> strides{};
  bool operator==(const TensorFormat&) const = default;
};

}  // namespace rafter

#endif  // RAFTER_TENSOR_H_
