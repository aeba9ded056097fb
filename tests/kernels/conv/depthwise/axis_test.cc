// Phases of an axis cover every output once, and within a phase neighbours lie a whole number of
// taps apart.
#include "kernels/conv/depthwise/axis.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::depthwise {
namespace {

TEST(Axis, PhasesCoverEveryOutputOnce) {
  for (int64_t stride : {1, 2, 3, 4, 6}) {
    for (int64_t dilation : {1, 2, 3, 4, 12}) {
      for (int64_t out = 1; out <= 30; ++out) {
        const Axis axis(100, out, 3, stride, dilation, 5);
        std::vector<int> seen(static_cast<size_t>(out), 0);
        for (int64_t phase = 0; phase < axis.phases(); ++phase) {
          for (int64_t i = 0; i < axis.outputs(phase); ++i)
            ++seen[static_cast<size_t>(axis.output(phase, i))];
          if (phase < axis.wide_phases()) EXPECT_EQ(axis.outputs(phase), axis.outputs(0));
          EXPECT_GE(axis.outputs(phase), axis.outputs(0) - 1);
          EXPECT_EQ(axis.input(phase, 1) - axis.input(phase, 0), axis.step() * axis.dilation());
        }
        EXPECT_EQ(seen, std::vector<int>(static_cast<size_t>(out), 1))
            << stride << " " << dilation << " " << out;
      }
    }
  }
}

TEST(Axis, OneTapNeedsNoPhases) {
  const Axis axis(10, 5, 1, 2, 7, 0);
  EXPECT_EQ(axis.phases(), 1);
  EXPECT_EQ(axis.step(), 2);
}

TEST(Axis, TapsInside) {
  const Axis axis(10, 10, 5, 1, 1, 2);
  EXPECT_EQ(axis.Inside(-2, 5), (TapRange{2, 5}));
  EXPECT_EQ(axis.Inside(3, 5), (TapRange{0, 5}));
  EXPECT_EQ(axis.Inside(7, 5), (TapRange{0, 3}));
  EXPECT_EQ(axis.Inside(10, 5), (TapRange{5, 5}));
  EXPECT_EQ(axis.Inside(-5, 5), (TapRange{5, 5}));
  const Axis dilated(10, 10, 3, 1, 12, 12);
  EXPECT_EQ(dilated.Inside(-12, 3), (TapRange{1, 2}));
}

}  // namespace
}  // namespace rafter::depthwise
