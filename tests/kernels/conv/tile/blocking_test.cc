// The choices of a plan: every output channel exactly once, shapes that exist, threads within the limit.
#include "kernels/conv/tile/blocking.h"

#include <gtest/gtest.h>

#include <utility>

#include "kernels/sizes.h"

namespace rafter::tile {
namespace {

Geometry Layer(int64_t ic, int64_t oc, int64_t size, int64_t kernel, Layout dst) {
  Geometry g;
  g.ic_g = ic, g.oc_g = oc, g.in = {size, size}, g.out = {size, size}, g.kernel = {kernel, kernel};
  g.stride = {1, 1}, g.dilation = {1, 1}, g.pad_left = g.pad_right = g.pad_top = kernel / 2;
  g.dst_layout = dst;
  g.src = DenseStrides(Layout::kNhwc, ic, size, size);
  g.dst = DenseStrides(dst, oc, size, size);
  return g;
}

TEST(Blocking, EveryVectorOnce) {
  const MachineModel machine;
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const jit::IsaInfo& info = jit::GetIsaInfo(isa);
    for (const Layout dst : {Layout::kNhwc, Layout::kNchw8c, Layout::kNchw16c}) {
      for (int64_t oc = 1; oc <= 200; ++oc) {
        const Blocking b = ChooseBlocking(Layer(16, oc, 14, 3, dst), info, machine, 2);
        int64_t next = 0;
        for (const ChannelRun& run : b.channels) {
          ASSERT_EQ(run.first_vec, next) << "oc " << oc;
          ASSERT_GT(MaxPixels(info, run.oc_vecs), 0);
          ASSERT_TRUE(run.tail == Tail::kNone || run.count == 1);
          next += run.count * run.oc_vecs;
        }
        const int64_t block = std::max<int64_t>(ChannelBlock(dst), info.vec_lanes());
        const int64_t unit = dst == Layout::kNhwc ? info.vec_lanes() : block;
        ASSERT_EQ(next * info.vec_lanes(), (oc + unit - 1) / unit * unit) << "oc " << oc;
      }
    }
  }
}

TEST(Blocking, ThreadsAreUsedAndNeverMoreThanAsked) {
  const MachineModel machine;
  for (int threads : {1, 2, 3, 4, 7, 16}) {
    const Blocking b = ChooseBlocking(Layer(256, 256, 14, 3, Layout::kNhwc),
                                      jit::GetIsaInfo(Isa::kAvx2), machine, threads);
    EXPECT_EQ(b.threads, threads);
  }
}

TEST(Blocking, TileChoiceOverrides) {
  const MachineModel machine;
  const jit::IsaInfo& info = jit::GetIsaInfo(Isa::kAvx2);
  const Geometry layer = Layer(64, 64, 56, 3, Layout::kNhwc);
  for (const auto& [px, vecs] : {std::pair{6, 2}, std::pair{3, 2}, std::pair{12, 1}, std::pair{1, 8}}) {
    const Blocking b = ChooseBlocking(layer, info, machine, 1, {px, vecs});
    EXPECT_EQ(b.channels[0].oc_vecs, vecs);
    EXPECT_EQ(b.px_cap, px);
    EXPECT_GT(b.predicted_us, 0);
  }
  // A tile that the layer cannot fill.
  const Blocking small = ChooseBlocking(Layer(64, 8, 56, 3, Layout::kNhwc), info, machine, 1, {2, 6});
  ASSERT_EQ(small.channels.size(), 1u);
  EXPECT_EQ(small.channels[0].oc_vecs, 1);
}

TEST(Blocking, StreamsWhatL3WillNotKeep) {
  MachineModel machine;
  machine.l3_bytes = 32 << 20;
  const auto stores = [&](int64_t ic, int64_t oc, int64_t size) {
    return ChooseBlocking(Layer(ic, oc, size, 1, Layout::kNhwc), jit::GetIsaInfo(Isa::kAvx2), machine, 1).stores;
  };
  EXPECT_EQ(stores(64, 64, 224), Stores::kCached);    // 13 MB
  EXPECT_EQ(stores(64, 64, 300), Stores::kStreamed);  // 23 MB
  EXPECT_EQ(stores(64, 60, 300), Stores::kStaged);    // pixels of 3.75 lines
  EXPECT_EQ(stores(2000, 60, 300), Stores::kCached);  // weights of 480 KB
  machine.l3_shared = true;
  EXPECT_EQ(stores(64, 64, 224), Stores::kStreamed);
  EXPECT_EQ(stores(64, 60, 224), Stores::kStaged);
  EXPECT_EQ(stores(64, 64, 112), Stores::kCached);  // 3 MB
}

TEST(Blocking, StagesFitTheirShareOfL2) {
  MachineModel machine;
  machine.l3_bytes = 1 << 20;
  for (const int64_t oc : {3, 60, 1000}) {
    for (const int64_t size : {40, 150, 1000}) {
      const Geometry g = Layer(8, oc, size, 1, Layout::kNhwc);
      const Blocking b = ChooseBlocking(g, jit::GetIsaInfo(Isa::kAvx2), machine, 1);
      if (b.stores != Stores::kStaged) continue;
      const int64_t unit = CeilDiv(size, b.segments) * oc * kFloat;
      EXPECT_LE(b.units_per_chunk * unit, machine.l2_bytes / 8 + unit) << oc << " channels, " << size;
      EXPECT_LE(unit, 2 * machine.l2_bytes / 8) << oc << " channels, " << size;
    }
  }
}

TEST(Blocking, RegistersSufficeForEveryShape) {
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    const jit::IsaInfo& info = jit::GetIsaInfo(isa);
    for (int vecs = 1; vecs <= 24; ++vecs) {
      EXPECT_LE(MaxPixels(info, vecs) * vecs + 4, info.num_vecs);
    }
  }
}

}  // namespace
}  // namespace rafter::tile
