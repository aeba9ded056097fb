// Tiles fit the registers, strips cover the image, and the prediction favours widthwise where lanes
// are used.
#include "kernels/conv/widthwise/blocking.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "kernels/conv/widthwise/pack.h"
#include "kernels/conv/widthwise/tuning.h"

namespace rafter::widthwise {
namespace {

Geometry Make(int64_t ic, int64_t oc, int64_t size, int64_t kernel) {
  ConvDesc desc;
  desc.ic = ic, desc.oc = oc, desc.in = {size, size}, desc.kernel = {kernel, kernel};
  const int64_t pad = kernel / 2;
  desc.pad = {pad, pad, pad, pad};
  desc.src.layout = desc.dst.layout = Layout::kNchw;
  return GeometryOf(*Validate(desc));
}

TEST(Blocking, TilesFitTheRegisters) {
  for (const Isa set : {Isa::kAvx2, Isa::kAvx512}) {
    const jit::IsaInfo& isa = jit::GetIsaInfo(set);
    for (const int64_t oc : {1, 2, 3, 4}) {
      for (const int64_t size : {5, 14, 30, 56, 224}) {
        for (const int64_t kernel : {1, 3, 7}) {
          const Geometry g = Make(8, oc, size, kernel);
          const int most = ChooseBlocking(g, isa, MachineModel{}, 1).max_vecs;
          for (int vecs = 1; vecs <= most; ++vecs) {
            const int rows = MaxRows(g, isa, vecs, static_cast<int>(oc));
            const int accs = rows * vecs * static_cast<int>(oc);
            EXPECT_LE(accs + 4, isa.num_vecs) << "post-ops need four";
            const int inputs_stay = vecs + 1, weights_stay = rows * static_cast<int>(oc) + 1;
            EXPECT_LE(accs + std::min(inputs_stay, weights_stay), isa.num_vecs);
          }
        }
      }
    }
  }
}

TEST(Blocking, StripsCoverTheWork) {
  const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
  for (const int threads : {1, 2, 7, 64}) {
    for (const auto& [ic, oc, size, kernel] : {std::tuple{64, 64, 56, 3},
                                               {3, 64, 224, 7},
                                               {256, 64, 56, 1},
                                               {1, 1, 5, 3},
                                               {512, 512, 7, 3}}) {
      const Geometry g = Make(ic, oc, size, kernel);
      const Blocking b = ChooseBlocking(g, isa, MachineModel{}, threads);
      EXPECT_GE(b.strips * b.strip_rows, g.out.h);
      EXPECT_LT((b.strips - 1) * b.strip_rows, g.out.h);
      const int64_t pixels = b.max_vecs * isa.vec_lanes();
      EXPECT_GE(b.segments * b.segment_tiles * pixels, g.out.w);
      EXPECT_GE(b.channels_per_pass, 1);
      EXPECT_LE(b.channel_parts, CutChannels(oc).tiles);
      if (b.channels_per_pass < ic) {
        const int64_t bytes =
            b.strip_rows * b.segment_tiles * b.max_vecs * isa.vec_bytes * CutChannels(oc).size;
        EXPECT_LE(bytes, kPartialBytes) << "parked sums";
      }
    }
  }
}

TEST(Blocking, NoImagesAreNoWork) {
  Geometry g = Make(8, 8, 16, 3);
  g.n = 0;
  EXPECT_GE(ChooseBlocking(g, jit::GetIsaInfo(Isa::kAvx2), MachineModel{}, 4).strips, 1);
}

TEST(Blocking, CostGrowsWithTheWork) {
  const jit::IsaInfo& isa = jit::GetIsaInfo(Isa::kAvx2);
  const auto cost = [&](int64_t ic, int64_t oc, int64_t size) {
    return ChooseBlocking(Make(ic, oc, size, 3), isa, MachineModel{}, 1).predicted_us;
  };
  EXPECT_LT(cost(16, 4, 56), cost(32, 4, 56));
  EXPECT_LT(cost(16, 4, 56), cost(16, 8, 56));
  EXPECT_LT(cost(16, 4, 56), cost(16, 4, 112));
  EXPECT_GT(cost(64, 64, 7) * 64, cost(64, 64, 56)) << "narrow rows waste lanes";
}

}  // namespace
}  // namespace rafter::widthwise
