// tests/support/guarded_tensor.h: a tensor in any layout, dense or a slice, between guard pages, and the comparison of
// everything an operator may have written with what it should have: elements, missing lanes, and the gaps of a slice.
#ifndef RAFTER_TESTS_SUPPORT_GUARDED_TENSOR_H_
#define RAFTER_TESTS_SUPPORT_GUARDED_TENSOR_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/tensor_shape.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/random_tensor.h"

namespace rafter::testing {

// A slice: the tensor is a window of one that is larger by these amounts (blocks in blocked layouts).
struct Slack {
  int64_t channels = 0, columns = 0, rows = 0;
};

inline std::optional<Strides> SliceStrides(Layout layout, const TensorShape& s, const Slack& slack) {
  if (slack.channels == 0 && slack.columns == 0 && slack.rows == 0) return std::nullopt;
  const int64_t more = slack.channels * ChannelBlock(layout);
  return DenseStrides(layout, s.c + more, s.h + slack.rows, s.w + slack.columns);
}

class GuardedTensor {
 public:
  GuardedTensor() = default;
  GuardedTensor(Layout layout, const TensorShape& shape, const Slack& slack, Guard guard, int64_t misaligned_floats = 0)
      : view_{layout,
              WithDenseSingles(layout,
                               SliceStrides(layout, shape, slack)
                                   .value_or(DenseStrides(layout, shape.c, shape.h, shape.w)),
                               shape),
              shape.n, shape.c, shape.h, shape.w},
        format_{layout, SliceStrides(layout, shape, slack)},
        guard_(guard),
        misaligned_(misaligned_floats),
        buffer_(static_cast<size_t>(view_.Span() + misaligned_floats), guard, guard == Guard::kAtEnd ? 4 : 64) {}

  // Behind the guard page when it is at the start, so a shift moves the start away from a line.
  float* data() { return buffer_.data() + misaligned_; }
  const float* data() const { return buffer_.data() + misaligned_; }
  const TensorFormat& format() const { return format_; }
  const TensorView& view() const { return view_; }
  void Fill(DataKind kind, uint64_t seed) { FillTensor(view_, data(), kind, seed); }
  void MakeReadOnly() { buffer_.MakeReadOnly(); }

  // The same place with nothing written to it yet.
  GuardedTensor Fresh() const {
    GuardedTensor fresh;
    fresh.view_ = view_, fresh.format_ = format_, fresh.guard_ = guard_, fresh.misaligned_ = misaligned_;
    fresh.buffer_ = GuardedBuffer(static_cast<size_t>(view_.Span() + misaligned_), guard_,
                                  guard_ == Guard::kAtEnd ? 4 : 64);
    return fresh;
  }

  // Whether what lies around the tensor is as it was.
  bool NothingAround() const {
    return buffer_.SlackIntact() && std::all_of(buffer_.data(), buffer_.data() + misaligned_, IsPoison);
  }

  // Bit for bit the same floats, gaps included, and nothing written around them.
  void ExpectSame(const GuardedTensor& wanted) const {
    const int64_t span = view_.Span();
    ASSERT_EQ(span, wanted.view_.Span());
    for (int64_t i = 0; i < span; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(data()[i]), std::bit_cast<uint32_t>(wanted.data()[i]))
          << "float " << i << " of " << span << ": " << data()[i] << ", wanted " << wanted.data()[i];
    }
    EXPECT_TRUE(NothingAround());
  }

 private:
  TensorView view_;
  TensorFormat format_;
  Guard guard_ = Guard::kAtEnd;
  int64_t misaligned_ = 0;
  GuardedBuffer buffer_;
};

}  // namespace rafter::testing

#endif  // RAFTER_TESTS_SUPPORT_GUARDED_TENSOR_H_
