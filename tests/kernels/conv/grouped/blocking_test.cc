// Vectors of groups cover every output channel of every group once; ResNeXt's groups fill their lanes.
#include "kernels/conv/grouped/blocking.h"

#include <gtest/gtest.h>

#include <vector>

namespace rafter::grouped {
namespace {

strip::Layer LayerOn(Isa isa, int64_t groups, int64_t ic, int64_t oc) {
  const jit::IsaInfo& info = jit::GetIsaInfo(isa);
  return {groups, ic, oc, 3, 3, info.vec_lanes(), info.num_vecs};
}

TEST(ChoosePieces, EveryChannelOfEveryGroupOnce) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    for (const int64_t groups : {2, 3, 7, 16, 33}) {
      for (int64_t ic = 1; ic <= 20; ++ic) {
        for (int64_t oc = 1; oc <= 20; ++oc) {
          const strip::Layer layer = LayerOn(isa, groups, ic, oc);
          std::vector<int> covered(static_cast<size_t>(groups * oc), 0);
          for (const strip::Piece& piece : ChoosePieces(layer)) {
            ASSERT_LE(piece.channels, piece.vecs * strip::OutputsPerVector(piece.feed, layer.lanes));
            for (int64_t unit = 0; unit < piece.units; ++unit) {
              const int64_t first =
                  (piece.first_group + unit * piece.groups) * oc + piece.first_channel;
              for (int64_t c = 0; c < piece.channels; ++c) ++covered.at(static_cast<size_t>(first + c));
            }
          }
          for (const int count : covered) ASSERT_EQ(count, 1) << groups << " of " << ic << " to " << oc;
        }
      }
    }
  }
}

TEST(ChoosePieces, GroupsOfTwoAndFourShareVectors) {
  for (const int64_t channels : {2, 4}) {
    const std::vector<strip::Piece> pieces = ChoosePieces(LayerOn(Isa::kAvx2, 32, channels, channels));
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].feed, strip::Feed::kInLane);
    EXPECT_EQ(pieces[0].channels, 8);
  }
}

}  // namespace
}  // namespace rafter::grouped
