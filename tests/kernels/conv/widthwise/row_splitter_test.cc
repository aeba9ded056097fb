// Even and odd elements of rows, every length and gap; nothing beside them is read or written.
#include "kernels/conv/widthwise/row_splitter.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/for_each_isa.h"
#include "tests/support/guarded_buffer.h"

namespace rafter::widthwise {
namespace {

void Check(const RowSplitter& splitter, int64_t pairs, bool even_left, int64_t gap) {
  SCOPED_TRACE(::testing::Message() << pairs << " pairs, " << even_left << " left, gap " << gap);
  constexpr int64_t kRows = 3;
  const int64_t length = 2 * pairs + (even_left ? 1 : 0), evens = pairs + (even_left ? 1 : 0);
  const int64_t src_row = length + gap, dst_row = evens + gap;
  testing::GuardedBuffer src(static_cast<size_t>((kRows - 1) * src_row + length));
  testing::GuardedBuffer even(static_cast<size_t>((kRows - 1) * dst_row + evens));
  testing::GuardedBuffer odd(static_cast<size_t>((kRows - 1) * dst_row + std::max<int64_t>(1, pairs)));
  for (int64_t i = 0; i < (kRows - 1) * src_row + length; ++i) src.data()[i] = static_cast<float>(i + 1);
  for (int64_t i = 0; i < (kRows - 1) * dst_row + evens; ++i) even.data()[i] = -1;
  for (int64_t i = 0; i < (kRows - 1) * dst_row + std::max<int64_t>(1, pairs); ++i) odd.data()[i] = -1;
  splitter.Split({.src = src.data(), .src_row = src_row, .even = even.data(), .odd = odd.data(), .dst_row = dst_row,
                  .count = kRows, .pairs = pairs, .even_left = even_left});
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t i = 0; i < evens; ++i) {
      ASSERT_EQ(even.data()[row * dst_row + i], src.data()[row * src_row + 2 * i]) << "row " << row << " at " << i;
    }
    for (int64_t i = 0; i < pairs; ++i) {
      ASSERT_EQ(odd.data()[row * dst_row + i], src.data()[row * src_row + 2 * i + 1]) << "row " << row << " at " << i;
    }
    if (row + 1 == kRows) break;
    for (int64_t i = 0; i < gap; ++i) ASSERT_EQ(even.data()[row * dst_row + evens + i], -1);
    for (int64_t i = pairs; i < dst_row; ++i) ASSERT_EQ(odd.data()[row * dst_row + i], -1);
  }
}

void CheckAll(const RowSplitter& splitter) {
  for (int64_t pairs = 0; pairs <= 50; ++pairs) {
    for (const bool even_left : {false, true}) {
      if (pairs == 0 && !even_left) continue;
      for (const int64_t gap : {0, 5}) ASSERT_NO_FATAL_FAILURE(Check(splitter, pairs, even_left, gap));
    }
  }
}

TEST(RowSplitter, EveryLength) {
  CheckAll(RowSplitter());
  testing::ForEachIsa([](Isa isa) {
    const Result<RowSplitter> splitter = RowSplitter::Make(isa);
    if (!splitter.ok()) GTEST_SKIP() << splitter.status().message();
    CheckAll(*splitter);
  });
}

}  // namespace
}  // namespace rafter::widthwise
