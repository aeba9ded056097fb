// tests/bench/error_bound_test.cc: errors are carried through post-ops, and stay far below what a wrong operation
// makes of an output.
#include "bench/error_bound.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rafter::bench {
namespace {

TEST(BoundSum, GrowsWithTheRootOfTheLength) {
  const double short_sum = BoundSum(1, 10, 100).error, long_sum = BoundSum(1, 10, 10000).error;
  EXPECT_EQ(BoundSum(1, 10, 100).value, 1);
  EXPECT_GT(short_sum, 0);
  EXPECT_GT(long_sum, 5 * short_sum);
  EXPECT_LT(long_sum, 1e-3);
}

TEST(BoundPostOp, CarriesTheError) {
  const BoundedValue in{2, 0.01};
  EXPECT_EQ(BoundPostOp(PostOp::Relu(), in, 0, 0).value, 2);
  EXPECT_EQ(BoundPostOp(PostOp::Relu(), in, 0, 0).error, 0.01);
  const BoundedValue scaled = BoundPostOp(PostOp::ChannelScale({3, 5}), in, 1, 0);
  EXPECT_EQ(scaled.value, 10);
  EXPECT_NEAR(scaled.error, 0.05, 1e-4);
  const BoundedValue sum = BoundPostOp(PostOp::ResidualAdd(), in, 0, 4);
  EXPECT_EQ(sum.value, 6);
  EXPECT_NEAR(sum.error, 0.01, 1e-4);
}

TEST(BoundPostOp, FunctionsStayTight) {
  for (const PostOp& op : {PostOp::Sigmoid(), PostOp::Swish(), PostOp::Tanh(), PostOp::Gelu(),
                           PostOp::Elu(), PostOp::HardSwish(), PostOp::HardSigmoid()}) {
    for (double x : {-20.0, -1.0, 0.0, 0.5, 3.0}) {
      const BoundedValue out = BoundPostOp(op, {x, 0}, 0, 0);
      EXPECT_GT(out.error, 0);
      EXPECT_LT(out.error, 1e-4) << PostOpName(op.kind) << " of " << x;
    }
  }
}

}  // namespace
}  // namespace rafter::bench
