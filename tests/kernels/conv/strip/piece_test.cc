// Pieces cover every output channel once, with shapes that exist.
#include "kernels/conv/strip/piece.h"

#include <gtest/gtest.h>

#include "jit/post_op_emitter.h"

namespace rafter::strip {
namespace {

Layer LayerOn(Isa isa, int64_t ic, int64_t oc, int64_t kernel) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  return {1, ic, oc, kernel, kernel, info.vec_lanes(), info.num_vecs};
}

TEST(SplitGroup, EveryChannelOnce) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (int64_t oc = 1; oc <= 128; ++oc) {
      for (const int64_t ic : {1, 7, 64}) {
        for (const int64_t kernel : {1, 3, 19}) {
          const Layer layer = LayerOn(isa, ic, oc, kernel);
          int64_t next = 0;
          for (const Piece& piece : SplitGroup(layer)) {
            ASSERT_EQ(piece.first_channel, next);
            ASSERT_GE(piece.channels, 1);
            ASSERT_LE(piece.channels, piece.vecs * OutputsPerVector(piece.feed, layer.lanes));
            next += piece.channels;
          }
          ASSERT_EQ(next, oc);
        }
      }
    }
  }
}

TEST(SplitGroup, RegistersSuffice) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const Layer layer = LayerOn(isa, 4, 4, 3);
    for (const int vecs : VectorCounts(layer)) {
      for (const Feed feed : {Feed::kBroadcast1, Feed::kVector, Feed::kPermute, Feed::kBlend}) {
        EXPECT_LE(MaxPixels(layer, feed, vecs) * vecs + jit::kPostOpTemps, layer.num_vecs);
      }
    }
  }
}

// What the feeds are for.
TEST(SplitGroup, FewChannelsShareLanesWithInputs) {
  const std::vector<Piece> one = SplitGroup(LayerOn(Isa::kAvx2, 64, 1, 3));
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].feed, Feed::kVector);
  const std::vector<Piece> four = SplitGroup(LayerOn(Isa::kAvx2, 48, 4, 3));
  ASSERT_EQ(four.size(), 1u);
  EXPECT_EQ(four[0].feed, Feed::kBroadcast2);
}

TEST(StripCycles, MoreOfAnythingCostsMore) {
  const MachineModel machine;
  const Layer small = LayerOn(Isa::kAvx2, 16, 1, 3), large = LayerOn(Isa::kAvx2, 64, 1, 3);
  const Piece piece = SplitGroup(small)[0];
  EXPECT_LT(StripCycles(small, piece, 4, {}, machine), StripCycles(small, piece, 12, {}, machine));
  EXPECT_LT(StripCycles(small, piece, 12, {}, machine), StripCycles(large, piece, 12, {}, machine));
}

}  // namespace
}  // namespace rafter::strip
