// Result registers hold every channel of every pixel once, in lanes that agree with the patterns of the bias.
#include "kernels/conv/strip/result_map.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace rafter::strip {
namespace {

void CheckShape(const ResultShape& shape) {
  std::set<std::pair<int, int>> seen;
  std::set<int> registers;
  for (const ResultVector& r : MapResults(shape)) {
    EXPECT_TRUE(registers.insert(r.acc).second);
    EXPECT_LT(r.acc, shape.px * shape.vecs);
    EXPECT_LT(r.pattern, PatternCount(shape.feed, shape.vecs, shape.lanes));
    for (const Segment& s : r.segments) {
      EXPECT_LE(s.lane + s.count, ResultLanes(shape.feed, shape.lanes));
      for (int i = 0; i < s.count; ++i) {
        EXPECT_TRUE(seen.insert({s.px, s.channel + i}).second) << s.px << " " << s.channel + i;
        EXPECT_EQ(PatternChannel(shape.feed, shape.vecs, shape.lanes, r.pattern, s.lane + i),
                  s.channel + i);
      }
    }
  }
  EXPECT_EQ(static_cast<int>(seen.size()), shape.px * shape.channels);
}

TEST(ResultMap, EveryChannelOfEveryPixelOnce) {
  for (const int lanes : {8, 16}) {
    for (const Feed feed : {Feed::kBroadcast1, Feed::kBroadcast2, Feed::kVector}) {
      const int outputs = feed == Feed::kVector ? 1 : feed == Feed::kBroadcast2 ? lanes / 2 : lanes;
      for (int vecs = 1; vecs <= 6; ++vecs) {
        for (int px = 1; px <= 12 / vecs; ++px) {
          for (int channels = (vecs - 1) * outputs + 1; channels <= vecs * outputs; ++channels) {
            CheckShape({feed, px, vecs, channels, lanes});
          }
        }
      }
    }
    for (const Feed feed : {Feed::kInLane, Feed::kPermute, Feed::kBlend}) {
      for (int channels = 1; channels <= lanes; ++channels) CheckShape({feed, 5, 1, channels, lanes});
    }
  }
}

TEST(ResultMap, OneChannelOfEightPixelsSharesARegister) {
  const std::vector<ResultVector> results = MapResults({Feed::kVector, 12, 1, 1, 8});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].segments.size(), 8u);
  EXPECT_EQ(results[1].acc, 8);
  EXPECT_EQ(results[1].segments.size(), 4u);
}

}  // namespace
}  // namespace rafter::strip
