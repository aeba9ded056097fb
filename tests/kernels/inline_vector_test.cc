// tests/kernels/inline_vector_test.cc: elements stay the same across growing, copying and moving.
#include "kernels/inline_vector.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace rafter {
namespace {

using Numbers = InlineVector<int64_t, 3>;

Numbers Filled(int64_t count) {
  Numbers numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(i * i);
  return numbers;
}

void ExpectFilled(const Numbers& numbers, int64_t count) {
  ASSERT_EQ(numbers.size(), static_cast<size_t>(count));
  EXPECT_EQ(numbers.empty(), count == 0);
  for (int64_t i = 0; i < count; ++i) EXPECT_EQ(numbers[i], i * i);
  if (count > 0) {
    EXPECT_EQ(numbers.back(), (count - 1) * (count - 1));
  }
}

class Counts : public testing::TestWithParam<int64_t> {};

TEST_P(Counts, CopiesAndMovesKeepTheElements) {
  const int64_t count = GetParam();
  Numbers numbers = Filled(count);
  ExpectFilled(numbers, count);
  const Numbers copy = numbers;
  ExpectFilled(copy, count);
  EXPECT_EQ(copy, numbers);
  Numbers moved = std::move(numbers);
  ExpectFilled(moved, count);
  EXPECT_TRUE(numbers.empty());  // NOLINT: moved from, defined to be empty
  numbers.push_back(0);
  ExpectFilled(numbers, 1);
  Numbers assigned = Filled(5);
  assigned = copy;
  ExpectFilled(assigned, count);
  assigned = std::move(moved);
  ExpectFilled(assigned, count);
  assigned.clear();
  ExpectFilled(assigned, 0);
}

INSTANTIATE_TEST_SUITE_P(InlineAndOnTheHeap, Counts, testing::Values(0, 1, 3, 4, 6, 7, 100));

TEST(InlineVector, PushesItsOwnElement) {
  Numbers numbers = Filled(3);
  numbers.push_back(numbers[2]);  // grows meanwhile
  EXPECT_EQ(numbers[3], 4);
}

TEST(InlineVector, DifferentElementsAreNotEqual) {
  Numbers other = Filled(3);
  other.back() = 7;
  EXPECT_FALSE(other == Filled(3));
  EXPECT_FALSE(Filled(2) == Filled(3));
}

}  // namespace
}  // namespace rafter
