// tests/kernels/conv/refusal_test.cc: sentences of refusals.
#include "kernels/conv/refusal.h"

#include <gtest/gtest.h>

#include <string>

namespace rafter {
namespace {

TEST(Refusal, EmptyByDefault) {
  EXPECT_TRUE(Refusal().empty());
  EXPECT_EQ(Refusal().text(), "");
  EXPECT_TRUE(Refusal("").empty());
  EXPECT_TRUE(Refusal(std::string()).empty());
}

TEST(Refusal, LiteralAndTextStayAsTheyAre) {
  EXPECT_FALSE(Refusal("tensor # is NCHW").empty());
  EXPECT_EQ(Refusal("tensor # is NCHW").text(), "tensor # is NCHW");
  EXPECT_EQ(Refusal(std::string("kernel is ") + "3x3").text(), "kernel is 3x3");
}

TEST(Refusal, ValuesTakeTheirPlaces) {
  const Refusal refusal{"the kernel is #x#, not 1x1", {3, -5}};
  EXPECT_FALSE(refusal.empty());
  EXPECT_EQ(refusal.text(), "the kernel is 3x-5, not 1x1");
  EXPECT_EQ(refusal, "the kernel is 3x-5, not 1x1");
}

TEST(Refusal, PlacesBeyondTheValuesAreText) {
  EXPECT_EQ((Refusal{"# # # # #", {1, 2, 3, 4}}.text()), "1 2 3 4 #");
}

}  // namespace
}  // namespace rafter
